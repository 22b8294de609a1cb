import type { LoadBatch } from '../../core/graphql/batches.ts';
import { NotFoundError } from '../../core/errors.ts';
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
import type { EventOccurrenceFilter } from './input.ts';
import type { PropertyValue } from './property-values.ts';
import { READ_USAGE } from './policy.ts';
import {
  type EventOccurrenceRow,
  type OccurrenceKey,
  type OccurrenceList,
  countsOfOccurrences,
  findMonthlyCount,
  findOccurrences,
  pagesOfOccurrences,
} from './queries.ts';
import { searchEventOccurrencesInput } from './search-input.ts';
import { type FoundOccurrence, pageOfFoundOccurrences } from './search-queries.ts';
import { monthOf, nextMonth } from './send-queries.ts';

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
