import { sql } from 'kysely';
import type { OrganizationId } from '../../core/ids.ts';
import { defineList, inActingOrganization } from '../../core/postgres/reading/lists.ts';
import { type Readable, type RowOf, anyOf, listOf, queriesOn } from '../../core/postgres/reading/queries.ts';
import type { OperationContext } from '../../core/operation.ts';
import { type EventOccurrenceTables, OBJECT_IDENTIFIER_COLUMNS } from './entity.ts';
import type { ObjectIdentifierFilter, RegisterObjectIdentifiersInput } from './identifier-input.ts';

const db = queriesOn<EventOccurrenceTables>();
type Tables = Readable<EventOccurrenceTables>;

/** A row has the selected columns only; without a selection it has all columns. */
export type ObjectIdentifierRow = Omit<RowOf<Tables['object_identifier']>, 'organizationId'>;

const COLUMNS = OBJECT_IDENTIFIER_COLUMNS.filter((name) => name !== 'organizationId');

export type ObjectIdentifierOrderField = 'CREATED_AT' | 'VALUE';

/** The identifiers of the acting organization. */
export const IDENTIFIERS = defineList<ObjectIdentifierRow, ObjectIdentifierFilter, ObjectIdentifierOrderField>()(
  db.selectFrom('object_identifier as i'),
  {
    name: 'OBJECT_IDENTIFIER',
    alias: 'i',
    columns: COLUMNS,
    reach: inActingOrganization,
    filter: ({ oneOf, between }) => ({
      objectTypes: oneOf('objectType'),
      propertyNames: oneOf('propertyName'),
      values: oneOf('value'),
      objectIds: oneOf('objectId'),
      ...between('created', 'createdAt'),
    }),
    orders: {
      CREATED_AT: { createdAt: 'timestamptz' },
      // The order of the primary key.
      VALUE: { objectType: 'text', propertyName: 'text', value: 'text' },
    },
  },
);

/** Deletes the identifiers with these ids that belong to the organization, in the caller's transaction. @returns the deleted ids. */
export async function deleteIdentifiers(
  em: OperationContext['em'],
  organizationId: OrganizationId,
  ids: readonly string[],
): Promise<string[]> {
  const deleted = await em
    .getKysely<Tables>()
    .deleteFrom('object_identifier')
    .where('organization_id', '=', organizationId)
    .where('id', '=', anyOf('uuid', ids))
    .returning('id')
    .execute();
  return deleted.map(({ id }) => id);
}

/** Inserts or updates identifiers, sorted by value, so that concurrent transactions cannot deadlock. */
export async function storeIdentifiers(
  { em, now }: Pick<OperationContext, 'em' | 'now'>,
  organizationId: OrganizationId,
  { objectType, propertyName, identifiers }: RegisterObjectIdentifiersInput,
): Promise<void> {
  const at = now();
  const tables = em.getKysely<Tables>();
  const lists = (['value', 'objectId'] as const).map((name) =>
    listOf(
      'text',
      identifiers.map((identifier) => identifier[name]),
    ),
  );
  await tables
    .insertInto('object_identifier')
    .columns(['organization_id', 'object_type', 'property_name', 'value', 'object_id', 'created_at', 'updated_at'])
    .expression(
      tables
        .selectFrom(
          sql<{ value: string; object_id: string }>`unnest(${sql.join(lists)})`.as<'i'>(sql`i(value, object_id)`),
        )
        .select([sql`${organizationId}::uuid`.as('organization_id'), sql`${objectType}::text`.as('object_type')])
        .select(sql`${propertyName}::text`.as('property_name'))
        .select(['i.value', 'i.object_id'])
        .select([sql`${at}::timestamptz`.as('created_at'), sql`${at}::timestamptz`.as('updated_at')])
        .orderBy('i.value'),
    )
    .onConflict((conflict) =>
      conflict
        .columns(['organization_id', 'object_type', 'property_name', 'value'])
        .doUpdateSet((eb) => ({ object_id: eb.ref('excluded.object_id'), updated_at: eb.ref('excluded.updated_at') })),
    )
    .execute();
}
