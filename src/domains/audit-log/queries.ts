import type { EntityManager } from '@mikro-orm/postgresql';
import { sql } from 'kysely';
import { type AuditTables, IS_NOT_RECORDING, RECORDING_OPERATIONS } from '../../core/audit.ts';
import { keysOf } from '../../core/keys-of.ts';
import type { OrganizationId, UserId } from '../../core/ids.ts';
import { countOf } from '../../core/postgres/reading/counts.ts';
import {
  type Order,
  type Ordering,
  type Page,
  type PageArguments,
  planPage,
} from '../../core/postgres/reading/keyset.ts';
import type { OperationContext } from '../../core/operation.ts';
import { type Readable, type RowOf, anyOf, listOf, queriesOn } from '../../core/postgres/reading/queries.ts';
import { type Columns, withColumns } from '../../core/postgres/reading/columns.ts';
import type { ApiKeyTables } from '../api-keys/public.ts';
import type { UserRow, UserTables } from '../users/public.ts';
import type { AuditEntryFilter } from './input.ts';

const db = queriesOn<AuditTables & ApiKeyTables & UserTables>();

/** An entry and the user who owns its key. The user is null for deleted accounts, the command line and jobs. */
export interface AuditEntryRow extends Omit<RowOf<Readable<AuditTables>['audit_entry']>, 'organizationId'> {
  readonly userId: UserId | null;
  readonly email: UserRow['email'];
  readonly name: UserRow['name'];
  readonly userCreatedAt: UserRow['createdAt'] | null;
  readonly userUpdatedAt: UserRow['updatedAt'] | null;
}

const COLUMNS = {
  id: 'a.id as id',
  occurredAt: 'a.occurred_at as occurredAt',
  source: 'a.source as source',
  operation: 'a.operation as operation',
  targetType: 'a.target_type as targetType',
  targetId: 'a.target_id as targetId',
  targetLabel: 'a.target_label as targetLabel',
  keyId: 'a.key_id as keyId',
  requestId: 'a.request_id as requestId',
  requestIdOrigin: 'a.request_id_origin as requestIdOrigin',
  refusal: 'a.refusal as refusal',
  changedFields: 'a.changed_fields as changedFields',
  detail: 'a.detail as detail',
  toolCall: 'a.tool_call as toolCall',
  userId: 'u.id as userId',
  email: 'u.email as email',
  name: 'u.name as name',
  userCreatedAt: 'u.created_at as userCreatedAt',
  userUpdatedAt: 'u.updated_at as userUpdatedAt',
} as const satisfies Record<keyof AuditEntryRow, string>;
const ALL = keysOf(COLUMNS);

const byTime = (direction: 'ASC' | 'DESC'): Ordering<AuditEntryRow> => ({
  name: 'AUDIT_ENTRY',
  direction,
  columns: [
    { sql: 'a.occurred_at', type: 'timestamptz', of: ({ occurredAt }) => occurredAt },
    { sql: 'a.id', type: 'uuid', of: ({ id }) => id },
  ],
});

export interface AuditEntryList {
  readonly organizationId: OrganizationId;
  readonly filter: AuditEntryFilter;
  readonly order: Order<'OCCURRED_AT'>;
  readonly page: PageArguments;
}

export interface EntryKey {
  readonly id: string;
  readonly occurredAt: string;
}

/** The entries with these keys that belong to the organization, in any order. Found by time, the first column of the primary key. */
export function findEntries(
  { sql: reader }: OperationContext,
  organizationId: OrganizationId,
  keys: readonly EntryKey[],
  asked?: Columns<AuditEntryRow>,
): Promise<AuditEntryRow[]> {
  const names = withColumns<AuditEntryRow>(asked, ALL, 'id', 'occurredAt');
  const moments = listOf(
    'timestamptz',
    keys.map(({ occurredAt }) => occurredAt),
  );
  const ids = listOf(
    'uuid',
    keys.map(({ id }) => id),
  );
  return reader.all(
    entriesOf(organizationId, {})
      .select(names.map((name) => COLUMNS[name]))
      .where(sql<boolean>`(a.occurred_at, a.id) in (select * from unnest(${moments}, ${ids}))`),
  );
}

/** The entries of an organization that meet the conditions, with their users. PostgreSQL removes joins whose columns are not selected. */
function entriesOf(
  organizationId: OrganizationId,
  { actorIds, operations, isRefused, isRecording, targetIds, sources, ...times }: AuditEntryFilter,
) {
  let entries = db
    .selectFrom('audit_entry as a')
    .leftJoin('api_key as k', 'k.id', 'a.key_id')
    .leftJoin('user_account as u', 'u.id', 'k.user_id')
    .where('a.organization_id', '=', organizationId);
  if (actorIds != null) entries = entries.where('k.user_id', '=', anyOf('uuid', actorIds));
  if (operations != null) entries = entries.where('a.operation', '=', anyOf('text', operations));
  if (isRefused != null) entries = entries.where('a.refusal', isRefused ? 'is not' : 'is', null);
  if (isRecording === true) entries = entries.where('a.operation', '=', anyOf('text', RECORDING_OPERATIONS));
  if (isRecording === false) entries = entries.where(sql<boolean>`a.${sql.raw(IS_NOT_RECORDING)}`);
  if (targetIds != null) entries = entries.where('a.target_id', '=', anyOf('uuid', targetIds));
  if (sources != null) entries = entries.where('a.source', '=', anyOf('text', sources));
  if (times.occurredFrom != null) entries = entries.where('a.occurred_at', '>=', times.occurredFrom);
  if (times.occurredBefore != null) entries = entries.where('a.occurred_at', '<', times.occurredBefore);
  return entries;
}

export async function pageOfEntries(
  { sql: reader }: OperationContext,
  { organizationId, filter, order, page }: AuditEntryList,
  asked?: Columns<AuditEntryRow>,
): Promise<Page<AuditEntryRow>> {
  const plan = planPage(byTime(order.direction), page);
  const names = withColumns<AuditEntryRow>(asked, ALL, 'id', 'occurredAt');
  const entries = entriesOf(organizationId, filter).select(names.map((name) => COLUMNS[name]));
  return plan.toPage(await reader.page(plan.apply(entries)));
}

export function countEntries(
  { sql: reader }: OperationContext,
  organizationId: OrganizationId,
  filter: AuditEntryFilter,
): Promise<number> {
  return countOf(reader, entriesOf(organizationId, filter));
}

/** Deletes a batch of the entries from before a time, the earliest first. @returns how many were deleted. */
export async function deleteAuditEntries(em: EntityManager, before: Date, batch: number): Promise<number> {
  const audit = em.getKysely<Readable<AuditTables>>();
  const earliest = audit
    .selectFrom('audit_entry')
    .select(['occurred_at', 'id'])
    .where('occurred_at', '<', before.toISOString())
    .orderBy('occurred_at')
    .orderBy('id')
    .limit(batch);
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
  return deleted.map(({ id }) => id);
}

/**
 * Removes the id and the name of a user from a batch of the entries about them, and the names of their API keys, in the caller's transaction,
 * before the keys are deleted. @returns the ids of the entries.
 */
export async function forgetUserInEntries(em: EntityManager, userId: UserId, batch: number): Promise<string[]> {
  const audit = em.getKysely<Readable<AuditTables & ApiKeyTables>>();
  const keys = await audit.selectFrom('api_key').select('id').where('user_id', '=', userId).execute();
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
