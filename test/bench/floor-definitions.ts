import { type Caller, type Floor, globalId, groupBy } from './floor-core.ts';

interface DefinitionRow {
  readonly id: string;
  readonly number: number;
  readonly name: string;
  readonly label: string;
  readonly [column: string]: unknown;
}

interface PropertyRow {
  readonly definitionId: string;
  readonly type: string;
  readonly options: readonly { readonly label: string; readonly value: string }[];
  readonly displayOrder: number;
  readonly [column: string]: unknown;
}

const DEFINITION = `d.id, d.number, d.name, d.label, d.description, d.primary_object as "primaryObject", d.custom_matching_id as "customMatchingId",
  d.include_default_properties as "includeDefaultProperties", d.created_at as "createdAt", d.updated_at as "updatedAt"`;
const ONE_DEFINITION = `select ${DEFINITION} from event_definition d where d.organization_id = $1 and d.name = $2 and d.deleted_at is null`;
const DEFINITIONS = `select ${DEFINITION} from event_definition d where d.organization_id = $1 and d.deleted_at is null order by d.name limit 51`;
/** Custom properties stand behind this many default ones. */
const DEFAULTS = 32;
const PROPERTIES = `select p.definition_id as "definitionId", p.name, p.label, p.type, p.description, p.options, p.position + ${DEFAULTS} as "displayOrder",
    p.created_at as "createdAt", p.updated_at as "updatedAt"
  from event_property p where p.definition_id = any($1) order by p.definition_id, p.position`;

const FIELD_TYPE_OF: Readonly<Record<string, string>> = {
  bool: 'radio',
  date: 'date',
  datetime: 'date',
  enumeration: 'select',
  number: 'number',
  string: 'text',
};

interface WholeDefinition {
  readonly definition: DefinitionRow;
  readonly properties: readonly PropertyRow[];
}

async function withProperties(floor: Floor, definitions: readonly DefinitionRow[]): Promise<WholeDefinition[]> {
  const rows = await floor.query<PropertyRow>('properties', PROPERTIES, [definitions.map(({ id }) => id)]);
  const propertiesOf = groupBy(rows, ({ definitionId }) => definitionId);
  return definitions.map((definition) => ({ definition, properties: propertiesOf.get(definition.id) ?? [] }));
}

async function readDefinition(floor: Floor, caller: Caller, name: string): Promise<WholeDefinition | undefined> {
  const definitions = await floor.query<DefinitionRow>('definition', ONE_DEFINITION, [caller.organizationId, name]);
  return (await withProperties(floor, definitions))[0];
}

const namesOf = ({ number, name }: DefinitionRow, caller: Caller) => ({
  fullyQualifiedName: `pe${caller.organizationNumber}_${name}`,
  objectTypeId: `6-${number}`,
});

function toGraphQL({ definition, properties }: WholeDefinition, caller: Caller): object {
  const { id, name, label, description, primaryObject, includeDefaultProperties, createdAt, updatedAt } = definition;
  return {
    id: globalId('EventDefinition', id),
    databaseId: id,
    name,
    ...namesOf(definition, caller),
    label,
    description,
    primaryObject,
    includeDefaultProperties,
    createdAt,
    updatedAt,
    properties: properties.map(({ type, ...others }) => ({
      ...others,
      definitionId: undefined,
      type: type.toUpperCase(),
      fieldType: FIELD_TYPE_OF[type]?.toUpperCase(),
      isDefault: false,
    })),
  };
}

export async function graphqlDefinition(floor: Floor, caller: Caller, { name }: { name: string }): Promise<object> {
  const found = await readDefinition(floor, caller, name);
  return { eventDefinition: found ? toGraphQL(found, caller) : null };
}

export async function graphqlDefinitions(floor: Floor, caller: Caller): Promise<object> {
  const rows = await floor.query<DefinitionRow>('definitions', DEFINITIONS, [caller.organizationId]);
  const whole = await withProperties(floor, rows.slice(0, 50));
  const edges = whole.map((one) => ({ node: toGraphQL(one, caller) }));
  return { viewer: { organization: { eventDefinitions: { edges, pageInfo: { hasNextPage: rows.length > 50 } } } } };
}

export async function restDefinition(floor: Floor, caller: Caller, eventName: string): Promise<object | undefined> {
  const found = await readDefinition(floor, caller, eventName);
  if (!found) return undefined;
  const { number: _, ...definition } = found.definition;
  return {
    ...definition,
    ...namesOf(found.definition, caller),
    labels: { singular: definition['label'], plural: null },
    trackingType: 'MANUAL',
    archived: false,
    associations: [],
    properties: found.properties.map(({ options, ...property }) => ({
      ...property,
      definitionId: undefined,
      fieldType: FIELD_TYPE_OF[property.type],
      groupName: 'event_properties',
      options: options.map((option, displayOrder) => ({ ...option, displayOrder, hidden: false, description: null })),
      isDefault: false,
      archived: false,
    })),
  };
}
