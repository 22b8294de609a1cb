import { invalid } from '../../core/errors.ts';
import type { CountedPage, PageArguments } from '../../core/keyset.ts';
import { type OperationContext, requireOrganization, requireScope } from '../../core/operation.ts';
import { readEventDefinitionsByIds } from '../event-definitions/operations.ts';
import { type EventOccurrenceFilter, MAX_DAYS, type OccurrenceDaysInput } from './input.ts';
import {
  type EventOccurrenceRow,
  type OccurrenceKey,
  countOccurrenceRows,
  countRowsByDay,
  findOccurrenceRows,
  pageOfOccurrences,
  readMonthlyCount,
} from './rows.ts';
import { monthOf, nextMonth } from './store.ts';

const DAY_MS = 86_400_000;
const DEFAULT_DAYS = 30;

function placeOf({ actor }: OperationContext, definitionId: string) {
  requireScope(actor, 'behavioral_events.event_definitions.read_write');
  return { organizationId: requireOrganization(actor).id, definitionId };
}

/** Pages through the occurrences of a definition by the time at which they occurred. Those of a deleted definition are none. */
export async function listEventOccurrences(
  context: OperationContext,
  definitionId: string,
  list: { filter: EventOccurrenceFilter; direction: 'ASC' | 'DESC'; page: PageArguments },
): Promise<CountedPage<EventOccurrenceRow>> {
  const place = placeOf(context, definitionId);
  return {
    page: await pageOfOccurrences(context, place, list),
    total: () => countOccurrenceRows(context, place, list.filter),
  };
}

/** How many occurrences a deletion of the definition would take away. */
export async function countEventOccurrences(context: OperationContext, definitionId: string): Promise<number> {
  return countOccurrenceRows(context, placeOf(context, definitionId), {});
}

/** Those of the occurrences that the caller may see. */
export async function readEventOccurrences(
  context: OperationContext,
  keys: readonly OccurrenceKey[],
): Promise<EventOccurrenceRow[]> {
  const definitions = await readEventDefinitionsByIds(context, [
    ...new Set(keys.map(({ definitionId }) => definitionId)),
  ]);
  const visible = new Set(definitions.map(({ id }) => id));
  const { organizationId } = placeOf(context, '');
  return findOccurrenceRows(
    context,
    organizationId,
    keys.filter(({ definitionId }) => visible.has(definitionId)),
  );
}

export interface DayCount {
  /** `YYYY-MM-DD`, in UTC. */
  readonly day: string;
  readonly count: number;
}

/**
 * Occurrences of a definition by day of occurring, in UTC: every day from the one of `from` to the one of `until`, both included, also
 * those without any. Without bounds the last 30 days.
 * @throws ValidationError when these are more than 366 days, or none.
 */
export async function countOccurrencesByDay(
  context: OperationContext,
  definitionId: string,
  { from, until }: OccurrenceDaysInput,
): Promise<DayCount[]> {
  const place = placeOf(context, definitionId);
  const last = dayOf(until == null ? context.now() : new Date(until));
  const first = from == null ? last - DEFAULT_DAYS + 1 : dayOf(new Date(from));
  if (first > last) throw invalid('from', 'must not lie behind until');
  if (last - first >= MAX_DAYS) throw invalid('from', `must lie at most ${MAX_DAYS} days before until`);
  const counts = await countRowsByDay(context, place, midnightOf(first), midnightOf(last + 1));
  return Array.from({ length: last - first + 1 }, (_, index) => {
    const day = midnightOf(first + index)
      .toISOString()
      .slice(0, 10);
    return { day, count: counts.get(day) ?? 0 };
  });
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
  const { id } = requireOrganization(context.actor, organizationId);
  const at = context.now();
  const month = monthOf(at);
  const limit = context.settings.monthlyOccurrenceLimit || null;
  return { month, count: await readMonthlyCount(context, id, month), limit, resetsAt: nextMonth(at) };
}
