import { type Ordering, type Page, type PageArguments, keyset } from '../../core/keyset.ts';
import type { OperationContext } from '../../core/operation.ts';
import { type Timestamp, toIsoString } from '../../core/sql.ts';
import type { EventOccurrenceFilter } from './input.ts';

/**
 * The read path of occurrences: from rows to the wire without entities. Each statement joins the definition, so that the occurrences of a
 * deleted or a foreign one are out of reach.
 */

/** An occurrence as it is read. `properties` is JSON text. */
export interface EventOccurrenceRow {
  readonly id: string;
  readonly definitionId: string;
  readonly occurredAt: Timestamp;
  readonly receivedAt: Timestamp;
  readonly email: string | null;
  readonly utk: string | null;
  readonly objectId: string | null;
  readonly uuid: string | null;
  readonly properties: string;
}

/** What finds an occurrence again: its primary key. */
export interface OccurrenceKey {
  readonly definitionId: string;
  readonly occurredAt: string;
  readonly id: string;
}

const COLUMNS = `o.id, o.definition_id as "definitionId", o.occurred_at as "occurredAt", o.received_at as "receivedAt", o.email, o.utk,
  o.object_id as "objectId", o.uuid, o.properties::text as properties`;

/** `$1` is the organization and `$2` the definition, which is compared directly, so that the planner picks the partition. */
const FROM = `from event_definition d join event_occurrence o on o.definition_id = d.id
  where d.organization_id = $1 and d.id = $2 and d.deleted_at is null and o.definition_id = $2`;

function conditions(filter: EventOccurrenceFilter, values: unknown[]): string {
  const value = (given: unknown) => `$${values.push(given)}`;
  return [
    ...(filter.objectId == null ? [] : [`o.object_id = ${value(filter.objectId)}`]),
    ...(filter.email == null ? [] : [`o.email = ${value(filter.email.replaceAll('\0', ' '))}`]),
    ...(filter.occurredFrom == null ? [] : [`o.occurred_at >= ${value(filter.occurredFrom)}::timestamptz`]),
    ...(filter.occurredBefore == null ? [] : [`o.occurred_at < ${value(filter.occurredBefore)}::timestamptz`]),
    'true',
  ].join(' and ');
}

export async function pageOfOccurrences(
  { sql }: OperationContext,
  place: { organizationId: string; definitionId: string },
  { filter, direction, page }: { filter: EventOccurrenceFilter; direction: 'ASC' | 'DESC'; page: PageArguments },
): Promise<Page<EventOccurrenceRow>> {
  const values: unknown[] = [place.organizationId, place.definitionId];
  const where = conditions(filter, values);
  const ordering: Ordering<EventOccurrenceRow> = {
    name: `EVENT_OCCURRENCE_${direction}`,
    direction,
    columns: [
      { sql: 'o.occurred_at', type: 'timestamptz', of: (row) => toIsoString(row.occurredAt) },
      { sql: 'o.id', type: 'uuid', of: (row) => row.id },
    ],
  };
  const query = keyset(ordering, page, values);
  const rows = await sql.query<EventOccurrenceRow>(
    `select ${COLUMNS} ${FROM} and ${where} and ${query.where} order by ${query.orderBy} limit $${values.push(query.limit)}`,
    values,
  );
  return query.toPage(rows);
}

export async function countOccurrenceRows(
  { sql }: OperationContext,
  place: { organizationId: string; definitionId: string },
  filter: EventOccurrenceFilter,
): Promise<number> {
  const values: unknown[] = [place.organizationId, place.definitionId];
  const where = conditions(filter, values);
  const [row] = await sql.query<{ count: number }>(`select count(*)::int as count ${FROM} and ${where}`, values);
  return row?.count ?? 0;
}

/** Counts by day in UTC, `YYYY-MM-DD`; days without occurrences are missing. */
export async function countRowsByDay(
  { sql }: OperationContext,
  place: { organizationId: string; definitionId: string },
  from: Date,
  before: Date,
): Promise<Map<string, number>> {
  const rows = await sql.query<{ day: string; count: number }>(
    `select to_char(o.occurred_at at time zone 'UTC', 'YYYY-MM-DD') as day, count(*)::int as count
      ${FROM} and o.occurred_at >= $3 and o.occurred_at < $4 group by 1`,
    [place.organizationId, place.definitionId, from, before],
  );
  return new Map(rows.map(({ day, count }) => [day, count]));
}

/** Those of the occurrences that exist; whether their definitions may be seen is settled before. */
export async function findOccurrenceRows(
  { sql }: OperationContext,
  organizationId: string,
  keys: readonly OccurrenceKey[],
): Promise<EventOccurrenceRow[]> {
  return sql.query<EventOccurrenceRow>(
    `select ${COLUMNS} from unnest($2::uuid[], $3::timestamptz[], $4::uuid[]) as k (definition_id, occurred_at, id)
      join event_occurrence o on o.definition_id = k.definition_id and o.occurred_at = k.occurred_at and o.id = k.id
      where o.organization_id = $1`,
    [
      organizationId,
      keys.map(({ definitionId }) => definitionId),
      keys.map(({ occurredAt }) => occurredAt),
      keys.map(({ id }) => id),
    ],
  );
}

/** What an organization has sent in a month. */
export async function readMonthlyCount(
  { sql }: OperationContext,
  organizationId: string,
  month: string,
): Promise<number> {
  const [row] = await sql.query<{ count: string }>(
    'select count from monthly_occurrence_count where organization_id = $1 and month = $2',
    [organizationId, month],
  );
  return Number(row?.count ?? 0);
}
