import type { ActingOrganization, OperationContext } from '../../core/operation.ts';
import { type Ordering, type Page, type PageArguments, keyset } from '../../core/keyset.ts';
import { type Timestamp, toIsoString } from '../../core/sql.ts';
import { DEFAULT_PROPERTIES } from './default-properties.ts';
import type { CustomMatchingId, EventDefinition, EventProperty } from './entity.ts';
import type { PropertyOption, PropertyType } from './property-types.ts';

/** A definition as it is read; the entity has the same shape. */
export interface EventDefinitionRow extends Pick<
  EventDefinition,
  'id' | 'number' | 'name' | 'label' | 'primaryObject' | 'includeDefaultProperties'
> {
  readonly description?: string | null;
  readonly customMatchingId?: CustomMatchingId | null;
  readonly createdAt: Timestamp;
  readonly updatedAt: Timestamp;
  /** Where it was read alone, its custom properties along with it, in their order; those of a list are read together. */
  readonly customProperties?: readonly EventPropertyRow[];
}

/** A custom or a default property as it is read. */
export interface EventPropertyRow {
  readonly definitionId: string;
  readonly name: string;
  readonly label: string;
  readonly type: PropertyType;
  readonly description: string | null;
  readonly options: readonly PropertyOption[];
  /** Default properties come first, then custom ones in order of creation. */
  readonly displayOrder: number;
  readonly isDefault: boolean;
  readonly createdAt: Timestamp;
  readonly updatedAt: Timestamp;
}

/** Properties are not grouped; REST names one group for all. */
export const GROUP_NAME = 'event_properties';

export function fullyQualifiedName({ name }: EventDefinitionRow, organization: ActingOrganization): string {
  return `pe${organization.number}_${name}`;
}

export function objectTypeId({ number }: EventDefinitionRow): string {
  return `6-${number}`;
}

/** A custom property that was just written, as it will be read. */
export function customPropertyRow(property: EventProperty): EventPropertyRow {
  const { name, label, type, options, position, createdAt, updatedAt } = property;
  return {
    definitionId: property.definition.id,
    name,
    label,
    type,
    description: property.description ?? null,
    options,
    displayOrder: DEFAULT_PROPERTIES.length + position,
    isDefault: false,
    createdAt,
    updatedAt,
  };
}

export interface EventDefinitionFilter {
  readonly search?: string | null;
  readonly primaryObject?: readonly string[] | null;
  readonly hasCustomMatchingId?: boolean | null;
}

export const ORDERINGS = {
  NAME: { sql: 'd.name', type: 'text', of: (row: EventDefinitionRow) => row.name },
  CREATED_AT: { sql: 'd.created_at', type: 'timestamptz', of: (row: EventDefinitionRow) => toIsoString(row.createdAt) },
  UPDATED_AT: { sql: 'd.updated_at', type: 'timestamptz', of: (row: EventDefinitionRow) => toIsoString(row.updatedAt) },
} as const;
export type EventDefinitionOrderField = keyof typeof ORDERINGS;

export interface EventDefinitionOrder {
  readonly field: EventDefinitionOrderField;
  readonly direction: 'ASC' | 'DESC';
}

/** Expressions of the fields of a custom property `p`. Inside JSON timestamps would have another form than outside. */
const PROPERTY = Object.entries({
  definitionId: 'p.definition_id',
  name: 'p.name',
  label: 'p.label',
  type: 'p.type',
  description: 'p.description',
  options: 'p.options',
  displayOrder: `p.position + ${DEFAULT_PROPERTIES.length}`,
  isDefault: 'false',
  createdAt: 'p.created_at::text',
  updatedAt: 'p.updated_at::text',
} satisfies Record<keyof EventPropertyRow, string>);

const CUSTOM_PROPERTIES = `(select coalesce(json_agg(json_build_object(${PROPERTY.map(([name, sql]) => `'${name}', ${sql}`).join(', ')}) order by p.position), '[]')
  from event_property p where p.organization_id = d.organization_id and p.definition_id = d.id)`;

const COLUMNS = `d.id, d.number, d.name, d.label, d.description, d.primary_object as "primaryObject", d.custom_matching_id as "customMatchingId",
  d.include_default_properties as "includeDefaultProperties", d.created_at as "createdAt", d.updated_at as "updatedAt"`;

/** By name, fully qualified name or id. A name that looks like a fully qualified one is first taken as it stands. */
export async function findDefinitionRow(
  context: OperationContext,
  organizationId: string,
  reference: DefinitionReference,
): Promise<EventDefinitionRow | undefined> {
  const [row] = await context.sql.query<EventDefinitionRow>(
    `select ${COLUMNS}, ${CUSTOM_PROPERTIES} as "customProperties" from event_definition d
      where d.organization_id = $1 and (d.name = any($2) or d.id = $3)
        -- A deleted definition keeps its hold on its name, or the name would come to mean another one (see lockDefinition).
        and not exists (select from event_definition b where b.organization_id = $1 and b.name = $4 and b.deleted_at is not null)
        and d.deleted_at is null
      order by d.name = $4 desc limit 1`,
    [organizationId, reference.names, reference.id, reference.names[0]],
  );
  return row;
}

export async function findDefinitionRowsByIds(
  context: OperationContext,
  organizationId: string,
  ids: readonly string[],
): Promise<EventDefinitionRow[]> {
  return context.sql.query(
    `select ${COLUMNS} from event_definition d where d.organization_id = $1 and d.deleted_at is null and d.id = any($2)`,
    [organizationId, ids],
  );
}

/** The ways in which a caller may have written which definition is meant. */
export interface DefinitionReference {
  readonly names: readonly string[];
  readonly id: string | null;
}

const UUID = /^[0-9a-f]{8}-(?:[0-9a-f]{4}-){3}[0-9a-f]{12}$/i;

/** `pe<organization number>_<name>`, unless it is a UUID; names that could not exist refer to nothing. */
export function referenceTo(eventName: string, organizationNumber: number): DefinitionReference {
  const prefix = `pe${organizationNumber}_`;
  const possible = eventName.startsWith(prefix) ? [eventName, eventName.slice(prefix.length)] : [eventName];
  return { names: possible.filter((name) => !name.includes('\0')), id: UUID.test(eventName) ? eventName : null };
}

function conditions(organizationId: string, filter: EventDefinitionFilter, values: unknown[]): string {
  const value = (given: unknown) => `$${values.push(given)}`;
  return [
    `d.organization_id = ${value(organizationId)}`,
    'd.deleted_at is null',
    // Names are lower-case, so this ignores case; strpos knows no wildcards, so % and _ are plain characters.
    ...(filter.search ? [`strpos(d.name, ${value(filter.search.replaceAll('\0', ' ').toLowerCase())}) > 0`] : []),
    ...(filter.primaryObject ? [`d.primary_object = any(${value(filter.primaryObject)})`] : []),
    ...(filter.hasCustomMatchingId == null
      ? []
      : [`d.custom_matching_id is ${filter.hasCustomMatchingId ? 'not ' : ''}null`]),
  ].join(' and ');
}

export async function pageOfDefinitions(
  context: OperationContext,
  organizationId: string,
  filter: EventDefinitionFilter,
  order: EventDefinitionOrder,
  page: PageArguments,
  maxPageSize?: number,
): Promise<Page<EventDefinitionRow>> {
  const values: unknown[] = [];
  const where = conditions(organizationId, filter, values);
  const byId = { sql: 'd.id', type: 'uuid', of: (row: EventDefinitionRow) => row.id } as const;
  const columns = order.field === 'NAME' ? [ORDERINGS.NAME] : [ORDERINGS[order.field], byId];
  const ordering: Ordering<EventDefinitionRow> = {
    name: `EVENT_DEFINITION_${order.field}_${order.direction}`,
    columns,
    direction: order.direction,
  };
  const query = keyset(ordering, page, values, maxPageSize);
  const rows = await context.sql.query<EventDefinitionRow>(
    `select ${COLUMNS} from event_definition d where ${where} and ${query.where} order by ${query.orderBy} limit $${values.push(query.limit)}`,
    values,
  );
  return query.toPage(rows);
}

export async function countDefinitions(
  context: OperationContext,
  organizationId: string,
  filter: EventDefinitionFilter,
): Promise<number> {
  const values: unknown[] = [];
  const where = conditions(organizationId, filter, values);
  const [row] = await context.sql.query<{ count: number }>(
    `select count(*)::int as count from event_definition d where ${where}`,
    values,
  );
  return row?.count ?? 0;
}

/** The custom properties of many definitions in one statement, in their order within each. */
export async function findPropertyRows(
  context: OperationContext,
  organizationId: string,
  definitionIds: readonly string[],
): Promise<EventPropertyRow[]> {
  return context.sql.query<EventPropertyRow>(
    `select ${PROPERTY.map(([name, sql]) => `${sql} as "${name}"`).join(', ')}
      from event_property p where p.organization_id = $1 and p.definition_id = any($2) order by p.definition_id, p.position`,
    [organizationId, definitionIds],
  );
}

/** Default properties are not stored: they are made here from the definition they stand in. */
export function defaultPropertyRows(definition: EventDefinitionRow): EventPropertyRow[] {
  if (!definition.includeDefaultProperties) return [];
  return DEFAULT_PROPERTIES.map((property, displayOrder) => ({
    definitionId: definition.id,
    name: property.name,
    label: property.label,
    type: property.type,
    description: null,
    options: property.options,
    displayOrder,
    isDefault: true,
    createdAt: definition.createdAt,
    updatedAt: definition.createdAt,
  }));
}
