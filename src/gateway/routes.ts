import type { Route } from '../core/route.ts';
import { apiKeyRoutes } from '../domains/api-keys/rest.ts';
import { eventDefinitionRoutes } from '../domains/event-definitions/rest.ts';
import { organizationRoutes } from '../domains/organizations/rest.ts';

/** The REST table: every documented path. */
export const routes: readonly Route[] = [...organizationRoutes, ...apiKeyRoutes, ...eventDefinitionRoutes];
