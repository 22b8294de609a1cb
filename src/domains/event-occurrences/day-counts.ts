import { type RawBuilder, sql } from 'kysely';
import { requireAccess, requireOrganization } from '../../core/access.ts';
import { invalid } from '../../core/errors.ts';
import type { LoadBatch } from '../../core/graphql/batches.ts';
import { groupBy } from '../../core/arrays.ts';
import type { EventDefinitionId, OrganizationId } from '../../core/ids.ts';
import type { OperationContext } from '../../core/operation.ts';
import { anyOf, queriesOn } from '../../core/postgres/reading/queries.ts';
import { within } from '../../core/postgres/reading/reach.ts';
import { DAY_MS } from '../../core/text/timestamps.ts';
import { WORK } from '../../core/work-budget.ts';
import {
  EVENT_DEFINITIONS,
  type EventDefinitionTables,
  definitionsOf,
  requireEventDefinitions,
} from '../event-definitions/public.ts';
import type { EventOccurrenceTables, EventViolationTables } from './entity.ts';
import { MAX_DAYS, type OccurrenceDaysInput } from './input.ts';
import { KEPT_DAYS } from './violation-queries.ts';

/** Stored and refused occurrences by day, which are read by one statement. */

const db = queriesOn<EventOccurrenceTables & EventDefinitionTables & EventViolationTables>();

const DEFAULT_DAYS = 30;

export interface DayCount {
  /** `YYYY-MM-DD`, in UTC. */
  readonly day: string;
  readonly count: number;
  /** Null where the counts of refused occurrences are no longer kept. */
  readonly refusedCount: number | null;
}

interface Counted {
  readonly day: string;
  readonly count: number;
  readonly refused: number;
}

interface Days {
  readonly first: number;
  readonly last: number;
  /** The first day whose refused occurrences are kept. */
  readonly kept: number;
}

/**
 * How many occurrences each definition has on each day in UTC, from the day `from` to the one before `before`; the older `until` is included.
 * Days without occurrences are included. Without bounds it counts the last 30 days.
 * @throws ValidationError for more than 366 days, for none, and for both ends.
 */
export function countOccurrencesByDay(
  context: OperationContext,
  bounds: OccurrenceDaysInput,
): LoadBatch<EventDefinitionId, DayCount[]> {
  requireEventDefinitions(context.actor);
  const days = daysOf(context, bounds);
  const organizationId = requireOrganization(context.actor).id;
  return async (definitionIds) => {
    const rows = await context.sql.all(
      db
        .selectFrom('event_definition as d')
        .crossJoinLateral(() =>
          stored(days)
            .where(sql<boolean>`o.definition_id = d.id`)
            .where('o.organization_id', '=', organizationId)
            .unionAll(refused(organizationId, days).where(sql<boolean>`v.definition_id = d.id`))
            .as('counted'),
        )
        .select(['d.id', 'counted.day', 'counted.count', 'counted.refused'])
        .where('d.id', '=', anyOf('uuid', definitionIds))
        .where(within(definitionsOf(organizationId), 'd')),
    );
    const counts = groupBy(rows, ({ id }) => id);
    return new Map(definitionIds.map((id) => [id, everyDay(counts.get(id) ?? [], days)]));
  };
}

/** The same for all events of an organization together; refused are also occurrences of events that do not exist. */
export async function countAllOccurrencesByDay(
  context: OperationContext,
  organizationId: OrganizationId,
  bounds: OccurrenceDaysInput,
): Promise<DayCount[]> {
  requireAccess(context.actor, EVENT_DEFINITIONS);
  requireOrganization(context.actor, organizationId);
  const days = daysOf(context, bounds);
  const each = db
    .selectFrom('event_definition as d')
    .innerJoin('event_occurrence as o', (join) =>
      join.onRef('o.definition_id', '=', 'd.id').onRef('o.organization_id', '=', 'd.organization_id'),
    )
    .select(dayOfColumn('o.occurred_at'))
    .where(within(definitionsOf(organizationId), 'd'))
    .where(isWithin('o.occurred_at', days))
    .limit(WORK.countedRows + 1);
  const rows = await context.sql.all(
    db
      .selectFrom(each.as('each'))
      .select(['each.day', sql<number>`count(*)`.as('count'), sql<number>`0::bigint`.as('refused')])
      .groupBy('each.day')
      .unionAll(refused(organizationId, days)),
  );
  if (rows.reduce((sum, { count }) => sum + count, 0) > WORK.countedRows)
    throw invalid(
      'from',
      `at most ${WORK.countedRows} occurrences can be counted; choose fewer days`,
      'TOO_MANY',
      WORK.countedRows,
    );
  return everyDay(rows, days);
}

const dayOfColumn = (column: string) => sql<string>`(${sql.ref(column)} at time zone 'UTC')::date`.as('day');

function isWithin(column: string, { first, last }: Days): RawBuilder<boolean> {
  // Dates and not strings, because PostgreSQL writes the year 0 and earlier years differently.
  const [from, before] = [midnightOf(first), midnightOf(last + 1)];
  return sql<boolean>`${sql.ref(column)} >= ${from}::timestamptz and ${sql.ref(column)} < ${before}::timestamptz`;
}

const stored = (days: Days) =>
  db
    .selectFrom('event_occurrence as o')
    .select([dayOfColumn('o.occurred_at'), sql<number>`count(*)`.as('count'), sql<number>`0::bigint`.as('refused')])
    .where(isWithin('o.occurred_at', days))
    .groupBy('day');

const refused = (organizationId: OrganizationId, days: Days) =>
  db
    .selectFrom('event_violation as v')
    .select([dayOfColumn('v.hour'), sql<number>`0::bigint`.as('count')])
    .select(sql<number>`sum(v.occurrences)::bigint`.as('refused'))
    .where('v.organization_id', '=', organizationId)
    .where(isWithin('v.hour', days))
    .groupBy('day');

function everyDay(rows: readonly Counted[], { first, last, kept }: Days): DayCount[] {
  const byDay = groupBy(rows, ({ day }) => day);
  return Array.from({ length: last - first + 1 }, (_, index): DayCount => {
    const day = midnightOf(first + index)
      .toISOString()
      .slice(0, 10);
    const counts = byDay.get(day) ?? [];
    const sum = (of: 'count' | 'refused') => counts.reduce((total, each) => total + each[of], 0);
    return { day, count: sum('count'), refusedCount: first + index < kept ? null : sum('refused') };
  });
}

function daysOf(context: OperationContext, { from, before, until }: OccurrenceDaysInput): Days {
  const today = dayOf(context.now());
  if (before != null && until != null) throw invalid('before', 'must not be given together with until', 'CONFLICTING');
  const end = before ?? until;
  const last = end == null ? today : dayOf(new Date(end)) - (before == null ? 0 : 1);
  const first = from == null ? last - DEFAULT_DAYS + 1 : dayOf(new Date(from));
  if (first > last)
    throw invalid('from', before == null ? 'must not be after until' : 'must be earlier than before', 'CONFLICTING');
  if (last - first >= MAX_DAYS)
    throw invalid(
      'from',
      before == null
        ? `must be less than ${MAX_DAYS} days before until`
        : `must be at most ${MAX_DAYS} days before before`,
      'TOO_MANY',
      MAX_DAYS,
    );
  return { first, last, kept: today - KEPT_DAYS + 1 };
}

const dayOf = (moment: Date): number => Math.floor(moment.getTime() / DAY_MS);

const midnightOf = (day: number): Date => new Date(day * DAY_MS);
