import { type Caller, type Baseline, globalId, toIso } from './baseline-core.ts';

interface DefinitionRow {
  readonly id: string;
  readonly number: number;
  readonly name: string;
  readonly label: string;
  readonly properties: readonly Property[] | null;
  readonly [column: string]: unknown;
}

type Option = { readonly label: string; readonly value: string };

/** Number of default properties, which precede the custom ones. */
const DEFAULTS = 32;
/** The properties of a definition as JSON arrays: JSON.parse needs a third of the time that the driver needs for 40 rows. */
type Property = readonly [
  name: string,
  label: string,
  type: string,
  description: string | null,
  options: readonly Option[],
  position: number,
  createdAt: string,
  updatedAt: string,
];
const PROPERTIES = `(select json_agg(json_build_array(p.name, p.label, p.type, p.description, p.options, p.position, p.created_at, p.updated_at) order by p.position)
    from event_property p where p.definition_id = d.id) as properties`;
const DEFINITION = `d.id, d.number, d.name, d.label, d.description, d.primary_object as "primaryObject",
  d.include_default_properties as "includeDefaultProperties", d.created_at as "createdAt", d.updated_at as "updatedAt", ${PROPERTIES}`;
const OF_ORGANIZATION = `from event_definition d where d.organization_id = $1 and d.deleted_at is null`;
const ONE_DEFINITION = `select ${DEFINITION} ${OF_ORGANIZATION} and d.name = $2`;
const ONE_FOR_REST = `select d.custom_matching_id as "customMatchingId", ${DEFINITION} ${OF_ORGANIZATION} and d.name = $2`;
const DEFINITIONS = `select ${DEFINITION} ${OF_ORGANIZATION} order by d.name limit 51`;
const SEARCH = `select ${DEFINITION} ${OF_ORGANIZATION} and strpos(d.name, $2) > 0 order by d.name limit 21`;

const FIELD_TYPE_OF: Readonly<Record<string, string>> = {
  bool: 'radio',
  date: 'date',
  datetime: 'date',
  enumeration: 'select',
  number: 'number',
  string: 'text',
};
/** In upper case, as in GraphQL. */
const GRAPHQL_TYPE_OF = new Map(
  Object.entries(FIELD_TYPE_OF).map(([type, fieldType]) => [type, [type.toUpperCase(), fieldType.toUpperCase()]]),
);

const namesOf = ({ number, name }: DefinitionRow, caller: Caller) => ({
  fullyQualifiedName: `pe${caller.organizationNumber}_${name}`,
  objectTypeId: `6-${number}`,
});

function toGraphQL(row: DefinitionRow, caller: Caller): object {
  const { id, name, label, description, primaryObject, includeDefaultProperties, createdAt, updatedAt } = row;
  return {
    id: globalId('EventDefinition', id),
    databaseId: id,
    name,
    ...namesOf(row, caller),
    label,
    description,
    primaryObject,
    includeDefaultProperties,
    createdAt,
    updatedAt,
    properties: (row.properties ?? []).map(toGraphQLProperty),
  };
}

function toGraphQLProperty([name, label, kind, description, options, position, createdAt, updatedAt]: Property) {
  const [type, fieldType] = GRAPHQL_TYPE_OF.get(kind) ?? [];
  return {
    name,
    label,
    type,
    fieldType,
    description,
    options,
    displayOrder: position + DEFAULTS,
    isDefault: false,
    createdAt: toIso(createdAt),
    updatedAt: toIso(updatedAt),
  };
}

export async function graphqlDefinition(
  baseline: Baseline,
  caller: Caller,
  { name }: { name: string },
): Promise<object> {
  const [row] = await baseline.query<DefinitionRow>('definition', ONE_DEFINITION, [caller.organizationId, name]);
  return { eventDefinition: row ? toGraphQL(row, caller) : null };
}

export async function graphqlDefinitions(baseline: Baseline, caller: Caller): Promise<object> {
  return pageOf(await baseline.query<DefinitionRow>('definitions', DEFINITIONS, [caller.organizationId]), 50, caller);
}

export async function graphqlSearch(
  baseline: Baseline,
  caller: Caller,
  { search }: { search: string },
): Promise<object> {
  return pageOf(await baseline.query<DefinitionRow>('search', SEARCH, [caller.organizationId, search]), 20, caller);
}

function pageOf(rows: readonly DefinitionRow[], size: number, caller: Caller): object {
  const edges = rows.slice(0, size).map((row) => ({ node: toGraphQL(row, caller) }));
  return { viewer: { organization: { eventDefinitions: { edges, pageInfo: { hasNextPage: rows.length > size } } } } };
}

export async function restDefinition(
  baseline: Baseline,
  caller: Caller,
  eventName: string,
): Promise<object | undefined> {
  const [row] = await baseline.query<DefinitionRow & { customMatchingId: object | null }>(
    'restDefinition',
    ONE_FOR_REST,
    [caller.organizationId, eventName],
  );
  if (!row) return undefined;
  const { number: _, properties, customMatchingId, ...definition } = row;
  return {
    ...definition,
    ...(customMatchingId && { customMatchingId }),
    description: definition.description ?? '',
    ...namesOf(row, caller),
    labels: { singular: definition.label, plural: null },
    trackingType: 'MANUAL',
    archived: false,
    associations: [],
    properties: (properties ?? []).map(
      ([name, label, type, description, options, position, createdAt, updatedAt]: Property) => ({
        name,
        label,
        type,
        description: description ?? '',
        displayOrder: position + DEFAULTS,
        createdAt: toIso(createdAt),
        updatedAt: toIso(updatedAt),
        fieldType: FIELD_TYPE_OF[type],
        groupName: 'event_properties',
        options: options.map((option, displayOrder) => ({ ...option, displayOrder, hidden: false, description: '' })),
        isDefault: false,
        archived: false,
      }),
    ),
  };
}
