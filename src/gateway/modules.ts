import type { AuditTargetType } from '../core/audit.ts';
import type { Module } from '../core/module.ts';
import { apiKeys } from '../domains/api-keys/module.ts';
import { apiLifecycle } from '../domains/api-lifecycle/module.ts';
import { auditLog } from '../domains/audit-log/module.ts';
import { broadcasts } from '../domains/broadcasts/module.ts';
import { eventDefinitions } from '../domains/event-definitions/module.ts';
import { eventOccurrences } from '../domains/event-occurrences/module.ts';
import { groups } from '../domains/groups/module.ts';
import { identities } from '../domains/identities/module.ts';
import { invitations } from '../domains/invitations/module.ts';
import { mcpConnections } from '../domains/mcp-connections/module.ts';
import { mcpUse } from '../domains/mcp-use/module.ts';
import { memberships } from '../domains/memberships/module.ts';
import { oauthGrants } from '../domains/oauth-grants/module.ts';
import { operationManifests } from '../domains/operation-manifests/module.ts';
import { organizationDeletions } from '../domains/organization-deletions/module.ts';
import { organizations } from '../domains/organizations/module.ts';
import { organizationExport } from '../domains/organization-export/module.ts';
import { provideExports } from '../domains/organization-export/public.ts';
import { retention } from '../domains/retention/module.ts';
import { scim } from '../domains/scim/module.ts';
import { serviceAccounts } from '../domains/service-accounts/module.ts';
import { sessionEvents } from '../domains/session-events/module.ts';
import { sessions } from '../domains/sessions/module.ts';
import { toolApprovals } from '../domains/tool-approvals/module.ts';
import { usageReports } from '../domains/usage-reports/module.ts';
import { userDeletions } from '../domains/user-deletions/module.ts';
import { users } from '../domains/users/module.ts';
import { feed } from '../domains/feed/module.ts';
import { webhooks } from '../domains/webhooks/module.ts';
import { gatewayModule } from './gateway-module.ts';
import type { OperationContext } from '../core/operation.ts';

/** The nouns of the gateway. Their REST operations have this order in the reference. */
export const modules = complete([
  organizations,
  memberships,
  invitations,
  apiKeys,
  users,
  identities,
  oauthGrants,
  userDeletions,
  organizationDeletions,
  mcpConnections,
  sessions,
  sessionEvents,
  usageReports,
  groups,
  scim,
  mcpUse,
  toolApprovals,
  eventDefinitions,
  eventOccurrences,
  broadcasts,
  feed,
  webhooks,
  operationManifests,
  auditLog,
  retention,
  organizationExport,
  apiLifecycle,
  gatewayModule,
  // Last, because its step deletes accounts that sessions and stored answers refer to.
  serviceAccounts,
]);

provideExports(modules.flatMap((module) => module.exports));

/** Does not compile as long as no module says whether stored answers about a kind of object can be replayed. */
function complete<const Modules extends readonly Module[]>(
  given: AuditTargetType extends ReplayedBy<Modules> ? Modules : never,
): readonly Module[] {
  return given;
}

type ReplayedBy<Modules extends readonly Module[]> = {
  [Index in keyof Modules]: keyof Modules[Index]['replays'];
}[number];

export const entities = modules.flatMap((module) => module.entities);

/** All documented REST routes. */
export const routes = modules.flatMap((module) => module.routes);

/** Pages of domain modules that need no API key. */
export const publicPages = modules.flatMap((module) => module.pages);

const FOLLOWED = modules.flatMap((module) => module.topics);

/** The current version of each topic, read with one statement for each kind of topic. */
export function versionsOf(
  reading: Pick<OperationContext, 'sql' | 'now'>,
): (topics: readonly string[]) => Promise<ReadonlyMap<string, string>> {
  return async (topics) => {
    const found = await Promise.all(
      FOLLOWED.map(async ({ topicOf: topicOfId, read }) => {
        const prefix = topicOfId('');
        const ids = topics.flatMap((topic) => (topic.startsWith(prefix) ? [topic.slice(prefix.length)] : []));
        const versions = ids.length > 0 ? await read(reading, ids) : new Map<string, string>();
        return Array.from(versions, ([id, version]) => [topicOfId(id), version] as const);
      }),
    );
    return new Map(found.flat());
  };
}
