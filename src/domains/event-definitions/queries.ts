import { type SelectQueryBuilder, sql } from 'kysely';
import type { EventDefinitionId, OrganizationId } from '../../core/ids.ts';
import { counted, readCount } from '../../core/postgres/reading/counts.ts';
import {
  type Order,
  type Page,
  type PageArguments,
  type PageShape,
  type PageValues,
  orderingBy,
  paged,
  planPage,
} from '../../core/postgres/reading/keyset.ts';
import { type ActingOrganization, requireOrganization } from '../../core/access.ts';
import type { OperationContext } from '../../core/operation.ts';
import {
  type Readable,
  type RowOf,
  type ValueOf,
  anyOf,
  columns,
  contains,
  preparedByShape,
  queriesOn,
} from '../../core/postgres/reading/queries.ts';
import { within } from '../../core/postgres/reading/reach.ts';
import { type Columns, withColumns } from '../../core/postgres/reading/columns.ts';
import {
  EVENT_DEFINITION_COLUMNS,
  type EventDefinition,
  type EventDefinitionTables,
  PRIMARY_OBJECTS,
} from './entity.ts';
import { CUSTOM_OBJECT, type EventDefinitionFilter } from './input.ts';
import { definitionsOf } from './policy.ts';
import { type EventPropertyRow, packedProperties } from './property-queries.ts';
import type { DefinitionReference } from './definition-reference.ts';

const db = queriesOn<EventDefinitionTables>();
type Tables = Readable<EventDefinitionTables>;

/** A row has the selected columns only; without a selection it has all columns. */
export type EventDefinitionRow = Omit<RowOf<Tables['event_definition']>, 'organizationId' | 'deletedAt'>;

const DEFINITION_COLUMNS = EVENT_DEFINITION_COLUMNS.filter((name) => name !== 'organizationId' && name !== 'deletedAt');
export const definitionColumns = (asked: Columns<EventDefinitionRow>, ...always: (keyof EventDefinitionRow)[]) =>
  withColumns<EventDefinitionRow>(asked, DEFINITION_COLUMNS, 'id', ...always);

interface Meant {
  readonly organizationId: OrganizationId;
  readonly names: readonly string[];
  readonly firstName: string | undefined;
  readonly id: string | null;
}

interface MeantShape {
  readonly isName: boolean;
  readonly selected: readonly (keyof EventDefinitionRow)[];
}

/** Finds the definition by a reference. Most references can only be names (`isName`), and then one index is sufficient. */
function definitionMeant(value: ValueOf<Meant>, { isName, selected }: MeantShape) {
  const query = db
    .selectFrom('event_definition as d')
    .select(columns('d', selected))
    .where(within(definitionsOf(value('organizationId')), 'd'));
  const firstName = sql<string>`${value('firstName')}`;
  if (isName) return query.where('d.name', '=', firstName);
  // The name of a deleted definition must not find another definition by its fully qualified name (see lockDefinition).
  const deleted = db
    .selectFrom('event_definition as b')
    .select('b.id')
    .where('b.organization_id', '=', value('organizationId'))
    .where('b.name', '=', firstName)
    .where('b.deleted_at', 'is not', null);
  return query
    .where((eb) =>
      eb.or([eb('d.name', '=', anyOf('text', value('names'))), eb('d.id', '=', sql<string>`${value('id')}`)]),
    )
    .where((eb) => eb.not(eb.exists(deleted)))
    .orderBy((eb) => eb('d.name', '=', firstName), 'desc')
    .limit(1);
}

const definitionsByReference = preparedByShape<Meant, MeantShape>()(definitionMeant);

/** By name, fully qualified name or id. A name that looks like a fully qualified one is first taken literally. */
export async function findDefinition(
  { actor, sql: reader }: OperationContext,
  { names, id }: DefinitionReference,
  asked?: Columns<EventDefinitionRow>,
): Promise<EventDefinitionRow | undefined> {
  const selected = definitionColumns(asked);
  const isName = names.length === 1 && id === null;
  const meant = { organizationId: requireOrganization(actor).id, names, firstName: names[0], id };
  return reader.first(definitionsByReference({ isName, selected }, meant));
}

export type EventDefinitionWithProperties = EventDefinitionRow & {
  readonly customProperties: readonly EventPropertyRow[];
};

const definitionsWithProperties = preparedByShape<
  Meant,
  MeantShape & { readonly propertyNames: readonly (keyof EventPropertyRow)[] }
>()((value, { propertyNames, ...shape }) =>
  db
    .selectFrom(definitionMeant(value, shape).as('d'))
    .selectAll('d')
    .select((eb) =>
      eb
        .selectFrom('event_property as p')
        .select(packedProperties(propertyNames).packed.as('packed'))
        .whereRef('p.definition_id', '=', 'd.id')
        .where('p.organization_id', '=', value('organizationId'))
        .as('packed'),
    ),
);

/** Finds the definition with its custom properties in one statement, which is cheaper than two. */
export async function findDefinitionWithProperties(
  { actor, sql: reader }: OperationContext,
  { names, id }: DefinitionReference,
  { asked, askedOfProperties }: { asked?: Columns<EventDefinitionRow>; askedOfProperties?: Columns<EventPropertyRow> },
): Promise<EventDefinitionWithProperties | undefined> {
  const selected = definitionColumns(asked);
  const properties = packedProperties(askedOfProperties);
  const isName = names.length === 1 && id === null;
  const meant = { organizationId: requireOrganization(actor).id, names, firstName: names[0], id };
  const row = await reader.first(
    definitionsWithProperties({ isName, selected, propertyNames: properties.names }, meant),
  );
  if (!row) return undefined;
  const { packed, ...definition } = row;
  return { ...definition, customProperties: properties.unpack(packed) };
}

/** The custom properties that were read together with a definition. */
export function propertiesWith(
  definition: EventDefinitionRow & Partial<EventDefinitionWithProperties>,
): readonly EventPropertyRow[] | undefined {
  return definition.customProperties;
}

const definitionsById = preparedByShape<
  { readonly organizationId: OrganizationId; readonly ids: readonly EventDefinitionId[] },
  { readonly names: readonly (keyof EventDefinitionRow)[] }
>()((value, { names }) =>
  db
    .selectFrom('event_definition as d')
    .select(columns('d', names))
    .where('d.id', '=', anyOf('uuid', value('ids')))
    .where(within(definitionsOf(value('organizationId')), 'd')),
);

/** The definitions with these ids that belong to the organization, in any order. */
export async function findDefinitions(
  { actor, sql: reader }: OperationContext,
  ids: readonly EventDefinitionId[],
  asked?: Columns<EventDefinitionRow>,
): Promise<EventDefinitionRow[]> {
  const names = definitionColumns(asked);
  return reader.all(definitionsById({ names }, { organizationId: requireOrganization(actor).id, ids }));
}

export type EventDefinitionOrderField = 'NAME' | 'CREATED_AT' | 'UPDATED_AT';

/** The property and the column type that each order sorts by. */
const ORDERED_BY = {
  NAME: { property: 'name', type: 'text' },
  CREATED_AT: { property: 'createdAt', type: 'timestamptz' },
  UPDATED_AT: { property: 'updatedAt', type: 'timestamptz' },
} as const satisfies Record<EventDefinitionOrderField, { property: keyof EventDefinitionRow; type: string }>;

export interface EventDefinitionList {
  readonly filter: EventDefinitionFilter;
  readonly order: Order<EventDefinitionOrderField>;
  readonly page: PageArguments;
  readonly maxPageSize?: number;
  readonly columns?: Columns<EventDefinitionRow>;
}

/** The parameters of a list query. */
interface Listed {
  readonly organizationId: OrganizationId;
  readonly search: string | undefined;
  readonly label: string | undefined;
  readonly text: string | undefined;
  readonly primaryObjects: readonly string[];
  readonly createdFrom: string | null | undefined;
  readonly createdBefore: string | null | undefined;
}

/** Which conditions a list has, without their values. Queries with the same shape share a prepared statement. */
function shapeOf({
  search,
  label,
  text,
  primaryObjects,
  customObjectNames,
  hasCustomMatchingId,
  ...times
}: EventDefinitionFilter) {
  return {
    hasSearch: Boolean(search),
    hasLabel: Boolean(label),
    hasText: Boolean(text),
    hasPrimaryObjects: primaryObjects != null || customObjectNames != null,
    // CUSTOM_OBJECT without names means any custom object.
    hasAnyCustomObject: customObjectNames == null && (primaryObjects ?? []).includes(CUSTOM_OBJECT),
    hasCustomMatchingId,
    hasFrom: times.createdFrom != null,
    hasBefore: times.createdBefore != null,
  };
}

type ListShape = ReturnType<typeof shapeOf>;

function listedOf(
  organizationId: OrganizationId,
  { search, label, text, primaryObjects, customObjectNames, createdFrom, createdBefore }: EventDefinitionFilter,
): Listed {
  return {
    organizationId,
    // Names are lower-case, so the search ignores case.
    search: search?.replaceAll('\0', ' ').toLowerCase(),
    label: label ?? undefined,
    text: text ?? undefined,
    primaryObjects: [...(primaryObjects ?? []), ...(customObjectNames ?? [])],
    createdFrom,
    createdBefore,
  };
}

const isCustomObject = sql<boolean>`d.primary_object <> all(${sql.lit(`{${PRIMARY_OBJECTS.join()}}`)}::text[])`;

function definitionsThat<Row>(
  query: SelectQueryBuilder<Tables & { d: Tables['event_definition'] }, 'd', Row>,
  value: ValueOf<Listed>,
  { hasSearch, hasLabel, hasText, hasPrimaryObjects, hasAnyCustomObject, hasCustomMatchingId, ...times }: ListShape,
): typeof query {
  let found = query.where(within(definitionsOf(value('organizationId')), 'd'));
  // strpos has no wildcards, unlike LIKE.
  if (hasSearch) found = found.where(sql<number>`strpos(d.name, ${value('search')})`, '>', 0);
  if (hasLabel) found = found.where(contains(sql`d.label`, value('label')));
  if (hasText)
    found = found.where((eb) => eb.or([contains(sql`d.label`, value('text')), contains(sql`d.name`, value('text'))]));
  if (hasPrimaryObjects)
    found = found.where((eb) =>
      eb.or([
        eb('d.primary_object', '=', anyOf('text', value('primaryObjects'))),
        ...(hasAnyCustomObject ? [isCustomObject] : []),
      ]),
    );
  if (hasCustomMatchingId != null)
    found = found.where('d.custom_matching_id', hasCustomMatchingId ? 'is not' : 'is', null);
  if (times.hasFrom) found = found.where(sql<boolean>`d.created_at >= ${value('createdFrom')}`);
  if (times.hasBefore) found = found.where(sql<boolean>`d.created_at < ${value('createdBefore')}`);
  return found;
}

const definitionPages = preparedByShape<
  Listed & PageValues,
  ListShape & { readonly names: readonly (keyof EventDefinitionRow)[]; readonly page: PageShape }
>()((value, { names, page, ...shape }) => {
  const query = db.selectFrom('event_definition as d').select(columns('d', names));
  return paged(definitionsThat(query, value, shape), page, value);
});

/** A page of the definitions of the acting organization. */
export async function pageOfDefinitions(
  { actor, sql: reader }: OperationContext,
  { filter, order, page, maxPageSize, columns: asked }: EventDefinitionList,
): Promise<Page<EventDefinitionRow>> {
  const sorted = { name: `EVENT_DEFINITION_${order.direction}`, prefix: 'd.', columns: ORDERED_BY };
  const ordering = orderingBy<EventDefinitionRow, EventDefinitionOrderField>(sorted, order);
  const plan = planPage(ordering, page, maxPageSize);
  const shape = { ...shapeOf(filter), names: definitionColumns(asked, ordering.property), page: plan.shape };
  const listed = listedOf(requireOrganization(actor).id, filter);
  return plan.toPage(await reader.page(definitionPages(shape, { ...listed, ...plan.values })));
}

const definitionCounts = preparedByShape<Listed, ListShape>()((value, shape) =>
  counted(definitionsThat(db.selectFrom('event_definition as d'), value, shape)),
);

export async function countDefinitions(
  { actor, sql: reader }: OperationContext,
  filter: EventDefinitionFilter,
): Promise<number> {
  const listed = listedOf(requireOrganization(actor).id, filter);
  return readCount(reader, definitionCounts(shapeOf(filter), listed));
}

export function namesOfDefinitions(organization: ActingOrganization) {
  return db
    .selectFrom('event_definition as d')
    .select('d.name')
    .where(within(definitionsOf(organization.id), 'd'))
    .orderBy('d.name');
}

/** Names that start like `base`, also of deleted definitions. A number replaces at most the last ten characters of a long name. */
export function namesLike(organization: ActingOrganization, base: string) {
  return db
    .selectFrom('event_definition as d')
    .select(['d.name', 'd.deleted_at as deletedAt'])
    .where('d.organization_id', '=', organization.id)
    .where((eb) => eb.fn<boolean>('starts_with', ['d.name', eb.val(base.slice(0, 40))]));
}

/** The row of a definition that was just written. */
export function definitionRow(definition: EventDefinition): EventDefinitionRow {
  const { id, number, name, label, description, primaryObject, customMatchingId } = definition;
  return {
    id,
    number,
    name,
    label,
    description: description ?? null,
    primaryObject,
    customMatchingId: customMatchingId ?? null,
    includeDefaultProperties: definition.includeDefaultProperties,
    createdAt: definition.createdAt.toISOString(),
    updatedAt: definition.updatedAt.toISOString(),
  };
}
