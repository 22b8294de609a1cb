import { readFileSync, readdirSync } from 'node:fs';
import type { AuditTargetType } from '../../../src/core/audit.ts';
import { type AnyRoute, isWrite, pathParameters, takesBody } from '../../../src/core/http/route.ts';
import { routes } from '../../../src/gateway/modules.ts';
import { schema } from '../../../src/gateway/schema.ts';
import { apiKeys } from '../../domains/api-keys/cases.ts';
import { broadcasts } from '../../domains/broadcasts/cases.ts';
import { eventDefinitions } from '../../domains/event-definitions/cases.ts';
import { eventOccurrences } from '../../domains/event-occurrences/cases.ts';
import { invitations } from '../../domains/invitations/cases.ts';
import { mcpConnections } from '../../domains/mcp-connections/cases.ts';
import { mcpUse } from '../../domains/mcp-use/cases.ts';
import { memberships } from '../../domains/memberships/cases.ts';
import { oauthGrants } from '../../domains/oauth-grants/cases.ts';
import { operationManifests } from '../../domains/operation-manifests/cases.ts';
import { organizationDeletions } from '../../domains/organization-deletions/cases.ts';
import { organizations } from '../../domains/organizations/cases.ts';
import { retention } from '../../domains/retention/cases.ts';
import { groups } from '../../domains/groups/cases.ts';
import { serviceAccounts } from '../../domains/service-accounts/cases.ts';
import { sessionEvents } from '../../domains/session-events/cases.ts';
import { sessions } from '../../domains/sessions/cases.ts';
import { userDeletions } from '../../domains/user-deletions/cases.ts';
import { toolApprovals } from '../../domains/tool-approvals/cases.ts';
import { users } from '../../domains/users/cases.ts';
import { webhooks } from '../../domains/webhooks/cases.ts';
import { caseFaults } from '../completeness.ts';
import type { TestGateway } from '../fixtures/gateway.ts';
import { type Answer, createdId } from './created-id.ts';
import type { CallerName, Recorded } from './recorded-organization.ts';
import { OBJECTS, parameterValues } from './references.ts';

/**
 * How a write is tried, and what it leaves in the audit log. Its inputs can be sent again with the same references, except by what removes an object.
 * Tests of all operations read these cases: of the audit log, isolation, acting organizations, idempotency, versions and committed writes.
 */
export interface OperationCase {
  /** The input of the mutation; absent if GraphQL has none. */
  readonly input?: (to: Recorded) => object;
  /** The name of the mutation, if it is not that of the case. */
  readonly mutation?: string;
  /** That REST has no such operation is intended. */
  readonly isOnlyInGraphQL?: true;
  /** The body of the REST request, if it is not the documented example. */
  readonly body?: (to: Recorded) => object;
  /** The object that the audit log entry names: by default that of the references; for `creates`, the one whose id is in the answer. */
  readonly target?: AuditTargetType;
  readonly creates?: AuditTargetType;
  /** Its id, if that is another one. */
  readonly targetId?: (to: Recorded, answer: Answer, gateway: TestGateway) => Promise<string> | string | null;
  /** The operation of the entry, if it is not that of the case. */
  readonly operation?: string;
  /** Its organization, if it is not that of the caller. */
  readonly organizationId?: ((to: Recorded, answer: Answer) => unknown) | null;
  /** By default the administrator. */
  readonly by?: CallerName;
  /** Selects what the update changes, if the object has no fields of the input. */
  readonly selects?: string;
  /** The type with the `updatedAt` that the operation compares, if it is not that of the target. */
  readonly versionOf?: string;
}

export type Cases = Readonly<Record<string, OperationCase>>;

export const CASES: Cases = {
  ...organizations,
  ...memberships,
  ...invitations,
  ...apiKeys,
  ...oauthGrants,
  ...groups,
  ...serviceAccounts,
  ...users,
  ...userDeletions,
  ...organizationDeletions,
  ...mcpConnections,
  ...mcpUse,
  ...toolApprovals,
  ...sessions,
  ...sessionEvents,
  ...eventDefinitions,
  ...eventOccurrences,
  ...broadcasts,
  ...webhooks,
  ...operationManifests,
  ...retention,
};

/** The end of a session at another server changes nothing here, and the token of an invitation is sent in a body although it is a read. */
const CHANGING_NOTHING = new Set(['endMcpSession', 'previewOrganizationInvitation']);

/** Operations that remove an object or use it up. Those that need the object run before. */
const REMOVES = /^(?:transition|leave|cancel|accept)|delete|remove|retire|revoke/i;
export const removes = (name: string) => REMOVES.test(name);
/** Definitions last: others need them. */
const rank = ([name]: readonly [string, ...unknown[]]) => (removes(name) ? (name.endsWith('Definition') ? 2 : 1) : 0);

export interface MutationCase extends OperationCase {
  readonly input: (to: Recorded) => object;
}

/** The case of each mutation by its name, in an order in which all of them succeed. */
export const MUTATION_CASES: readonly (readonly [string, MutationCase])[] = Object.entries(CASES)
  .flatMap(([name, { input, mutation = name, operation = name, ...given }]) =>
    input ? [[mutation, { ...given, operation, input }] as const] : [],
  )
  .toSorted((a, b) => rank(a) - rank(b));

/** The case of each route that changes something, in such an order. */
export const ROUTE_CASES: readonly (readonly [string, OperationCase, AnyRoute])[] = routes
  .flatMap((route) => {
    const found = isWrite(route) ? CASES[route.operationId] : undefined;
    return found ? [[route.operationId, found, route] as const] : [];
  })
  .toSorted((a, b) => rank(a) - rank(b));

/** The path and the body of a request that refers to these objects. */
export function restRequestOf(route: AnyRoute, to: Recorded): { readonly path: string; readonly body?: object } {
  const path = pathParameters(route.path).reduce(
    (made, name) => made.replace(`:${name}`, parameterValues(name, to)[0] ?? 'x'),
    route.path,
  );
  const body = CASES[route.operationId]?.body?.(to) ?? route.examples?.input ?? {};
  return { path, ...(takesBody(route) && { body }) };
}

/** The audit log entry names this object. */
export async function targetOf(
  { creates, target = creates, targetId }: OperationCase,
  to: Recorded,
  [answer, gateway]: readonly [Answer, TestGateway],
): Promise<{ targetType: string; targetId: unknown }> {
  if (target === undefined) throw new Error('the case needs a `target`, or what the operation `creates`');
  const ofReferences = () => (target === 'Broadcast' ? to.broadcastGuid : OBJECTS[target]?.(to));
  const id = targetId ? await targetId(to, answer, gateway) : creates ? createdId(answer) : ofReferences();
  return { targetType: target, targetId: id };
}

/** A line for each write without a case, and for each case without a write, which names the file to edit. An operation that GraphQL alone has says so. */
export function missingCases(): string {
  const mutations = Object.keys(schema.getMutationType()?.getFields() ?? {});
  const writes = routes.flatMap((route) =>
    isWrite(route) && !CHANGING_NOTHING.has(route.operationId) ? [route.operationId] : [],
  );
  const inRest = new Set(writes);
  const silent = Object.entries(CASES).flatMap(([name, { input, isOnlyInGraphQL }]) =>
    !input || isOnlyInGraphQL === true || inRest.has(name)
      ? []
      : [`add a route for ${name}, or \`isOnlyInGraphQL\` to its case in ${fileOf(name)}`],
  );
  const ofRest = Object.entries(CASES).flatMap(([name, { input }]) => (input && !inRest.has(name) ? [] : [name]));
  const ofMutations = MUTATION_CASES.map(([name]) => name);
  const lines = [
    caseFaults((name) => `${fileOf(name)}, with an \`input\``, ofMutations, mutations),
    caseFaults(fileOf, ofRest, writes),
    ...silent,
  ];
  return lines.filter((line) => line !== '').join('\n');
}

/** The file with the cases of the noun that declares the operation. */
function fileOf(name: string): string {
  const declared = [`'${name}'`, `'${name.replace('McpServer', 'McpConnection')}'`];
  const folder = readdirSync('src/domains').find((noun) =>
    readdirSync(`src/domains/${noun}`).some((file) => {
      const text = file.endsWith('.ts') ? readFileSync(`src/domains/${noun}/${file}`, 'utf8') : '';
      return declared.some((quoted) => new RegExp(`(?:name|operationId): ${quoted}`).test(text));
    }),
  );
  return `test/domains/${folder ?? '<noun>'}/cases.ts (listed in test/support/operations/cases.ts)`;
}
