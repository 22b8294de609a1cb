import type { OrganizationId, SessionId } from '../../core/ids.ts';
/** Topic that is published when events are appended to a session, or its state or visibility changes. */
export const sessionTopic = (sessionId: SessionId): string => `session:${sessionId}`;

/** Topic that is published when a session of the organization is created or changed. */
export const sessionsTopic = (organizationId: OrganizationId): string => `sessions:${organizationId}`;
