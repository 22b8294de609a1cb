import { randomBytes } from 'node:crypto';
import type { EntityManager } from '@mikro-orm/postgresql';
import { type RawBuilder, sql } from 'kysely';
import { requireOrganization } from '../../core/access.ts';
import { AUDIT_ENTRY_COLUMNS, type AuditTables, IS_NOT_RECORDING, RECORDING_OPERATIONS } from '../../core/audit.ts';
import { keysOf } from '../../core/keys-of.ts';
import type { StepContext } from '../../core/module.ts';
import type { OperationContext } from '../../core/operation.ts';
import { numberRows } from '../../core/postgres/numbering.ts';
import { WORK } from '../../core/work-budget.ts';
import type { OrganizationId, UserId } from '../../core/ids.ts';
import { type Reader, defineList, inActingOrganization, tablesOf } from '../../core/postgres/reading/lists.ts';
import type { Condition, Value, WhereColumn } from '../../core/postgres/reading/conditions.ts';
import { type Readable, type RowOf, anyOf, queriesOn } from '../../core/postgres/reading/queries.ts';
import type { ApiKeyTables } from '../api-keys/public.ts';
import type { InvitationTables } from '../invitations/public.ts';
import { READ_PRIVATE_SESSION, type SessionTables, callerOf, changeableBy } from '../sessions/public.ts';
import type { ActorRow, UserRow, UserTables } from '../users/public.ts';
import type { AuditStreamTables, ErasedActorTables } from './entity.ts';
import { type AuditEntryFilter, type FollowAuditLogInput, MAX_PAGE } from './input.ts';

const db = queriesOn<AuditTables & ApiKeyTables & UserTables & ErasedActorTables & AuditStreamTables & SessionTables>();

/** An entry and the account that owns its key. It is null for deleted accounts, the command line and jobs. */
export interface AuditEntryRow extends Omit<RowOf<Readable<AuditTables>['audit_entry']>, 'organizationId' | 'number'> {
  readonly userId: UserId | null;
  readonly email: UserRow['email'];
  readonly name: UserRow['name'];
  readonly userCreatedAt: UserRow['createdAt'] | null;
  readonly userUpdatedAt: UserRow['updatedAt'] | null;
  /** Of a service account. */
  readonly userRole: ActorRow['role'];
  readonly erasedLabel: string | null;
  readonly clientAddress: string | null;
  readonly userAgent: string | null;
}

/** The columns of the user and the client. PostgreSQL removes joins whose columns are not selected. */
const USER = {
  userId: 'u.id',
  email: 'u.email',
  name: 'u.name',
  userCreatedAt: 'u.created_at',
  userUpdatedAt: 'u.updated_at',
  userRole: 'u.service_role',
  erasedLabel: 'x.label',
  clientAddress: 'f.client_address',
  userAgent: 'f.user_agent',
} as const;

interface AuditEntryConditions extends AuditEntryFilter {
  /** Entries are found by time and id, because time is the first column of the primary key. */
  readonly ids?: readonly string[];
  readonly moments?: readonly string[];
}

const ENTRIES = db
  .selectFrom('audit_entry as a')
  .leftJoin('api_key as k', 'k.id', 'a.key_id')
  .leftJoin('user_account as u', (join) => join.onRef('u.id', '=', 'k.user_id').on('u.service_deleted_at', 'is', null))
  .leftJoin('erased_actor as x', 'x.key_id', 'a.key_id')
  .leftJoin('audit_origin as f', (join) =>
    join.onRef('f.entry_occurred_at', '=', 'a.occurred_at').onRef('f.entry_id', '=', 'a.id'),
  );

const COMMON = {
  name: () => 'AUDIT_ENTRY',
  alias: 'a',
  columns: [...AUDIT_ENTRY_COLUMNS.filter((name) => name !== 'organizationId' && name !== 'number'), ...keysOf(USER)],
  expressions: USER,
  always: ['occurredAt'],
  reach: inActingOrganization,
} as const;

type ConditionsOf = (on: WhereColumn<keyof AuditEntryRow>) => {
  readonly [Name in keyof AuditEntryConditions]-?: Condition<AuditEntryConditions[Name]>;
};
const conditionsOf: ConditionsOf = ({ oneOf, between }) => ({
  actorIds: (userIds) => sql`k.user_id = any(${userIds}::uuid[])`,
  operations: oneOf('operation'),
  isRefused: { inText: (isRefused) => (isRefused ? sql`a.refusal is not null` : sql`a.refusal is null`) },
  isRecording: {
    inText: (isRecording) =>
      isRecording ? sql`a.operation = any(${RECORDING_OPERATIONS}::text[])` : sql`a.${sql.raw(IS_NOT_RECORDING)}`,
  },
  targetIds: oneOf('targetId', 'uuid'),
  sources: oneOf('source'),
  ...between('occurred', 'occurredAt'),
  ids: oneOf('id', 'uuid'),
  moments: (moments, value) =>
    sql`(a.occurred_at, a.id) in (select * from unnest(${moments}::timestamptz[], ${value('ids')}::uuid[]))`,
});

const ORDERS = { OCCURRED_AT: { occurredAt: 'timestamptz' } } as const;

interface More {
  readonly below?: { readonly parent: 'targetId' };
  readonly where?: (value: Value) => RawBuilder<boolean>;
  readonly values?: (reader: Reader) => object;
}

const entriesWith = (more: More = {}) =>
  defineList<AuditEntryRow, AuditEntryConditions, 'OCCURRED_AT'>()(ENTRIES, {
    ...COMMON,
    filter: conditionsOf,
    orders: ORDERS,
    ...more,
  });

/** The entries of the acting organization. */
export const AUDIT_ENTRIES = entriesWith();

const BELOW_TARGET = { below: { parent: 'targetId' } } as const;
const ALL_CALLS = entriesWith({ ...BELOW_TARGET, where: () => sql<boolean>`a.tool_call is not null` });
const OWN_CALLS = entriesWith({
  ...BELOW_TARGET,
  where: (value) => sql<boolean>`a.tool_call is not null and k.user_id = ${value('userId')}::uuid`,
  values: ({ actor }) => ({ userId: actor.userId }),
});
const callsFor = ({ actor }: Reader) => (actor.organization?.role === 'admin' ? ALL_CALLS : OWN_CALLS);

/** The calls of the tools of connections: for administrators all, for others their own. */
export const TOOL_CALLS: Pick<typeof ALL_CALLS, 'pagesBelow' | 'countsBelow'> = {
  pagesBelow: (reader, ...asked) => callsFor(reader).pagesBelow(reader, ...asked),
  countsBelow: (reader, filter) => callsFor(reader).countsBelow(reader, filter),
};

const ACCESSES = ENTRIES.where('a.operation', '=', sql.lit(READ_PRIVATE_SESSION));

/** Which administrators have read a private session, for whoever can change it. */
export const SESSION_ACCESSES = defineList<AuditEntryRow, AuditEntryConditions, 'OCCURRED_AT'>()(
  ACCESSES.innerJoin('session as s', (join) =>
    join.onRef('s.id', '=', 'a.target_id').onRef('s.organization_id', '=', 'a.organization_id'),
  ),
  {
    ...COMMON,
    below: {
      parent: 'targetId',
      own: tablesOf(ACCESSES),
      parents: tablesOf(db.selectFrom('session as s')),
      parentId: 's.id',
    },
    reach: ({ actor }) => changeableBy(callerOf(actor)),
    reachAlias: 's',
    filter: conditionsOf,
    orders: ORDERS,
  },
);

type FollowedRow = AuditEntryRow & { readonly number: number };
interface FollowedConditions extends Pick<FollowAuditLogInput, 'operations'> {
  readonly after: number;
  readonly until: number;
  readonly occurredFrom?: string | undefined;
  readonly occurredBefore?: string | undefined;
}

/** The numbered ones, in the order of the commits. */
const FOLLOWED = defineList<FollowedRow, FollowedConditions, 'NUMBER'>()(ENTRIES, {
  ...COMMON,
  columns: [...COMMON.columns, 'number'],
  filter: ({ oneOf, between }) => ({
    after: (after) => sql`a.number > ${after}::bigint`,
    until: (until) => sql`a.number <= ${until}::bigint`,
    operations: oneOf('operation'),
    ...between('occurred', 'occurredAt'),
  }),
  orders: { NUMBER: { number: 'bigint' } },
});

export interface FollowedPage {
  readonly entries: readonly AuditEntryRow[];
  readonly nextCursor: string;
  /** Whether more entries follow. A page with few or no entries can have looked at as many as one page may. */
  readonly hasMore: boolean;
  readonly head: number;
  readonly isNumbered: boolean;
}

/** How long the end of a tool call is waited for. */
const OPEN_CALL_MS = 15 * 60_000;

/** A page of the entries after a number, up to the last one. Entries that have none get it first. */
export async function readFollowed(
  context: Pick<OperationContext, 'actor' | 'em' | 'sql' | 'now'>,
  { after, limit, from, before, operations }: Omit<FollowAuditLogInput, 'cursor'> & { readonly after: number },
): Promise<FollowedPage> {
  const { id } = requireOrganization(context.actor);
  const openSince = new Date(context.now().getTime() - OPEN_CALL_MS).toISOString();
  const isEnded = sql<boolean>`(p.tool_call is null or p.tool_call ? 'outcome' or p.occurred_at < ${openSince})`;
  const { primary } = context.sql;
  const due = db
    .selectFrom('audit_entry as p')
    .select('p.id')
    .where('p.organization_id', '=', id)
    .where('p.number', 'is', null)
    .where(isEnded)
    .limit(1);
  const stateOf = () => {
    const own = db.selectFrom('audit_entry as n').where('n.organization_id', '=', id).where('n.number', '>', after);
    const last = db.selectFrom('audit_stream as s').select('s.last_number').where('s.organization_id', '=', id);
    return primary.first(
      db.selectNoFrom((eb) => [
        eb.exists(due).as('isDue'),
        sql<number>`coalesce(${last}, 0)`.as('head'),
        own.select('n.number').orderBy('n.organization_id').orderBy('n.number').limit(1).as('nearest'),
      ]),
    );
  };
  let state = await stateOf();
  if (state?.isDue === true) {
    await numberRows(context.em, id, AUDIT_NUMBERS, isEnded);
    state = await stateOf();
  }
  const { head = 0, nearest = null, isDue = false } = state ?? {};
  const until = Math.max(after, Math.min(head, (nearest ?? head) + WORK.feedEntries - 1));
  const page = await FOLLOWED.page(
    { ...context, sql: primary },
    {
      filter: { after, until, operations, occurredFrom: from, occurredBefore: before },
      order: { field: 'NUMBER', direction: 'ASC' },
      page: { first: limit },
      maxPageSize: MAX_PAGE,
    },
  );
  const next = page.hasNextPage ? (page.rows.at(-1)?.number ?? until) : until;
  return {
    entries: page.rows,
    nextCursor: String(next),
    hasMore: page.hasNextPage || until < head || isDue === true,
    head,
    isNumbered: isDue !== true,
  };
}

const AUDIT_NUMBERS = {
  table: 'audit_entry',
  stream: 'audit_stream',
  number: 'number',
  last: 'last_number',
  key: ['occurred_at', 'id'],
  order: ['occurred_at', 'id'],
} as const;

/** Deletes a batch of the entries from before a time, of one organization or of all, the earliest first. @returns how many were deleted. */
export async function deleteAuditEntries(
  em: EntityManager,
  before: Date,
  batch: number,
  organizationId?: OrganizationId,
): Promise<number> {
  const audit = em.getKysely<Readable<AuditTables>>();
  const old = audit
    .selectFrom('audit_entry')
    .select(['occurred_at', 'id'])
    .where('occurred_at', '<', before.toISOString())
    .orderBy('occurred_at')
    .orderBy('id')
    .limit(batch);
  const earliest = organizationId === undefined ? old : old.where('organization_id', '=', organizationId);
  const { numDeletedRows } = await audit
    .deleteFrom('audit_entry')
    .where((eb) => eb(eb.refTuple('occurred_at', 'id'), 'in', earliest.$asTuple('occurred_at', 'id')))
    .executeTakeFirst();
  return Number(numDeletedRows);
}

/** Deletes a batch of the entries of an organization, in the caller's transaction. @returns their ids. */
export async function deleteEntriesOf(
  em: EntityManager,
  organizationId: OrganizationId,
  batch: number,
): Promise<string[]> {
  const audit = em.getKysely<Readable<AuditTables>>();
  const some = audit
    .selectFrom('audit_entry')
    .select(['occurred_at', 'id'])
    .where('organization_id', '=', organizationId)
    .limit(batch);
  const deleted = await audit
    .deleteFrom('audit_entry')
    .where((eb) => eb(eb.refTuple('occurred_at', 'id'), 'in', some.$asTuple('occurred_at', 'id')))
    .returning('id')
    .execute();
  if (deleted.length === 0)
    await em
      .getKysely<Readable<AuditStreamTables>>()
      .deleteFrom('audit_stream')
      .where('organization_id', '=', organizationId)
      .execute();
  return deleted.map(({ id }) => id);
}

/**
 * Removes the id and the name of a user from a batch of the entries about them, and the names of their API keys, in the caller's transaction,
 * before the keys are deleted. @returns the ids of the entries.
 */
export async function forgetUserInEntries(
  { em, now }: Pick<StepContext, 'em' | 'now'>,
  userId: UserId,
  batch: number,
): Promise<string[]> {
  const audit = em.getKysely<Readable<AuditTables & ApiKeyTables & ErasedActorTables>>();
  const keys = await audit.selectFrom('api_key').select('id').where('user_id', '=', userId).execute();
  const ids = keys.map(({ id }) => id);
  await audit.deleteFrom('audit_origin').where('key_id', '=', anyOf('uuid', ids)).execute();
  // Of refused sign-ins, which have no key.
  await sql`delete from audit_origin where (entry_occurred_at, entry_id) in (
    select occurred_at, id from audit_entry where target_id = ${userId} and target_type = 'User' and refusal is not null)`.execute(
    audit,
  );
  const label = randomBytes(6).toString('hex');
  const erased = ids.map((id) => ({ key_id: id, label, erased_at: now() }));
  // The step is repeated for each batch, with the same keys.
  if (erased.length > 0)
    await audit
      .insertInto('erased_actor')
      .values(erased)
      .onConflict((conflict) => conflict.doNothing())
      .execute();
  const about = audit
    .selectFrom('audit_entry')
    .select(['occurred_at', 'id'])
    .where((eb) =>
      eb.or([
        eb.and([eb('target_id', '=', userId), eb('target_type', '=', 'User')]),
        eb.and([
          eb(
            'target_id',
            '=',
            anyOf(
              'uuid',
              keys.map(({ id }) => id),
            ),
          ),
          eb('target_type', '=', 'ApiKey'),
          eb('target_label', 'is not', null),
        ]),
      ]),
    )
    .limit(batch);
  const forgotten = await audit
    .updateTable('audit_entry')
    .set((eb) => ({
      target_id: eb.case().when('target_type', '=', 'User').then(null).else(eb.ref('target_id')).end(),
      target_label: null,
    }))
    .where((eb) => eb(eb.refTuple('occurred_at', 'id'), 'in', about.$asTuple('occurred_at', 'id')))
    .returning('id')
    .execute();
  return forgotten.map(({ id }) => id);
}

/** Deletes a batch of the labels of accounts that were erased before a time. @returns how many were deleted. */
export async function deleteErasedActors(em: EntityManager, before: Date, batch: number): Promise<number> {
  const tables = em.getKysely<Readable<ErasedActorTables>>();
  const old = tables
    .selectFrom('erased_actor')
    .select('key_id')
    .where('erased_at', '<', before.toISOString())
    .limit(batch);
  const { numDeletedRows } = await tables.deleteFrom('erased_actor').where('key_id', 'in', old).executeTakeFirst();
  return Number(numDeletedRows);
}

/** Removes an e-mail address from the entries about its invitations, in the transaction that deletes the invitations. */
export async function forgetInvited(em: EntityManager, email: string | null | undefined): Promise<void> {
  if (email == null) return;
  await em
    .getKysely<Readable<AuditTables>>()
    .updateTable('audit_entry')
    .set({ target_label: null })
    .where('target_type', '=', 'OrganizationInvitation')
    .where('target_label', '=', email)
    .execute();
}

/** Removes the addresses of a batch of entries about invitations that are no longer open, where nobody has the address. @returns how many. */
export async function forgetUninvited(em: EntityManager, _: Date, batch: number): Promise<number> {
  const tables = em.getKysely<Readable<AuditTables & InvitationTables & UserTables>>();
  const gone = tables
    .selectFrom('audit_entry as a')
    .select(['a.occurred_at', 'a.id'])
    .where('a.target_type', '=', sql.lit('OrganizationInvitation'))
    .where('a.target_label', 'is not', null)
    .where((eb) => {
      const invitation = eb.selectFrom('invitation as i').select('i.id').whereRef('i.email', '=', 'a.target_label');
      const account = eb.selectFrom('user_account as u').select('u.id').whereRef('u.email', '=', 'a.target_label');
      const open = invitation.whereRef('i.organization_id', '=', 'a.organization_id');
      return eb.and([eb.not(eb.exists(open)), eb.not(eb.exists(account))]);
    })
    .limit(batch);
  const { numUpdatedRows } = await tables
    .updateTable('audit_entry')
    .set({ target_label: null })
    .where((eb) => eb(eb.refTuple('occurred_at', 'id'), 'in', gone.$asTuple('occurred_at', 'id')))
    .executeTakeFirst();
  return Number(numUpdatedRows);
}
