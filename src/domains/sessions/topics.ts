import type { OrganizationId, SessionId } from '../../core/ids.ts';
/** Topic that is published when events are appended to a session, or its state or visibility changes. */
export function sessionTopic(sessionId: SessionId): string {
  return `session:${sessionId}`;
}

/** Topic that is published when a session of the organization is created or changed. */
export function sessionsTopic(organizationId: OrganizationId): string {
  return `sessions:${organizationId}`;
}
