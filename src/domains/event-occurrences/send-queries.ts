import type { EntityManager } from '@mikro-orm/postgresql';
import { sql } from 'kysely';
import { DomainError } from '../../core/errors.ts';
import type { EventDefinitionId, OrganizationId } from '../../core/ids.ts';
import type { OperationContext } from '../../core/operation.ts';
import { type Readable, listOf } from '../../core/postgres/reading/queries.ts';
import type { Link } from './occurrence-validation.ts';
import type { EventOccurrenceTables } from './entity.ts';
import type { UnmatchedReason } from './input.ts';
import type { PropertyValue } from './property-values.ts';

/**
 * The statements of a transaction that sends occurrences. Rows are sent as one array per column, so that the text of
 * a statement does not depend on their number.
 */

type Work = Pick<OperationContext, 'em' | 'now'>;

const tables = (em: EntityManager) => em.getKysely<Readable<EventOccurrenceTables>>();

/** A row to insert; undefined becomes null. */
export interface NewOccurrence {
  readonly id: string;
  readonly definitionId: EventDefinitionId;
  readonly occurredAt: string;
  readonly email: string | undefined;
  readonly utk: string | undefined;
  readonly objectId: string | undefined;
  readonly uuid: string | undefined;
  readonly unmatchedReason: UnmatchedReason | undefined;
  readonly properties: Readonly<Record<string, PropertyValue>>;
}

/** The ids of the objects that have these values, by `keyOf` the link. */
export async function findObjects(
  { em }: Work,
  organizationId: OrganizationId,
  links: readonly Link[],
): Promise<Map<string, string>> {
  if (links.length === 0) return new Map();
  const lists = (['objectType', 'propertyName', 'value'] as const).map((name) =>
    listOf(
      'text',
      links.map((link) => link[name]),
    ),
  );
  const rows = await tables(em)
    .selectFrom(
      sql<{ object_type: string; property_name: string; value: string }>`unnest(${sql.join(lists)})`.as<'w'>(
        sql`w(object_type, property_name, value)`,
      ),
    )
    .innerJoin('object_identifier as i', (join) =>
      join
        .on('i.organization_id', '=', organizationId)
        .onRef('i.object_type', '=', 'w.object_type')
        .onRef('i.property_name', '=', 'w.property_name')
        .onRef('i.value', '=', 'w.value'),
    )
    .select(['i.object_type as objectType', 'i.property_name as propertyName', 'i.value', 'i.object_id as objectId'])
    .execute();
  return new Map(rows.map((row) => [keyOf(row), row.objectId]));
}

export const keyOf = ({ objectType, propertyName, value }: Link): string =>
  JSON.stringify([objectType, propertyName, value]);

export interface Sent {
  readonly definitionId: EventDefinitionId;
  readonly uuid: string;
}

const YEAR = sql.raw(`interval '1 year'`);

/**
 * Claims uuids for a year; the list has each once. A second transaction that claims the same uuid waits for the first. All claim in one
 * order, so that no two wait for each other.
 * @returns those that were free.
 */
export async function claimUuids(
  { em, now }: Work,
  organizationId: OrganizationId,
  uuids: readonly Sent[],
): Promise<Sent[]> {
  if (uuids.length === 0) return [];
  const expiresAt = sql`(${now()}::timestamptz at time zone 'utc' + ${YEAR}) at time zone 'utc'`;
  // Of the given row and without a parameter: Citus inserts the rows of `unnest` by a statement that has no other parameters.
  const at = sql<string>`(excluded.expires_at at time zone 'utc' - ${YEAR}) at time zone 'utc'`;
  const db = tables(em);
  const definitionIds = listOf(
    'uuid',
    uuids.map(({ definitionId }) => definitionId),
  );
  const texts = listOf(
    'text',
    uuids.map(({ uuid }) => uuid),
  );
  return db
    .insertInto('event_occurrence_uuid')
    .columns(['definition_id', 'uuid', 'organization_id', 'expires_at'])
    .expression(
      db
        .selectFrom(
          sql<{ definition_id: string; uuid: string }>`unnest(${definitionIds}, ${texts})`.as<'s'>(
            sql`s(definition_id, uuid)`,
          ),
        )
        .select(['s.definition_id', 's.uuid'])
        .select([sql`${organizationId}::uuid`.as('organization_id'), expiresAt.as('expires_at')])
        .orderBy('s.definition_id')
        .orderBy('s.uuid'),
    )
    .onConflict((conflict) =>
      conflict
        // By its name, since deploy/citus.sql makes it wider.
        .constraint('event_occurrence_uuid_pkey')
        .doUpdateSet((eb) => ({ expires_at: eb.ref('excluded.expires_at') }))
        .where('event_occurrence_uuid.expires_at', '<=', at),
    )
    .returning(['definition_id as definitionId', 'uuid'])
    .execute();
}

/** Deletes a batch of the uuids that were claimed more than a year ago. @returns how many. */
export async function deleteExpiredUuids(em: EntityManager, at: Date, batch: number): Promise<number> {
  const db = tables(em);
  const expired = db
    .selectFrom('event_occurrence_uuid')
    .where('expires_at', '<=', at.toISOString())
    .orderBy('expires_at');
  // Of one organization, whose rows are on one shard.
  const first = await expired.select('organization_id as organizationId').limit(1).executeTakeFirst();
  if (!first) return 0;
  const { numDeletedRows } = await db
    .deleteFrom('event_occurrence_uuid')
    .where('organization_id', '=', first.organizationId)
    .where((eb) =>
      eb(
        eb.refTuple('definition_id', 'uuid'),
        'in',
        expired
          .where('organization_id', '=', first.organizationId)
          .select(['definition_id', 'uuid'])
          .limit(batch)
          .forUpdate()
          .skipLocked()
          .$asTuple('definition_id', 'uuid'),
      ),
    )
    .executeTakeFirst();
  return Number(numDeletedRows);
}

/**
 * Adds to the count of the organization's month (in UTC), and to those of the minute. The row is locked until the commit, so the limit is exact.
 * @throws DomainError 429 with `Retry-After` when the month would exceed `limit`; 0 means no limit.
 */
export async function countOccurrences(
  { em, now }: Work,
  organizationId: OrganizationId,
  definitionIds: readonly EventDefinitionId[],
  limit: number,
): Promise<void> {
  const added = definitionIds.length;
  if (added === 0) return;
  const at = now();
  // The first insert of a month has no row whose sum could be compared.
  if (limit > 0 && added > limit) throw overLimit(limit, at);
  const counted = await tables(em)
    .with('minute', () => countMinute(em, organizationId, definitionIds, at))
    .insertInto('monthly_occurrence_count')
    .values({ organization_id: organizationId, month: monthOf(at), count: added })
    .onConflict((conflict) => {
      const sum = sql<number>`monthly_occurrence_count.count + excluded.count`;
      const adding = conflict.columns(['organization_id', 'month']).doUpdateSet({ count: sum });
      return limit > 0 ? adding.where(sum, '<=', limit) : adding;
    })
    .returning('count')
    .execute();
  if (counted.length === 0) throw overLimit(limit, at);
}

/** In one order, so that no two senders wait for each other. */
function countMinute(
  em: EntityManager,
  organizationId: OrganizationId,
  definitionIds: readonly EventDefinitionId[],
  at: Date,
) {
  const db = tables(em);
  const given = sql<{ definition_id: EventDefinitionId }>`unnest(${listOf('uuid', definitionIds)})`;
  return db
    .insertInto('sent_occurrence_count')
    .columns(['organization_id', 'definition_id', 'minute', 'count'])
    .expression(
      db
        .selectFrom(given.as<'s'>(sql`s(definition_id)`))
        .select([sql`${organizationId}::uuid`.as('organization_id'), 's.definition_id'])
        .select([sql`date_trunc('minute', ${at}::timestamptz)`.as('minute'), sql`count(*)`.as('count')])
        .groupBy('s.definition_id')
        .orderBy('s.definition_id'),
    )
    .onConflict((conflict) =>
      conflict
        .columns(['organization_id', 'definition_id', 'minute'])
        .doUpdateSet({ count: sql<number>`sent_occurrence_count.count + excluded.count` }),
    );
}

/** `YYYY-MM` in UTC. */
export const monthOf = (at: Date): string => at.toISOString().slice(0, 7);

export const nextMonth = (at: Date): Date => new Date(Date.UTC(at.getUTCFullYear(), at.getUTCMonth() + 1));

function overLimit(limit: number, at: Date): DomainError {
  const next = nextMonth(at);
  const message = `the organization may send ${limit} event occurrences a month, and these would be more; the next month begins at ${next.toISOString()}`;
  const seconds = Math.ceil((next.getTime() - at.getTime()) / 1000);
  return new DomainError('rateLimited', message, { headers: { 'Retry-After': String(seconds) } });
}

export async function storeOccurrences(
  { em, now }: Work,
  organizationId: OrganizationId,
  occurrences: readonly NewOccurrence[],
): Promise<void> {
  if (occurrences.length === 0) return;
  const at = now();
  const values = <Name extends keyof NewOccurrence>(name: Name) => occurrences.map((row) => row[name]);
  const lists = [
    listOf('uuid', values('definitionId')),
    listOf('timestamptz', values('occurredAt')),
    listOf('uuid', values('id')),
    listOf('text', values('email')),
    listOf('text', values('utk')),
    listOf('text', values('objectId')),
    listOf('text', values('uuid')),
    listOf('text', values('unmatchedReason')),
    listOf(
      'text',
      values('properties').map((properties) => JSON.stringify(properties)),
    ),
  ];
  const db = tables(em);
  await db
    .insertInto('event_occurrence')
    .columns([...COLUMNS, 'organization_id', 'received_at', 'properties'])
    .expression(
      db
        .selectFrom(
          sql<NewRow>`unnest(${sql.join(lists)})`.as<'o'>(
            sql`o(${sql.join([...COLUMNS, 'properties'].map((name) => sql.ref(name)))})`,
          ),
        )
        .select(COLUMNS.map((name) => `o.${name}` as const))
        .select([sql`${organizationId}::uuid`.as('organization_id'), sql`${at}::timestamptz`.as('received_at')])
        .select(sql`o.properties::json`.as('properties')),
    )
    .execute();
}

const COLUMNS = [
  'definition_id',
  'occurred_at',
  'id',
  'email',
  'utk',
  'object_id',
  'uuid',
  'unmatched_reason',
] as const;
type NewRow = Readonly<Record<(typeof COLUMNS)[number] | 'properties', string | null>>;
