import { requireOrganization } from '../../core/access.ts';
import { NotFoundError, invalid } from '../../core/errors.ts';
import { pagesOf, pagesWithRights } from '../../core/exported-pages.ts';
import { type OperationContext, defineOperation } from '../../core/operation.ts';
import type { PageArguments } from '../../core/postgres/reading/keyset.ts';
import { WORK } from '../../core/work-budget.ts';
import { EVENT_DEFINITIONS, requireEventDefinition } from '../event-definitions/public.ts';
import { type SearchedOccurrence, searchedOccurrence } from './read-operations.ts';
import { exportEventOccurrencesInput } from './search-input.ts';
import { type OccurrenceSearch, cursorOfOccurrence, pageOfFoundOccurrences } from './search-queries.ts';

export const exportEventOccurrences = defineOperation({
  name: 'exportEventOccurrences',
  description:
    'Exports the occurrences of an event as a file with one on each line, earliest first. To continue a file that was cut, send the id of its last whole line as `after`, and the same times.',
  access: EVENT_DEFINITIONS,
  input: exportEventOccurrencesInput,
  errors: [NotFoundError],
  run: async (context, { name, after, ...times }) => {
    const { id: definitionId } = await requireEventDefinition(context, name, ['id']);
    const cursor = after === undefined ? undefined : await cursorOfOccurrence(context, definitionId, after);
    if (after !== undefined && cursor === undefined)
      throw invalid('after', 'is not the id of an occurrence of this event; continue with `occurredAfter` instead');
    return { definitionId, batches: exported(context, { ...ALL, ...times, definitionId }, cursor) };
  },
});

type Search = Omit<OccurrenceSearch, 'page'>;
const ALL = {
  occurredAfter: undefined,
  occurredBefore: undefined,
  objectType: undefined,
  objectId: undefined,
  ids: undefined,
  properties: undefined,
  propertyValues: [],
  objectPropertyValues: [],
  direction: 'ASC',
} as const;

async function* exported(
  context: OperationContext,
  search: Search,
  cursor: string | undefined,
): AsyncGenerator<readonly SearchedOccurrence[], void, undefined> {
  const organization = requireOrganization(context.actor);
  const read = async (current: OperationContext, { after }: PageArguments) => {
    const page = { limit: WORK.exportedRows, after: after ?? undefined, before: undefined };
    const found = await pageOfFoundOccurrences(current, { ...search, page });
    // A deleted definition has no occurrences. The file must not look complete then.
    if (!found.hasNextPage) await requireEventDefinition(current, search.definitionId ?? '', ['id']);
    return found;
  };
  for await (const rows of pagesOf(pagesWithRights(context, EVENT_DEFINITIONS), read, cursor))
    yield rows.map((row) => searchedOccurrence(row, organization));
}
