import { sql } from 'kysely';
import type { EventDefinitionId, OrganizationId } from '../../core/ids.ts';
import type { LoadBatch } from '../../core/graphql/batches.ts';
import { defineList } from '../../core/postgres/reading/lists.ts';
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
import type { OrganizationTables } from '../organizations/public.ts';
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

/** The possible meanings of `eventName`: a name, a fully qualified name, or an id. */
interface DefinitionReference {
  readonly names: readonly string[];
  readonly id: string | null;
}

const UUID = /^[0-9a-f]{8}-(?:[0-9a-f]{4}-){3}[0-9a-f]{12}$/i;

/** `names` contains the text itself and then the name within a fully qualified name (`pe<organization number>_<name>`). */
export function referenceTo(eventName: string, organizationNumber: number): DefinitionReference {
  const prefix = `pe${organizationNumber}_`;
  const possible = eventName.startsWith(prefix) ? [eventName, eventName.slice(prefix.length)] : [eventName];
  return { names: possible.filter((name) => !name.includes('\0')), id: UUID.test(eventName) ? eventName : null };
}

const db = queriesOn<EventDefinitionTables>();
type Tables = Readable<EventDefinitionTables>;

/** A row has the selected columns only; without a selection it has all columns. */
export type EventDefinitionRow = Omit<RowOf<Tables['event_definition']>, 'organizationId' | 'creatorId' | 'deletedAt'>;

const HIDDEN: ReadonlySet<string> = new Set(['organizationId', 'creatorId', 'deletedAt']);
const DEFINITION_COLUMNS = EVENT_DEFINITION_COLUMNS.filter(
  (name): name is keyof EventDefinitionRow => !HIDDEN.has(name),
);
const definitionColumns = (asked: Columns<EventDefinitionRow>, ...always: (keyof EventDefinitionRow)[]) =>
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

/** Whether the caller can delete each of the definitions, as their organization lets all members or creators alone. */
export const deletableOf =
  ({ actor, sql: reader }: Pick<OperationContext, 'actor' | 'sql'>): LoadBatch<EventDefinitionId, boolean> =>
  async (ids) => {
    if (requireOrganization(actor).role === 'admin') return new Map(ids.map((id) => [id, true]));
    const rows = await reader.all(
      withOrganization
        .selectFrom('event_definition as d')
        .innerJoin('organization as o', 'o.id', 'd.organization_id')
        .select('d.id')
        .where((eb) => eb.or([eb('o.definition_deletion', '=', 'members'), eb('d.creator_id', '=', actor.userId)]))
        .where('d.organization_id', '=', requireOrganization(actor).id)
        .where('d.id', '=', anyOf('uuid', ids)),
    );
    return new Map(rows.map(({ id }) => [id, true]));
  };
const withOrganization = queriesOn<EventDefinitionTables & OrganizationTables>();

/** The custom properties that were read together with a definition. */
export const propertiesWith = (
  definition: EventDefinitionRow & Partial<EventDefinitionWithProperties>,
): readonly EventPropertyRow[] | undefined => definition.customProperties;

export type EventDefinitionOrderField = 'NAME' | 'CREATED_AT' | 'UPDATED_AT';

const isCustomObject = sql`d.primary_object <> all(${sql.lit(`{${PRIMARY_OBJECTS.join()}}`)}::text[])`;

/** The conditions of a list: those of the filter, and its two lists of objects as one. */
type Conditions = Omit<EventDefinitionFilter, 'primaryObjects' | 'customObjectNames'> & {
  readonly objects?: readonly string[];
  readonly objectsOrAnyCustom?: readonly string[];
};

/** The definitions of the acting organization. */
export const DEFINITIONS = defineList<EventDefinitionRow, Conditions, EventDefinitionOrderField>()(
  db.selectFrom('event_definition as d'),
  {
    name: ({ field, direction }) => `EVENT_DEFINITION_${direction}_${field}`,
    alias: 'd',
    columns: DEFINITION_COLUMNS,
    reach: ({ actor }) => definitionsOf(requireOrganization(actor).id),
    filter: ({ oneOf, containing, between }) => ({
      // strpos has no wildcards, unlike LIKE.
      search: (search) => sql`strpos(d.name, ${search}) > 0`,
      label: containing('label'),
      text: (text) => sql`(${contains(sql`d.label`, text)} or ${contains(sql`d.name`, text)})`,
      objects: oneOf('primaryObject'),
      objectsOrAnyCustom: (objects) => sql`(d.primary_object = any(${objects}::text[]) or ${isCustomObject})`,
      hasCustomMatchingId: {
        inText: (has) => (has ? sql`d.custom_matching_id is not null` : sql`d.custom_matching_id is null`),
      },
      ...between('created', 'createdAt'),
    }),
    orders: {
      NAME: { name: 'text' },
      CREATED_AT: { createdAt: 'timestamptz' },
      UPDATED_AT: { updatedAt: 'timestamptz' },
    },
  },
);

export function conditionsOf({
  search,
  primaryObjects,
  customObjectNames,
  ...conditions
}: EventDefinitionFilter): Conditions {
  const objects = [...(primaryObjects ?? []), ...(customObjectNames ?? [])];
  // CUSTOM_OBJECT without names means any custom object.
  const isAnyCustom = customObjectNames == null && objects.includes(CUSTOM_OBJECT);
  const isGiven = primaryObjects != null || customObjectNames != null;
  return {
    ...conditions,
    // Names are lower-case, so the search ignores case.
    search: search?.replaceAll('\0', ' ').toLowerCase(),
    ...(isGiven && (isAnyCustom ? { objectsOrAnyCustom: objects } : { objects })),
  };
}

export const namesOfDefinitions = (organization: ActingOrganization) =>
  db
    .selectFrom('event_definition as d')
    .select('d.name')
    .where(within(definitionsOf(organization.id), 'd'))
    .orderBy('d.name');

/** Names that start like `base`, also of deleted definitions. A number replaces at most the last ten characters of a long name. */
export const namesLike = (organization: ActingOrganization, base: string) =>
  db
    .selectFrom('event_definition as d')
    .select(['d.name', 'd.deleted_at as deletedAt'])
    .where('d.organization_id', '=', organization.id)
    .where((eb) => eb.fn<boolean>('starts_with', ['d.name', eb.val(base.slice(0, 40))]));

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

/** The definitions with these ids and their custom properties, read by one statement, in any order. */
export async function findDefinitionsWithProperties(
  { actor, sql: reader }: OperationContext,
  ids: readonly EventDefinitionId[],
  { asked, askedOfProperties }: { asked: Columns<EventDefinitionRow>; askedOfProperties: Columns<EventPropertyRow> },
): Promise<EventDefinitionWithProperties[]> {
  const properties = packedProperties(askedOfProperties);
  const rows = await reader.all(
    db
      .selectFrom('event_definition as d')
      .select(columns('d', definitionColumns(asked)))
      .select((eb) =>
        eb
          .selectFrom('event_property as p')
          .select(properties.packed.as('packed'))
          .whereRef('p.definition_id', '=', 'd.id')
          .where('p.organization_id', '=', requireOrganization(actor).id)
          .as('packed'),
      )
      .where('d.id', '=', anyOf('uuid', ids))
      .where(within(definitionsOf(requireOrganization(actor).id), 'd')),
  );
  return rows.map(({ packed, ...definition }) => ({ ...definition, customProperties: properties.unpack(packed) }));
}
