import type { LoadBatch } from '../../core/graphql/batches.ts';
import { invalid } from '../../core/errors.ts';
import type { Page } from '../../core/postgres/keyset.ts';
import { type OperationContext, requireOrganization, requireScope } from '../../core/operation.ts';
import type { Columns } from '../../core/postgres/columns.ts';
import { requireEventDefinitions } from '../event-definitions/operations.ts';
import { type EventOccurrenceFilter, MAX_DAYS, type OccurrenceDaysInput } from './input.ts';
import {
  type EventOccurrenceRow,
  type OccurrenceKey,
  type OccurrenceList,
  countsByDay,
  countsOfOccurrences,
  findMonthlyCount,
  findOccurrences,
  pagesOfOccurrences,
} from './queries.ts';
import { monthOf, nextMonth } from './send-queries.ts';

const DAY_MS = 86_400_000;
const DEFAULT_DAYS = 30;

/** Pages through the occurrences of each of the definitions by the time at which they occurred. Those of a deleted definition are none. */
export function listEventOccurrences(
  context: OperationContext,
  list: OccurrenceList,
): LoadBatch<string, Page<EventOccurrenceRow>> {
  requireEventDefinitions(context.actor);
  return pagesOfOccurrences(context, list);
}

/** How many occurrences each of the definitions has. */
export function countEventOccurrences(
  context: OperationContext,
  filter: EventOccurrenceFilter,
): LoadBatch<string, number> {
  requireEventDefinitions(context.actor);
  return countsOfOccurrences(context, filter);
}

/** Those of the occurrences that the caller may see. */
export async function readEventOccurrences(
  context: OperationContext,
  keys: readonly OccurrenceKey[],
  selected?: Columns<EventOccurrenceRow>,
): Promise<EventOccurrenceRow[]> {
  requireEventDefinitions(context.actor);
  return findOccurrences(context, keys, selected);
}

export interface DayCount {
  /** `YYYY-MM-DD`, in UTC. */
  readonly day: string;
  readonly count: number;
}

/**
 * Occurrences of each of the definitions by day of occurring, in UTC: every day from the one of `from` to the one of `until`, both included, also
 * those without any. Without bounds the last 30 days.
 * @throws ValidationError when these are more than 366 days, or none.
 */
export function countOccurrencesByDay(
  context: OperationContext,
  { from, until }: OccurrenceDaysInput,
): LoadBatch<string, DayCount[]> {
  requireEventDefinitions(context.actor);
  const last = dayOf(until == null ? context.now() : new Date(until));
  const first = from == null ? last - DEFAULT_DAYS + 1 : dayOf(new Date(from));
  if (first > last) throw invalid('from', 'must not lie behind until');
  if (last - first >= MAX_DAYS) throw invalid('from', `must lie at most ${MAX_DAYS} days before until`);
  const days = Array.from({ length: last - first + 1 }, (_, index) =>
    midnightOf(first + index)
      .toISOString()
      .slice(0, 10),
  );
  const load = countsByDay(context, midnightOf(first), midnightOf(last + 1));
  return async (definitionIds) => {
    const counts = await load(definitionIds);
    return new Map(definitionIds.map((id) => [id, days.map((day) => ({ day, count: counts.get(id)?.get(day) ?? 0 }))]));
  };
}

function dayOf(moment: Date): number {
  return Math.floor(moment.getTime() / DAY_MS);
}

function midnightOf(day: number): Date {
  return new Date(day * DAY_MS);
}

export interface MonthlyUsage {
  /** `YYYY-MM`, in UTC. */
  readonly month: string;
  readonly count: number;
  /** Null when there is none. */
  readonly limit: number | null;
  readonly resetsAt: Date;
}

/** What the organization has sent in this month, and may. */
export async function readMonthlyUsage(context: OperationContext, organizationId: string): Promise<MonthlyUsage> {
  requireScope(context.actor, 'behavioral_events.event_definitions.read_write');
  requireOrganization(context.actor, organizationId);
  const at = context.now();
  const month = monthOf(at);
  const limit = context.settings.monthlyOccurrenceLimit || null;
  return { month, count: await findMonthlyCount(context, month), limit, resetsAt: nextMonth(at) };
}
