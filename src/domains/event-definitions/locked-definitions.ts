import { sql } from 'kysely';
import { groupBy } from '../../core/group-by.ts';
import type { OperationContext } from '../../core/operation.ts';
import { type Readable, listOf } from '../../core/postgres/queries.ts';
import { DEFAULT_PROPERTIES } from './default-properties.ts';
import type { CustomMatchingId, EventDefinition, EventDefinitionTables, EventProperty } from './entity.ts';
import { NAME_PATTERN } from './naming.ts';
import { referenceTo } from './definition-reference.ts';

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
  const { id: organizationId = '', number = 0 } = actor.organization ?? {};
  const references = new Map([...new Set(eventNames)].map((name) => [name, referenceTo(name, number)]));
  const names = [...references.values()].flatMap((reference) => reference.names);
  const ids = [...references.values()].flatMap((reference) => reference.id ?? []);
  const db = em.getKysely<Readable<EventDefinitionTables>>();
  const rows = await db
    .selectFrom('event_definition as d')
    .select(['d.id', 'd.name', 'd.primary_object as primaryObject', 'd.custom_matching_id as customMatchingId'])
    .select(['d.include_default_properties as hasDefaults', 'd.deleted_at as deletedAt'])
    .where('d.organization_id', '=', organizationId)
    .where((eb) =>
      eb.or([
        eb('d.name', '=', sql<string>`any(${listOf('text', names.filter(isName))})`),
        eb('d.id', '=', sql<string>`any(${listOf('uuid', ids)})`),
      ]),
    )
    .orderBy('d.id')
    .forShare()
    .execute();
  const properties = await db
    .selectFrom('event_property as p')
    .select(['p.definition_id as definitionId', 'p.name', 'p.type', 'p.options'])
    .where(
      'p.definition_id',
      '=',
      sql<string>`any(${listOf(
        'uuid',
        rows.map(({ id }) => id),
      )})`,
    )
    .where('p.name', '=', sql<string>`any(${listOf('text', [...new Set(propertyNames)].filter(isName))})`)
    .execute();
  const custom = groupBy(properties, ({ definitionId }) => definitionId);
  const held = rows.map(({ hasDefaults, deletedAt, ...row }) => {
    const own = (custom.get(row.id) ?? []).map((property): [string, HeldProperty] => [property.name, property]);
    return { row: { ...row, properties: new Map([...(hasDefaults ? DEFAULT_BY_NAME : []), ...own]) }, deletedAt };
  });
  return new Map(
    [...references].flatMap(([given, reference]) => {
      // A name that looks like a fully qualified one is first taken as it stands.
      const byName = reference.names.map((name) => held.find(({ row }) => row.name === name)).find(Boolean);
      const meant = byName ?? held.find(({ row }) => row.id === reference.id?.toLowerCase());
      return meant && meant.deletedAt === null ? [[given, meant.row] as const] : [];
    }),
  );
}

/** Only what could be a name comes near a statement. */
function isName(value: string): boolean {
  return NAME_PATTERN.test(value);
}
