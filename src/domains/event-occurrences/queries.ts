import { type Expression, type SqlBool, expressionBuilder, sql } from 'kysely';
import type { EventDefinitionId } from '../../core/ids.ts';
import type { LoadBatch } from '../../core/graphql/batches.ts';
import { type Page, type PageArguments, PagePlan, orderIn, orderingsBy } from '../../core/postgres/reading/keyset.ts';
import { requireOrganization } from '../../core/access.ts';
import type { OperationContext } from '../../core/operation.ts';
import { pagesByParent } from '../../core/postgres/reading/pages.ts';
import { type Readable, type RowOf, anyOf, columns, listOf, queriesOn } from '../../core/postgres/reading/queries.ts';
import { within } from '../../core/postgres/reading/reach.ts';
import { type Columns, withColumns } from '../../core/postgres/reading/columns.ts';
import { type EventDefinitionTables, definitionsOf, propertyMeantBy } from '../event-definitions/public.ts';
import { EVENT_OCCURRENCE_COLUMNS, type EventOccurrenceTables } from './entity.ts';
import type { EventOccurrenceFilter } from './input.ts';

/** Every statement joins the definition, so that occurrences of a deleted definition or of another organization are never found. */

const db = queriesOn<EventOccurrenceTables & EventDefinitionTables>();
type Tables = Readable<EventOccurrenceTables & EventDefinitionTables>;
type StoredOccurrence = RowOf<Tables['event_occurrence']>;

/** A row has the selected columns only; without a selection it has all columns. `properties` is JSON text. */
export type EventOccurrenceRow = Omit<StoredOccurrence, 'organizationId' | 'properties'> & {
  readonly properties: string;
};

/** The primary key of an occurrence. */
export type OccurrenceKey = Pick<EventOccurrenceRow, 'definitionId' | 'occurredAt' | 'id'>;

const COLUMNS = EVENT_OCCURRENCE_COLUMNS.filter((name) => name !== 'organizationId');

export function selectionOf(asked: Columns<EventOccurrenceRow>) {
  const names = withColumns<EventOccurrenceRow>(asked, COLUMNS, 'id', 'definitionId', 'occurredAt');
  const plain = columns(
    'o',
    names.filter((name) => name !== 'properties'),
  );
  // The stored JSON text is sent to the client without parsing it.
  return names.includes('properties') ? [...plain, sql<string>`o.properties::text`.as('properties')] : plain;
}

const occurrence = expressionBuilder<Tables & { o: Tables['event_occurrence'] }, 'o'>();

/** Whether an occurrence has this value as text. PostgreSQL refuses NUL in a parameter. No stored text contains NUL, so the replacement finds nothing. */
export function hasPropertyValue(name: string, value: string): Expression<SqlBool> {
  const [key, wanted] = [name, value].map((each) => each.replaceAll('\0', ' '));
  return sql<SqlBool>`o.properties ->> ${key} = ${wanted}`;
}

/** The conditions of a filter, for `event_occurrence as o`. */
export const thatFit = ({
  objectId,
  email,
  properties,
  unmatchedReasons,
  occurredFrom,
  occurredBefore,
}: EventOccurrenceFilter): Expression<SqlBool> =>
  occurrence.and([
    ...(objectId == null ? [] : [occurrence('o.object_id', '=', objectId)]),
    ...(email == null ? [] : [occurrence('o.email', '=', email.replaceAll('\0', ' '))]),
    ...(properties ?? []).map(({ name, value }) => hasPropertyValue(propertyMeantBy(name), value)),
    ...(unmatchedReasons == null ? [] : [occurrence('o.unmatched_reason', '=', anyOf('text', unmatchedReasons))]),
    ...(occurredFrom == null ? [] : [occurrence('o.occurred_at', '>=', occurredFrom)]),
    ...(occurredBefore == null ? [] : [occurrence('o.occurred_at', '<', occurredBefore)]),
  ]);

/** The order of occurrences, in each direction. */
export const ORDERINGS = orderingsBy<Pick<EventOccurrenceRow, 'occurredAt' | 'id'>>({
  name: (direction) => `EVENT_OCCURRENCE_${direction}`,
  keys: [
    { property: 'occurredAt', sql: 'o.occurred_at', type: 'timestamptz' },
    { property: 'id', sql: 'o.id', type: 'uuid' },
  ],
});

export interface OccurrenceList {
  readonly filter: EventOccurrenceFilter;
  readonly direction: 'ASC' | 'DESC';
  readonly page: PageArguments;
  readonly columns?: Columns<EventOccurrenceRow>;
}

/** A page of the occurrences of each definition, sorted by `occurredAt`. */
export function pagesOfOccurrences(
  { actor, sql: reader }: OperationContext,
  { filter, direction, page, columns: asked }: OccurrenceList,
): LoadBatch<EventDefinitionId, Page<EventOccurrenceRow>> {
  const organizationId = requireOrganization(actor).id;
  const plan = new PagePlan<EventOccurrenceRow>(ORDERINGS[direction], page);
  const occurrences = plan.apply(
    db
      .selectFrom('event_occurrence as o')
      .select(selectionOf(asked))
      .whereRef('o.definition_id', '=', sql.ref<string>('parent.id'))
      .where('o.organization_id', '=', organizationId)
      .where(thatFit(filter)),
  );
  const read = (ids: readonly EventDefinitionId[]) =>
    reader.page(
      db
        .selectFrom(
          db
            .selectFrom('event_definition as d')
            .select('d.id')
            .where('d.id', '=', anyOf('uuid', ids))
            .where(within(definitionsOf(organizationId), 'd'))
            .as('parent'),
        )
        .crossJoinLateral(sql<EventOccurrenceRow>`${occurrences}`.as<'child'>(sql`child`))
        .selectAll('child')
        .orderBy('parent.id')
        .orderBy(sql.join(orderIn('child', plan.ordering, plan.shape)))
        .$castTo<EventOccurrenceRow>(),
    );
  return (definitionIds) => pagesByParent(plan, definitionIds, { read, parentOf: ({ definitionId }) => definitionId });
}

/** The number of occurrences of each definition. */
export function countsOfOccurrences(
  { actor, sql: reader }: OperationContext,
  filter: EventOccurrenceFilter,
): LoadBatch<EventDefinitionId, number> {
  const reach = definitionsOf(requireOrganization(actor).id);
  return async (definitionIds) => {
    const rows = await reader.all(
      db
        .selectFrom('event_definition as d')
        .select('d.id')
        .select((definition) =>
          definition
            .selectFrom('event_occurrence as o')
            .select(({ fn }) => fn.countAll<number>().as('count'))
            .whereRef('o.definition_id', '=', 'd.id')
            .where('o.organization_id', '=', requireOrganization(actor).id)
            .where(thatFit(filter))
            .as('count'),
        )
        .where('d.id', '=', anyOf('uuid', definitionIds))
        .where(within(reach, 'd')),
    );
    return new Map(rows.map(({ id, count }) => [id, count ?? 0]));
  };
}

/** The occurrences with these keys, in any order. */
export async function findOccurrences(
  { actor, sql: reader }: OperationContext,
  keys: readonly OccurrenceKey[],
  asked?: Columns<EventOccurrenceRow>,
): Promise<EventOccurrenceRow[]> {
  const definitionIds = listOf(
    'uuid',
    keys.map(({ definitionId }) => definitionId),
  );
  const moments = listOf(
    'timestamptz',
    keys.map(({ occurredAt }) => occurredAt),
  );
  const ids = listOf(
    'uuid',
    keys.map(({ id }) => id),
  );
  return reader.all(
    db
      .selectFrom(
        sql<{
          definition_id: string;
          occurred_at: string;
          id: string;
        }>`unnest(${definitionIds}, ${moments}, ${ids})`.as<'k'>(sql`k(definition_id, occurred_at, id)`),
      )
      .innerJoin('event_occurrence as o', (join) =>
        join
          .onRef('o.definition_id', '=', 'k.definition_id')
          .onRef('o.occurred_at', '=', 'k.occurred_at')
          .onRef('o.id', '=', 'k.id'),
      )
      .innerJoin('event_definition as d', (join) =>
        join.onRef('d.id', '=', 'o.definition_id').onRef('d.organization_id', '=', 'o.organization_id'),
      )
      .select(selectionOf(asked))
      .where(within(definitionsOf(requireOrganization(actor).id), 'd')),
  );
}

/** How many occurrences the acting organization has sent in a month. */
export async function findMonthlyCount({ actor, sql: reader }: OperationContext, month: string): Promise<number> {
  const row = await reader.first(
    db
      .selectFrom('monthly_occurrence_count as m')
      .select('m.count')
      .where('m.organization_id', '=', requireOrganization(actor).id)
      .where('m.month', '=', month),
  );
  return row?.count ?? 0;
}
