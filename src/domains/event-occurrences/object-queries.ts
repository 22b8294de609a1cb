import type { EntityManager } from '@mikro-orm/postgresql';
import { sql } from 'kysely';
import type { EventDefinitionId, OrganizationId } from '../../core/ids.ts';
import { DELETION_BATCH } from '../../core/module.ts';
import { type Readable, anyOf, queriesOn } from '../../core/postgres/reading/queries.ts';
import type { Sql } from '../../core/postgres/reading/sql.ts';
import { WORK } from '../../core/work-budget.ts';
import type { EventDefinitionTables } from '../event-definitions/public.ts';
import type { ErasedObject } from '../user-deletions/public.ts';
import type { EventOccurrenceTables } from './entity.ts';
import type { DeleteObjectOccurrencesInput } from './input.ts';

/** The statements by which an object is erased. */

const db = queriesOn<EventDefinitionTables>();
const tablesOf = (em: EntityManager) => em.getKysely<Readable<EventOccurrenceTables>>();

const CONTACT = 'CONTACT';

/** By what the occurrences of an object are found: what is given, and the registered identifiers of the contact. */
export async function findObject(
  em: EntityManager,
  organizationId: OrganizationId,
  { objectType = CONTACT, objectId, email, utk }: DeleteObjectOccurrencesInput,
): Promise<ErasedObject> {
  const registered = tablesOf(em)
    .selectFrom('object_identifier')
    .where('organization_id', '=', organizationId)
    .where('object_type', '=', CONTACT);
  const objectIds = new Set(objectId === undefined ? [] : [objectId]);
  for (const [name, value] of Object.entries({ email, utk })) {
    if (value === undefined) continue;
    // E-mail addresses can be registered in any case.
    const isValue = sql<boolean>`${name === 'email' ? sql`lower(value)` : sql`value`} = ${value}`;
    const found = await registered.select('object_id as id').where('property_name', '=', name).where(isValue).execute();
    for (const { id } of found) objectIds.add(id);
  }
  const emails = new Set(email === undefined ? [] : [email]);
  const utks = new Set(utk === undefined ? [] : [utk]);
  if (objectType === CONTACT && objectIds.size > 0) {
    const found = await registered
      .select(['property_name as name', 'value'])
      .where('object_id', '=', anyOf('text', [...objectIds]))
      .where('property_name', 'in', ['email', 'utk'])
      .limit(WORK.erasedIdentifiers + 1)
      .execute();
    for (const { name, value } of found)
      (name === 'utk' ? utks : emails).add(name === 'utk' ? value : value.toLowerCase());
  }
  return { objectType, objectIds: [...objectIds], emails: [...emails], utks: [...utks] };
}

/** The definitions whose occurrences are of such objects, also deleted ones. */
export async function definitionsOfObjects(
  reader: Pick<Sql, 'all'>,
  organizationId: OrganizationId,
  objectType: string,
): Promise<EventDefinitionId[]> {
  const rows = await reader.all(
    db
      .selectFrom('event_definition')
      .select('id')
      .where('organization_id', '=', organizationId)
      .where('primary_object', '=', objectType)
      .orderBy('id'),
  );
  return rows.map(({ id }) => id);
}

interface Occurrences {
  readonly organizationId: OrganizationId;
  readonly definitionId: EventDefinitionId;
  readonly column: 'object_id' | 'email' | 'utk';
  readonly given: readonly string[];
  /** Those that were received later stay. */
  readonly until: Date;
}

/** Deletes a batch of the occurrences of an object with their deduplication keys. @returns how many. */
export async function deleteOccurrencesOf(
  em: EntityManager,
  { organizationId, definitionId, column, given, until }: Occurrences,
): Promise<number> {
  const tables = tablesOf(em);
  const ofDefinition = sql<boolean>`definition_id = ${definitionId}::uuid and organization_id = ${organizationId}::uuid`;
  const some = tables
    .selectFrom('event_occurrence')
    .select(sql`ctid`.as('place'))
    .where(ofDefinition)
    .where(column, '=', anyOf('text', given))
    .where('received_at', '<=', until.toISOString())
    .limit(DELETION_BATCH);
  const deleted = await tables
    .with('deleted', (query) =>
      query
        .deleteFrom('event_occurrence')
        // All rows of a definition are in one partition of one shard, so `ctid` identifies them.
        .where(ofDefinition)
        .where(sql`ctid`, '=', sql`any(array(${some}))`)
        .returning('uuid'),
    )
    .with('keys', (query) =>
      query
        .deleteFrom('event_occurrence_uuid')
        .where(ofDefinition)
        .where('uuid', 'in', sql<string>`(select uuid from deleted where uuid is not null)`),
    )
    .selectFrom('deleted')
    .select(sql<number>`count(*)::int`.as('count'))
    .executeTakeFirst();
  return deleted?.count ?? 0;
}

/** Deletes a batch of the registered identifiers of an object. @returns how many. */
export async function deleteIdentifiersOfObject(
  em: EntityManager,
  organizationId: OrganizationId,
  { objectType, objectIds }: ErasedObject,
  until: Date,
): Promise<number> {
  const tables = tablesOf(em);
  const some = tables
    .selectFrom('object_identifier')
    .select('id')
    .where('organization_id', '=', organizationId)
    .where('object_type', '=', objectType)
    .where('object_id', '=', anyOf('text', objectIds))
    .where('updated_at', '<=', until.toISOString())
    .limit(DELETION_BATCH);
  const { numDeletedRows } = await tables
    .deleteFrom('object_identifier')
    .where('organization_id', '=', organizationId)
    .where('id', '=', sql<string>`any(array(${some}))`)
    .executeTakeFirst();
  return Number(numDeletedRows);
}
