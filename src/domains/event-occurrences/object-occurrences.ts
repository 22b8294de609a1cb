import { type SqlBool, sql } from 'kysely';
import { requireOrganization } from '../../core/access.ts';
import type { LoadBatch } from '../../core/graphql/batches.ts';
import type { OrganizationId } from '../../core/ids.ts';
import type { OperationContext } from '../../core/operation.ts';
import { type Page, PagePlan, orderIn } from '../../core/postgres/reading/keyset.ts';
import { pagesByParent } from '../../core/postgres/reading/pages.ts';
import { anyOf, queriesOn } from '../../core/postgres/reading/queries.ts';
import { within } from '../../core/postgres/reading/reach.ts';
import { type EventDefinitionTables, definitionsOf, requireEventDefinitions } from '../event-definitions/public.ts';
import type { EventOccurrenceTables } from './entity.ts';
import type { EventOccurrenceFilter } from './input.ts';
import { type EventOccurrenceRow, ORDERINGS, type OccurrenceList, selectionOf, thatFit } from './queries.ts';

/** The occurrences of the objects of registered identifiers, of all events of their type. */

const db = queriesOn<EventOccurrenceTables & EventDefinitionTables>();

/** With the definitions, which are read once for all identifiers. */
const identifiers = (organizationId: OrganizationId, ids: readonly string[]) =>
  db
    .with(
      (cte) => cte('known').materialized(),
      () =>
        db
          .selectFrom('event_definition as d')
          .where(within(definitionsOf(organizationId), 'd'))
          .select(['d.id', 'd.primary_object']),
    )
    .selectFrom('object_identifier as i')
    .where('i.organization_id', '=', organizationId)
    .where('i.id', '=', anyOf('uuid', ids));

/** Of an identifier `i`. */
const DEFINITIONS = db
  .selectFrom(sql<{ id: string; primary_object: string }>`known`.as<'d'>(sql`d`))
  .whereRef('d.primary_object', '=', sql.ref<string>('i.object_type'));

/** Of an identifier `i` and a definition `d`. */
const occurrences = (organizationId: OrganizationId, filter: EventOccurrenceFilter) =>
  db
    .selectFrom('event_occurrence as o')
    .where('o.organization_id', '=', organizationId)
    .whereRef('o.definition_id', '=', sql.ref<string>('d.id'))
    .whereRef('o.object_id', '=', sql.ref<string>('i.object_id'))
    .where(thatFit(filter));

/** A page for each identifier, sorted by `occurredAt`. Reads at most one page of each event, from an index. */
export function listObjectOccurrences(
  { actor, sql: reader }: OperationContext,
  { filter, direction, page, columns: asked }: OccurrenceList,
): LoadBatch<string, Page<EventOccurrenceRow>> {
  requireEventDefinitions(actor);
  const organizationId = requireOrganization(actor).id;
  const plan = new PagePlan<EventOccurrenceRow>(ORDERINGS[direction], page);
  const ofOne = plan.apply(occurrences(organizationId, filter).select(['o.definition_id', 'o.occurred_at', 'o.id']));
  const keys = plan.apply(
    DEFINITIONS.crossJoinLateral(ofOne.as('o')).select(['o.definition_id', 'o.occurred_at', 'o.id']),
  );
  // With `offset 0` each is looked up, whatever number PostgreSQL expects.
  const row = db
    .selectFrom('event_occurrence as o')
    .where('o.organization_id', '=', organizationId)
    .where(sql<SqlBool>`(o.definition_id, o.occurred_at, o.id) = (k.definition_id, k.occurred_at, k.id)`)
    .select(selectionOf(asked))
    .offset(sql.lit(0));
  const read = (ids: readonly string[]) =>
    reader.page(
      identifiers(organizationId, ids)
        .crossJoinLateral(keys.as('k'))
        .crossJoinLateral(row.as('child'))
        .selectAll('child')
        .select('i.id as parentId')
        .orderBy('i.id')
        .orderBy(sql.join(orderIn('child', plan.ordering, plan.shape)))
        .$castTo<EventOccurrenceRow & { readonly parentId: string }>(),
    );
  return (ids) => pagesByParent(plan, ids, { read, parentOf: ({ parentId }) => parentId });
}

/** The number of them for each identifier. */
export function countObjectOccurrences(
  { actor, sql: reader }: OperationContext,
  filter: EventOccurrenceFilter,
): LoadBatch<string, number> {
  requireEventDefinitions(actor);
  const organizationId = requireOrganization(actor).id;
  const counted = DEFINITIONS.crossJoinLateral(occurrences(organizationId, filter).select('o.id').as('o')).select(
    ({ fn }) => fn.countAll<number>().as('count'),
  );
  return async (ids) => {
    const rows = await reader.all(identifiers(organizationId, ids).select(['i.id', counted.as('count')]));
    return new Map(rows.map(({ id, count }) => [id, count ?? 0]));
  };
}
