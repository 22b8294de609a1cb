import type { McpConnection } from './entity.ts';

/** What entries of the feed say about a connection. Only its owner reads those about a personal one. */
export function feedSubjectOf({ id, organization, owner, visibility }: McpConnection) {
  const readerId = visibility === 'personal' ? owner?.id : null;
  return { organizationId: organization.id, subjectType: 'McpServer', subjectId: id, readerId } as const;
}
