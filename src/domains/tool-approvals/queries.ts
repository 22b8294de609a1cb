import type { EntityManager } from '@mikro-orm/postgresql';
import { sql } from 'kysely';
import type { Value } from '../../core/postgres/reading/conditions.ts';
import type { UserId } from '../../core/ids.ts';
import { defineList, inActingOrganization } from '../../core/postgres/reading/lists.ts';
import { type Readable, type RowOf, queriesOn } from '../../core/postgres/reading/queries.ts';
import { DAY_MS } from '../../core/text/timestamps.ts';
import type { McpConnectionTables } from '../mcp-connections/public.ts';
import type { ToolApprovalState, ToolApprovalTables } from './entity.ts';
import type { ToolApprovalFilter } from './input.ts';
import { canDecide, isSeenBy, readerOf } from './policy.ts';

type Stored = RowOf<Readable<ToolApprovalTables>['tool_approval']>;

export interface ToolApprovalRow extends Omit<Stored, 'state' | 'organizationId' | 'continuationHash'> {
  readonly state: ToolApprovalState;
  /** Whether the account of the caller can decide, whatever the state. */
  readonly isForCaller: boolean;
}

const SHOWN = [
  'id',
  'connectionId',
  'userId',
  'keyCreatedById',
  'sessionId',
  'toolName',
  'argumentsDigest',
  'definitionHash',
  'preview',
  'sealedArguments',
  'state',
  'decidedById',
  'decidedAt',
  'createdAt',
  'expiresAt',
  'isForCaller',
] as const satisfies readonly (keyof ToolApprovalRow)[];

const stateAt = (value: Value) =>
  sql`case when a.state <> 'USED' and a.expires_at <= ${value('now')}::timestamptz then 'EXPIRED' else a.state end`;
const readerIn = (value: Value) => ({
  userId: sql`${value('userId')}::uuid`,
  organizationId: sql`${value('organizationId')}::uuid`,
  isAdmin: sql`${value('isAdmin')}::boolean`,
});

/** The approvals that the caller sees. */
export const TOOL_APPROVALS = defineList<
  ToolApprovalRow,
  ToolApprovalFilter & { readonly userIds?: readonly UserId[] },
  'CREATED_AT'
>()(
  queriesOn<ToolApprovalTables & McpConnectionTables>()
    .selectFrom('tool_approval as a')
    .innerJoin('mcp_connection as c', (join) =>
      join.onRef('c.id', '=', 'a.connection_id').onRef('c.organization_id', '=', 'a.organization_id'),
    ),
  {
    name: 'TOOL_APPROVAL',
    alias: 'a',
    columns: SHOWN,
    expressions: { state: stateAt, isForCaller: (value) => canDecide(readerIn(value)) },
    reach: inActingOrganization,
    where: (value) => isSeenBy(readerIn(value)),
    values: ({ now, actor }) => ({ now: now(), ...readerOf(actor) }),
    filter: ({ oneOf, between }) => ({
      userIds: oneOf('userId', 'uuid'),
      states: (states, value) => sql`${stateAt(value)} = any(${states}::text[])`,
      ...between('created', 'createdAt'),
    }),
    orders: { CREATED_AT: { createdAt: 'timestamptz' } },
    otherwise: { field: 'CREATED_AT', direction: 'DESC' },
  },
);

const KEPT_MS = 30 * DAY_MS;
const tablesOf = (em: EntityManager) => em.getKysely<Readable<ToolApprovalTables>>();

export async function deleteOldApprovals(em: EntityManager, at: Date, batch: number): Promise<number> {
  const old = tablesOf(em)
    .selectFrom('tool_approval')
    .select(['organization_id', 'id'])
    .where('created_at', '<', new Date(at.getTime() - KEPT_MS).toISOString())
    .limit(batch);
  const { numDeletedRows } = await tablesOf(em)
    .deleteFrom('tool_approval')
    .where((eb) => eb(eb.refTuple('organization_id', 'id'), 'in', old.$asTuple('organization_id', 'id')))
    .executeTakeFirst();
  return Number(numDeletedRows);
}

/** Nobody can decide about them any more. */
export async function forgetExpiredArguments(em: EntityManager, at: Date, batch: number): Promise<number> {
  const expired = tablesOf(em)
    .selectFrom('tool_approval')
    .select(['organization_id', 'id'])
    .where('sealed_arguments', 'is not', null)
    .where('expires_at', '<=', at.toISOString())
    .limit(batch);
  const { numUpdatedRows } = await tablesOf(em)
    .updateTable('tool_approval')
    .set({ sealed_arguments: null })
    .where((eb) => eb(eb.refTuple('organization_id', 'id'), 'in', expired.$asTuple('organization_id', 'id')))
    .executeTakeFirst();
  return Number(numUpdatedRows);
}
