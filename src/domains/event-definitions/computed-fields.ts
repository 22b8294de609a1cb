import type { ActingOrganization } from '../../core/operation.ts';
import type { Columns } from '../../core/postgres/columns.ts';
import { DEFAULT_PROPERTIES } from './default-properties.ts';
import type { EventPropertyRow } from './property-queries.ts';
import type { EventDefinitionRow } from './queries.ts';

/** Fields that are computed from the stored columns. */

/** Properties are not grouped. The REST API answers one group for all of them. */
export const GROUP_NAME = 'event_properties';

export function fullyQualifiedName(
  { name }: Pick<EventDefinitionRow, 'name'>,
  organization: ActingOrganization,
): string {
  return `pe${organization.number}_${name}`;
}

export function objectTypeId({ number }: Pick<EventDefinitionRow, 'number'>): string {
  return `6-${number}`;
}

/** Custom properties have positions from 0; default properties have negative ones. */
export function isDefault({ position }: Pick<EventPropertyRow, 'position'>): boolean {
  return position < 0;
}

/** Default properties come first, then custom ones in order of creation. */
export function displayOrder({ position }: Pick<EventPropertyRow, 'position'>): number {
  return DEFAULT_PROPERTIES.length + position;
}

/** Default properties are not stored. They differ between definitions only in their times, so the rest is made once. */
export const DEFAULT_ROWS = DEFAULT_PROPERTIES.map((property, index) =>
  Object.freeze({ ...property, description: null, position: index - DEFAULT_PROPERTIES.length }),
);

/** The default properties of a definition, with the columns that are asked for. */
export function defaultPropertiesOf(
  { includeDefaultProperties, createdAt }: Pick<EventDefinitionRow, 'includeDefaultProperties' | 'createdAt'>,
  asked?: Columns<EventPropertyRow>,
): readonly EventPropertyRow[] {
  if (!includeDefaultProperties) return [];
  // Rows have the columns that were asked for.
  if (asked && !asked.includes('createdAt') && !asked.includes('updatedAt')) return DEFAULT_ROWS as EventPropertyRow[];
  return DEFAULT_ROWS.map((row) => ({ ...row, createdAt, updatedAt: createdAt }));
}
