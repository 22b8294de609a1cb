import type { OperationContext } from '../../core/operation.ts';
import { DEFAULT_PROPERTIES } from './default-properties.ts';
import type { CustomMatchingId, EventDefinition, EventProperty } from './entity.ts';
import { NAME_PATTERN } from './naming.ts';
import { referenceTo } from './rows.ts';

/** A property as values are checked by it. */
export type HeldProperty = Pick<EventProperty, 'name' | 'type'> & {
  readonly options: readonly { readonly value: string }[];
};

/** A definition as occurrences are checked by it. */
export interface HeldDefinition extends Pick<EventDefinition, 'id' | 'name' | 'primaryObject'> {
  readonly customMatchingId: CustomMatchingId | null;
  /** Those of the properties that were asked for, by name. */
  readonly properties: ReadonlyMap<string, HeldProperty>;
}

const DEFAULT_BY_NAME = new Map<string, HeldProperty>(DEFAULT_PROPERTIES.map((property) => [property.name, property]));

/**
 * The definitions that are meant by these names, by the name given; those that do not exist are left out. Part of the caller's
 * transaction: until its end they can be neither deleted nor given other properties. Who may use them is the caller's to decide.
 */
export async function holdDefinitions(
  { em, actor }: Pick<OperationContext, 'em' | 'actor'>,
  eventNames: Iterable<string>,
  propertyNames: Iterable<string>,
): Promise<Map<string, HeldDefinition>> {
  const { id: organizationId, number = 0 } = actor.organization ?? {};
  const references = new Map([...new Set(eventNames)].map((name) => [name, referenceTo(name, number)]));
  const names = [...references.values()].flatMap((reference) => reference.names);
  const ids = [...references.values()].flatMap((reference) => reference.id ?? []);
  const rows = await em.execute<DefinitionRow[]>(
    `select id, name, primary_object as "primaryObject", custom_matching_id as "customMatchingId", include_default_properties as "hasDefaults",
        deleted_at is not null as "isDeleted"
      from event_definition where organization_id = ? and (name = any(?::text[]) or id = any(?::uuid[]))
      order by id for share`,
    [organizationId, arrayOf(names.filter(isName)), arrayOf(ids)],
  );
  const custom = await findProperties(em, rows, propertyNames);
  const held = rows.map(({ hasDefaults, isDeleted, ...row }) => {
    const properties = new Map([...(hasDefaults ? DEFAULT_BY_NAME : []), ...(custom.get(row.id) ?? [])]);
    return { row: { ...row, properties }, isDeleted };
  });
  return new Map(
    [...references].flatMap(([given, reference]) => {
      // A name that looks like a fully qualified one is first taken as it stands.
      const byName = reference.names.map((name) => held.find(({ row }) => row.name === name)).find(Boolean);
      const meant = byName ?? held.find(({ row }) => row.id === reference.id?.toLowerCase());
      return meant && !meant.isDeleted ? [[given, meant.row] as const] : [];
    }),
  );
}

interface DefinitionRow extends Omit<HeldDefinition, 'properties'> {
  readonly hasDefaults: boolean;
  readonly isDeleted: boolean;
}

async function findProperties(
  em: OperationContext['em'],
  definitions: readonly DefinitionRow[],
  names: Iterable<string>,
): Promise<Map<string, [string, HeldProperty][]>> {
  const found = new Map<string, [string, HeldProperty][]>(definitions.map(({ id }) => [id, []]));
  const rows = await em.execute<(HeldProperty & { definitionId: string })[]>(
    `select definition_id as "definitionId", name, type, options from event_property
      where definition_id = any(?::uuid[]) and name = any(?::text[])`,
    [arrayOf([...found.keys()]), arrayOf([...new Set(names)].filter(isName))],
  );
  for (const row of rows) found.get(row.definitionId)?.push([row.name, row]);
  return found;
}

/** Only what could be a name comes near a statement. */
function isName(value: string): boolean {
  return NAME_PATTERN.test(value);
}

/** Names and UUIDs need no quotes in an array as PostgreSQL writes it. */
function arrayOf(values: readonly string[]): string {
  return `{${values.join(',')}}`;
}
