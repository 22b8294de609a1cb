import type { OrganizationId, SessionId } from '../../core/ids.ts';
/** Published when events were appended to a session, or its state or visibility has changed. */
export function sessionTopic(sessionId: SessionId): string {
  return `session:${sessionId}`;
}

/** Published when a session of the organization was created or changed. */
export function sessionsTopic(organizationId: OrganizationId): string {
  return `sessions:${organizationId}`;
}
