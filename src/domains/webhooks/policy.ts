import type { Access, Actor, Scope } from '../../core/access.ts';
import type { Subscriptions } from '../../core/config.ts';
import type { OrganizationId } from '../../core/ids.ts';

/** Only administrators read and change webhooks. */
export const MANAGE_WEBHOOKS: Access = { scopes: ['webhooks.write'], inOrganization: true, role: 'admin' };

/** What webhooks can read. What a new scope guards is not sent to them until it is added here. */
const SCOPES_OF_WEBHOOKS: readonly Scope[] = [
  'sessions.read',
  'mcp_connections.read',
  'mcp_connections.use',
  'behavioral_events.event_definitions.read_write',
];

/** No user and no key has this id, so that nothing personal is readable. */
const NOBODY = '00000000-0000-0000-0000-000000000000';

/** Webhooks read the feed as an administrator of their organization. */
export const webhookActor = (id: OrganizationId, subscriptions: Subscriptions): Actor => ({
  keyId: NOBODY,
  userId: NOBODY,
  scopes: new Set(SCOPES_OF_WEBHOOKS),
  organization: { id, number: 0, role: 'admin', subscriptions },
});
