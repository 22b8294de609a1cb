import type { ActingOrganization } from '../../core/access.ts';
import type { Columns } from '../../core/postgres/reading/columns.ts';
import { DEFAULT_PROPERTIES } from './default-properties.ts';
import { PRIMARY_OBJECTS } from './entity.ts';
import { CUSTOM_OBJECT } from './input.ts';
import type { EventPropertyRow } from './property-queries.ts';
import type { EventDefinitionRow } from './queries.ts';

/** Fields that are computed from the stored columns. */

/** `groupName` of every property in the REST API, because properties are not grouped. */
export const GROUP_NAME = 'event_properties';

export const fullyQualifiedName = (
  { name }: Pick<EventDefinitionRow, 'name'>,
  organization: ActingOrganization,
): string => `pe${organization.number}_${name}`;

export const objectTypeId = ({ number }: Pick<EventDefinitionRow, 'number'>): string => `6-${number}`;

export type PrimaryObjectKind = (typeof PRIMARY_OBJECTS)[number] | typeof CUSTOM_OBJECT;

/** The primary object as a GraphQL enum value. The column contains a standard object or the name of a custom object. */
export const primaryObjectKind = ({ primaryObject }: Pick<EventDefinitionRow, 'primaryObject'>): PrimaryObjectKind =>
  PRIMARY_OBJECTS.find((name) => name === primaryObject) ?? CUSTOM_OBJECT;

/** Custom properties have positions from 0; default properties have negative ones. */
export const isDefault = ({ position }: Pick<EventPropertyRow, 'position'>): boolean => position < 0;

/** Default properties come first, then custom ones in order of creation. */
export const displayOrder = ({ position }: Pick<EventPropertyRow, 'position'>): number =>
  DEFAULT_PROPERTIES.length + position;

/** Default properties are not stored. Most of their fields are the same for all definitions and are built only once. */
export const DEFAULT_ROWS = DEFAULT_PROPERTIES.map((property, index) =>
  Object.freeze({ ...property, description: null, position: index - DEFAULT_PROPERTIES.length }),
);

const OF_DEFINITION: readonly string[] = [
  'definitionId',
  'createdAt',
  'updatedAt',
] satisfies (keyof EventPropertyRow)[];

/** The default properties of a definition, with the selected columns. */
export function defaultPropertiesOf(
  {
    id,
    includeDefaultProperties,
    createdAt,
  }: Pick<EventDefinitionRow, 'id' | 'includeDefaultProperties' | 'createdAt'>,
  asked?: Columns<EventPropertyRow>,
): readonly EventPropertyRow[] {
  if (!includeDefaultProperties) return [];
  // A row only needs the selected columns.
  if (asked && !asked.some((name) => OF_DEFINITION.includes(name))) return DEFAULT_ROWS as EventPropertyRow[];
  return DEFAULT_ROWS.map((row) => ({ ...row, definitionId: id, createdAt, updatedAt: createdAt }));
}
