import { LockMode } from '@mikro-orm/postgresql';

import { notFound } from '../../core/errors.ts';
import { groupBy } from '../../core/group-by.ts';
import type { OrganizationId } from '../../core/ids.ts';
import type { OperationContext } from '../../core/operation.ts';
import { type Readable, anyOf } from '../../core/postgres/queries.ts';
import { DEFAULT_PROPERTIES } from './default-properties.ts';
import { referenceTo } from './definition-reference.ts';
import { type CustomMatchingId, EventDefinition, type EventDefinitionTables, type EventProperty } from './entity.ts';
import { NAME_PATTERN } from './naming.ts';
import { requireEventDefinitions } from './policy.ts';

/** Row locks on definitions, until the end of the caller's transaction. */

/** Loads a definition to change it. Changes of one definition wait for each other. */
export async function lockDefinition({ em, actor }: OperationContext, eventName: string): Promise<EventDefinition> {
  const organization = requireEventDefinitions(actor);
  const { names, id } = referenceTo(eventName, organization.number);
  const candidates = await em.find(
    EventDefinition,
    { organization: organization.id, $or: [{ name: { $in: [...names] } }, ...(id ? [{ id }] : [])] },
    { lockMode: LockMode.PESSIMISTIC_WRITE },
  );
  // A name that looks like a fully qualified one is first taken literally, also when its definition is deleted: a deletion that is sent
  // again must not find another definition.
  const definition = candidates.find(({ name }) => name === names[0]) ?? candidates[0];
  if (!definition || definition.deletedAt != null) throw notFound('event definition');
  return definition;
}

/** What values of a property are checked against. */
export type SharedProperty = Pick<EventProperty, 'name' | 'type'> & {
  readonly options: readonly { readonly value: string }[];
};

/** What occurrences of a definition are checked against. */
export interface SharedDefinition extends Pick<EventDefinition, 'id' | 'name' | 'primaryObject'> {
  readonly customMatchingId: CustomMatchingId | null;
  /** By name. Of the custom properties it has those that were asked for. */
  readonly properties: ReadonlyMap<string, SharedProperty>;
}

const DEFAULT_BY_NAME = new Map<string, SharedProperty>(
  DEFAULT_PROPERTIES.map((property) => [property.name, property]),
);

type Tables = Readable<EventDefinitionTables>;

/**
 * Loads the definitions with these names for sending, by the given name; names without a definition are left out. Others can send to them
 * too, but until the end of the transaction nobody deletes them or changes their properties. The caller checks the rights.
 */
export async function shareDefinitions(
  { em, actor }: Pick<OperationContext, 'em' | 'actor'>,
  eventNames: Iterable<string>,
  propertyNames: Iterable<string>,
): Promise<Map<string, SharedDefinition>> {
  const { id: organizationId = '', number = 0 } = actor.organization ?? {};
  const references = new Map([...new Set(eventNames)].map((name) => [name, referenceTo(name, number)]));
  const rows = await shareRows(em, organizationId, [...references.values()]);
  const properties = await propertiesNamed(
    em,
    rows.map(({ id }) => id),
    propertyNames,
  );
  const custom = groupBy(properties, ({ definitionId }) => definitionId);
  const found = rows.map(({ hasDefaults, deletedAt, ...row }) => {
    const own = (custom.get(row.id) ?? []).map((property): [string, SharedProperty] => [property.name, property]);
    return { row: { ...row, properties: new Map([...(hasDefaults ? DEFAULT_BY_NAME : []), ...own]) }, deletedAt };
  });
  return new Map(
    [...references].flatMap(([given, reference]) => {
      // A name that looks like a fully qualified one is first taken literally.
      const byName = reference.names.map((name) => found.find(({ row }) => row.name === name)).find(Boolean);
      const meant = byName ?? found.find(({ row }) => row.id === reference.id?.toLowerCase());
      return meant && meant.deletedAt === null ? [[given, meant.row] as const] : [];
    }),
  );
}

function shareRows(
  em: OperationContext['em'],
  organizationId: OrganizationId,
  references: readonly ReturnType<typeof referenceTo>[],
) {
  const names = references.flatMap((reference) => reference.names).filter(isName);
  const ids = references.flatMap((reference) => reference.id ?? []);
  return (
    em
      .getKysely<Tables>()
      .selectFrom('event_definition as d')
      .select(['d.id', 'd.name', 'd.primary_object as primaryObject', 'd.custom_matching_id as customMatchingId'])
      .select(['d.include_default_properties as hasDefaults', 'd.deleted_at as deletedAt'])
      .where('d.organization_id', '=', organizationId)
      .where((eb) => eb.or([eb('d.name', '=', anyOf('text', names)), eb('d.id', '=', anyOf('uuid', ids))]))
      // One order for all, so that no two senders wait for each other.
      .orderBy('d.id')
      .forShare()
      .execute()
  );
}

function propertiesNamed(em: OperationContext['em'], definitionIds: readonly string[], names: Iterable<string>) {
  return em
    .getKysely<Tables>()
    .selectFrom('event_property as p')
    .select(['p.definition_id as definitionId', 'p.name', 'p.type', 'p.options'])
    .where('p.definition_id', '=', anyOf('uuid', definitionIds))
    .where('p.name', '=', anyOf('text', [...new Set(names)].filter(isName)))
    .execute();
}

/** Keeps texts that PostgreSQL cannot take, such as those with NUL, out of statements. */
function isName(value: string): boolean {
  return NAME_PATTERN.test(value);
}
