import { DAY_MS } from '../../core/text/timestamps.ts';
import type { LoadBatch } from '../../core/graphql/batches.ts';
import { NotFoundError, invalid } from '../../core/errors.ts';
import type { EventDefinitionId, OrganizationId } from '../../core/ids.ts';
import type { Page } from '../../core/postgres/reading/keyset.ts';
import { type ActingOrganization, requireAccess, requireOrganization } from '../../core/access.ts';
import { type OperationContext, defineOperation } from '../../core/operation.ts';
import type { Columns } from '../../core/postgres/reading/columns.ts';
import {
  fullyQualifiedName,
  propertyMeantBy,
  EVENT_DEFINITIONS,
  requireEventDefinition,
  requireEventDefinitions,
} from '../event-definitions/public.ts';
import { type EventOccurrenceFilter, MAX_DAYS, type OccurrenceDaysInput } from './input.ts';
import type { PropertyValue } from './property-values.ts';
import { READ_USAGE } from './policy.ts';
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
import { searchEventOccurrencesInput } from './search-input.ts';
import { type FoundOccurrence, pageOfFoundOccurrences } from './search-queries.ts';
import { monthOf, nextMonth } from './send-queries.ts';

const DEFAULT_DAYS = 30;

/** A page of the occurrences of each definition, sorted by `occurredAt`. A deleted definition has none. */
export function listEventOccurrences(
  context: OperationContext,
  list: OccurrenceList,
): LoadBatch<EventDefinitionId, Page<EventOccurrenceRow>> {
  requireEventDefinitions(context.actor);
  return pagesOfOccurrences(context, list);
}

export interface SearchedOccurrence extends Omit<FoundOccurrence, 'eventName' | 'properties'> {
  /** The fully qualified name of the event. */
  readonly eventType: string;
  readonly properties: Readonly<Record<string, PropertyValue>>;
}

export const searchEventOccurrences = defineOperation({
  name: 'searchEventOccurrences',
  description:
    'Lists event occurrences by time, latest first by default. Lists occurrences that meet all conditions. The parameter `property.<name>` compares the value of an event property. The parameter `objectProperty.<name>` finds the record by a registered identifier, for a contact also by `email`, and requires `objectType`. Occurrences of `NO_OBJECT` events are not stored.',
  access: EVENT_DEFINITIONS,
  input: searchEventOccurrencesInput,
  errors: [NotFoundError],
  run: async (
    context,
    { eventType, ...search },
  ): Promise<{ page: Page<FoundOccurrence>; occurrences: readonly SearchedOccurrence[] }> => {
    const organization = requireOrganization(context.actor);
    const definition = eventType === undefined ? undefined : await requireEventDefinition(context, eventType, []);
    const page = await pageOfFoundOccurrences(context, {
      ...search,
      definitionId: definition?.id,
      propertyValues: search.propertyValues.map(([name, value]) => [propertyMeantBy(name), value]),
    });
    const wanted = search.properties && new Set(search.properties.map(propertyMeantBy));
    return { page, occurrences: page.rows.map((row) => searchedOccurrence(row, organization, wanted)) };
  },
});

/** An occurrence as REST answers it; of its properties only the wanted ones. */
export function searchedOccurrence(
  { eventName, properties, ...row }: FoundOccurrence,
  organization: ActingOrganization,
  wanted?: ReadonlySet<string>,
): SearchedOccurrence {
  const values = JSON.parse(properties) as SearchedOccurrence['properties'];
  const kept = Object.entries(values).filter(([name]) => !wanted || wanted.has(name));
  return {
    ...row,
    eventType: fullyQualifiedName({ name: eventName }, organization),
    properties: Object.fromEntries(kept),
  };
}

/** How many occurrences each of the definitions has. */
export function countEventOccurrences(
  context: OperationContext,
  filter: EventOccurrenceFilter,
): LoadBatch<EventDefinitionId, number> {
  requireEventDefinitions(context.actor);
  return countsOfOccurrences(context, filter);
}

/** The occurrences with these keys that the caller can see, in any order. */
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
 * How many occurrences each definition has on each day in UTC, from the day `from` to the day `until`, both included.
 * Days without occurrences are included. Without `from` and `until` it counts the last 30 days.
 * @throws ValidationError for more than 366 days, and when `from` is after `until`.
 */
export function countOccurrencesByDay(
  context: OperationContext,
  { from, until }: OccurrenceDaysInput,
): LoadBatch<EventDefinitionId, DayCount[]> {
  requireEventDefinitions(context.actor);
  const last = dayOf(until == null ? context.now() : new Date(until));
  const first = from == null ? last - DEFAULT_DAYS + 1 : dayOf(new Date(from));
  if (first > last) throw invalid('from', 'must not be after until', 'CONFLICTING');
  if (last - first >= MAX_DAYS)
    throw invalid('from', `must be less than ${MAX_DAYS} days before until`, 'TOO_MANY', MAX_DAYS);
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
  /** Null when there is no limit. */
  readonly limit: number | null;
  readonly resetsAt: Date;
}

/** How many occurrences the organization has sent in this month, and the limit. */
export async function readMonthlyUsage(
  context: OperationContext,
  organizationId: OrganizationId,
): Promise<MonthlyUsage> {
  requireAccess(context.actor, READ_USAGE);
  requireOrganization(context.actor, organizationId);
  const at = context.now();
  const month = monthOf(at);
  const limit = context.settings.monthlyOccurrenceLimit || null;
  return { month, count: await findMonthlyCount(context, month), limit, resetsAt: nextMonth(at) };
}
