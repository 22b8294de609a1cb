import type { AnyRoute, PublicPage } from '../core/http/route.ts';
import { apiKeyRoutes } from '../domains/api-keys/rest.ts';
import { broadcastRoutes } from '../domains/broadcasts/rest.ts';
import { eventDefinitionRoutes } from '../domains/event-definitions/rest.ts';
import { eventOccurrenceRoutes } from '../domains/event-occurrences/rest.ts';
import { invitationRoutes } from '../domains/invitations/rest.ts';
import { mcpConnectionPages, mcpConnectionRoutes } from '../domains/mcp-connections/rest.ts';
import { membershipRoutes } from '../domains/memberships/rest.ts';
import { organizationRoutes } from '../domains/organizations/rest.ts';
import { sessionEventRoutes } from '../domains/session-events/rest.ts';
import { sessionRoutes } from '../domains/sessions/rest.ts';
import { userRoutes } from '../domains/users/rest.ts';
import { userDeletionRoutes } from '../domains/user-deletions/rest.ts';

/** All documented REST routes. */
export const routes: readonly AnyRoute[] = [
  ...organizationRoutes,
  ...membershipRoutes,
  ...invitationRoutes,
  ...apiKeyRoutes,
  ...userRoutes,
  ...userDeletionRoutes,
  ...mcpConnectionRoutes,
  ...sessionRoutes,
  ...sessionEventRoutes,
  ...eventDefinitionRoutes,
  ...eventOccurrenceRoutes,
  ...broadcastRoutes,
];

/** Pages of domain modules that need no API key. */
export const publicPages: readonly PublicPage[] = mcpConnectionPages;
