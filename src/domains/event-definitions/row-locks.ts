import { LockMode } from '@mikro-orm/postgresql';

import { notFound } from '../../core/errors.ts';
import { groupBy } from '../../core/arrays.ts';
import type { EventDefinitionId, OrganizationId } from '../../core/ids.ts';
import type { OperationContext } from '../../core/operation.ts';
import { type Readable, anyOf } from '../../core/postgres/reading/queries.ts';
import { DEFAULT_PROPERTIES } from './default-properties.ts';
import { referenceTo } from './queries.ts';
import { type CustomMatchingId, EventDefinition, type EventDefinitionTables, type EventProperty } from './entity.ts';
import { NAME_PATTERN } from './naming.ts';
import { requireEventDefinitions } from './policy.ts';

/** Row locks on definitions. They last until the end of the caller's transaction. */

/** Loads a definition and locks it exclusively, so that changes of one definition run one at a time. */
export async function lockDefinition({ em, actor }: OperationContext, eventName: string): Promise<EventDefinition> {
  const organization = requireEventDefinitions(actor);
  const { names, id } = referenceTo(eventName, organization.number);
  const candidates = await em.find(
    EventDefinition,
    { organization: organization.id, $or: [{ name: { $in: [...names] } }, ...(id ? [{ id }] : [])] },
    { lockMode: LockMode.PESSIMISTIC_WRITE },
  );
  // A text that looks like a fully qualified name is first compared as a plain name, also with deleted definitions: a retried deletion must
  // not find another definition.
  const definition = candidates.find(({ name }) => name === names[0]) ?? candidates[0];
  if (!definition || definition.deletedAt != null) throw notFound('event definition');
  return definition;
}

/** The part of a property that values are checked against. */
export type SharedProperty = Pick<EventProperty, 'name' | 'type'> & {
  readonly options: readonly { readonly value: string }[];
};

/** The part of a definition that occurrences are checked against. */
export interface SharedDefinition extends Pick<EventDefinition, 'id' | 'name' | 'primaryObject'> {
  readonly customMatchingId: CustomMatchingId | null;
  /** Default properties and the requested custom properties, by name. */
  readonly properties: ReadonlyMap<string, SharedProperty>;
}

const DEFAULT_BY_NAME = new Map<string, SharedProperty>(
  DEFAULT_PROPERTIES.map((property) => [property.name, property]),
);

type Tables = Readable<EventDefinitionTables>;

/**
 * Loads definitions to send occurrences to, by the given names; unknown names are left out. The shared locks allow
 * concurrent sending, but no deletion or change of the definitions until the end of the transaction. The caller checks
 * the rights.
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
      // A text that looks like a fully qualified name is first compared as a plain name.
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
      // Locks are always taken in the same order, so that concurrent senders cannot deadlock.
      .orderBy('d.id')
      .forShare()
      .execute()
  );
}

const propertiesNamed = (
  em: OperationContext['em'],
  definitionIds: readonly EventDefinitionId[],
  names: Iterable<string>,
) =>
  em
    .getKysely<Tables>()
    .selectFrom('event_property as p')
    .select(['p.definition_id as definitionId', 'p.name', 'p.type', 'p.options'])
    .where('p.definition_id', '=', anyOf('uuid', definitionIds))
    .where('p.name', '=', anyOf('text', [...new Set(names)].filter(isName)))
    .execute();

/** Whether the text can be a name. Keeps texts that PostgreSQL refuses, such as those with NUL, out of statements. */
const isName = (value: string): boolean => NAME_PATTERN.test(value);
