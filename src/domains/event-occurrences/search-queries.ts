import { type Expression, type SqlBool, expressionBuilder, sql } from 'kysely';
import type { EventDefinitionId, OrganizationId } from '../../core/ids.ts';
import { type Page, PagePlan, orderOf } from '../../core/postgres/reading/keyset.ts';
import { requireOrganization } from '../../core/access.ts';
import type { OperationContext } from '../../core/operation.ts';
import { type Readable, anyOf, queriesOn } from '../../core/postgres/reading/queries.ts';
import { within } from '../../core/postgres/reading/reach.ts';
import { type EventDefinitionTables, definitionsOf } from '../event-definitions/public.ts';
import type { EventOccurrenceTables } from './entity.ts';
import { ORDERINGS, hasPropertyValue } from './queries.ts';
import { MAX_FOUND, type SearchEventOccurrencesInput } from './search-input.ts';

/** The search over the occurrences of all definitions of an organization. */

const db = queriesOn<EventOccurrenceTables & EventDefinitionTables>();
type Tables = Readable<EventOccurrenceTables & EventDefinitionTables>;

export interface FoundOccurrence {
  readonly id: string;
  readonly occurredAt: string;
  readonly objectId: string | null;
  /** JSON text. */
  readonly properties: string;
  readonly eventName: string;
  readonly primaryObject: string;
}

export type OccurrenceSearch = Omit<SearchEventOccurrencesInput, 'eventType'> & {
  /** Searches this definition only; when undefined, all definitions of the organization. */
  readonly definitionId: EventDefinitionId | undefined;
};

const eb = expressionBuilder<Tables & { o: Tables['event_occurrence'] }, 'o'>();

/** PostgreSQL refuses NUL in a parameter. No stored text contains NUL, so the replacement finds nothing. */
const asText = (value: string): string => value.replaceAll('\0', ' ');

/** The conditions of a search, for `event_occurrence as o`. */
function conditions(organizationId: OrganizationId, search: OccurrenceSearch): Expression<SqlBool> {
  const { objectId, occurredAfter, occurredBefore, ids, propertyValues } = search;
  return eb.and([
    ...(objectId === undefined ? [] : [eb('o.object_id', '=', objectId)]),
    ...(occurredAfter === undefined ? [] : [eb('o.occurred_at', '>', occurredAfter)]),
    ...(occurredBefore === undefined ? [] : [eb('o.occurred_at', '<', occurredBefore)]),
    ...(ids === undefined ? [] : [hasId(ids)]),
    ...propertyValues.map(([name, value]) => hasPropertyValue(name, value)),
    ...objectConditions(organizationId, search),
  ]);
}

function hasId(ids: readonly string[]): Expression<SqlBool> {
  // A UUID is stored in lower case.
  const given = anyOf('text', [...ids, ...ids.map((id) => id.toLowerCase())]);
  return eb.or([eb(sql<string>`o.id::text`, '=', given), eb('o.uuid', '=', given)]);
}

/** Finds the record by registered values of its properties; a contact also by its e-mail address. */
const objectConditions = (
  organizationId: OrganizationId,
  { objectType, objectPropertyValues }: OccurrenceSearch,
): Expression<SqlBool>[] =>
  objectPropertyValues.map(([name, value]) => {
    const registered = db
      .selectFrom('object_identifier as i')
      .select('i.object_id')
      .where('i.organization_id', '=', organizationId)
      .where('i.object_type', '=', objectType ?? '')
      .where('i.property_name', '=', asText(name))
      .where('i.value', '=', asText(value));
    const isObject = eb('o.object_id', '=', registered);
    if (objectType !== 'CONTACT' || name !== 'email') return isObject;
    return eb.or([isObject, eb('o.email', '=', asText(value).toLowerCase())]);
  });

/** The cursor of an occurrence of a definition; undefined if there is none with this id. Reads the primary key of the definition's rows. */
export async function cursorOfOccurrence(
  { actor, sql: reader }: OperationContext,
  definitionId: EventDefinitionId,
  id: string,
): Promise<string | undefined> {
  const row = await reader.first(
    db
      .selectFrom('event_occurrence as o')
      .select(['o.id', 'o.occurred_at as occurredAt'])
      .where('o.definition_id', '=', definitionId)
      .where('o.organization_id', '=', requireOrganization(actor).id)
      .where('o.id', '=', id),
  );
  return row && ORDERINGS.ASC.cursorOf(row);
}

function planOf({ direction, page: { limit, after, before } }: OccurrenceSearch): PagePlan<FoundOccurrence> {
  const page = before === undefined ? { first: limit, after } : { last: limit, before };
  return new PagePlan<FoundOccurrence>(ORDERINGS[direction], page, MAX_FOUND);
}

/** The keys of the rows of a page. Reads at most one page of each definition, from an index. */
function keysOf(plan: PagePlan<FoundOccurrence>, organizationId: OrganizationId, search: OccurrenceSearch) {
  const { definitionId, objectType } = search;
  return plan.apply(
    db
      .selectFrom('event_definition as d')
      .crossJoinLateral((definition) =>
        plan
          .apply(
            definition
              .selectFrom('event_occurrence as o')
              .select(['o.definition_id', 'o.occurred_at', 'o.id'])
              .whereRef('o.definition_id', '=', 'd.id')
              .where('o.organization_id', '=', organizationId)
              .where(conditions(organizationId, search)),
          )
          .as('o'),
      )
      .select(['o.definition_id', 'o.occurred_at', 'o.id', 'd.name', 'd.primary_object'])
      .where(within(definitionsOf(organizationId), 'd'))
      .$if(definitionId !== undefined, (query) => query.where('d.id', '=', definitionId ?? ''))
      .$if(objectType !== undefined, (query) => query.where('d.primary_object', '=', objectType ?? '')),
  );
}

/** A page of the occurrences. Finds the keys first, so that only the rows of the page are read completely. */
export async function pageOfFoundOccurrences(
  { actor, sql: reader }: OperationContext,
  search: OccurrenceSearch,
): Promise<Page<FoundOccurrence>> {
  const plan = planOf(search);
  const rows = await reader.page(
    db
      .selectFrom(keysOf(plan, requireOrganization(actor).id, search).as('k'))
      .innerJoin('event_occurrence as o', (join) =>
        join
          .onRef('o.definition_id', '=', 'k.definition_id')
          .onRef('o.occurred_at', '=', 'k.occurred_at')
          .onRef('o.id', '=', 'k.id'),
      )
      .where('o.organization_id', '=', requireOrganization(actor).id)
      .select(['o.id', 'o.occurred_at as occurredAt', 'o.object_id as objectId'])
      .select(['k.name as eventName', 'k.primary_object as primaryObject'])
      .select(sql<string>`o.properties::text`.as('properties'))
      .orderBy(sql.join(orderOf(plan.ordering, plan.shape))),
  );
  return plan.toPage(rows);
}
