import { type SelectQueryBuilder, sql } from 'kysely';
import type { OrganizationId } from '../../core/ids.ts';
import { type Columns, withColumns } from '../../core/postgres/reading/columns.ts';
import { countOf } from '../../core/postgres/reading/counts.ts';
import { type Ordering, type Page, type PageArguments, planPage } from '../../core/postgres/reading/keyset.ts';
import { type Readable, type RowOf, anyOf, columns, listOf, queriesOn } from '../../core/postgres/reading/queries.ts';
import { requireOrganization } from '../../core/access.ts';
import type { OperationContext } from '../../core/operation.ts';
import { type EventOccurrenceTables, OBJECT_IDENTIFIER_COLUMNS } from './entity.ts';
import type { ObjectIdentifierFilter, RegisterObjectIdentifiersInput } from './identifier-input.ts';

const db = queriesOn<EventOccurrenceTables>();
type Tables = Readable<EventOccurrenceTables>;

/** A row has the selected columns only; without a selection it has all columns. */
export type ObjectIdentifierRow = Omit<RowOf<Tables['object_identifier']>, 'organizationId'>;

const COLUMNS = OBJECT_IDENTIFIER_COLUMNS.filter((name) => name !== 'organizationId');

export type ObjectIdentifierOrderField = 'CREATED_AT' | 'VALUE';

/** `VALUE` is the order of the primary key, which begins with object type and property name. */
const ORDERED_BY = {
  CREATED_AT: [
    { sql: 'i.created_at', type: 'timestamptz', of: (row) => row.createdAt },
    { sql: 'i.id', type: 'uuid', of: (row) => row.id },
  ],
  VALUE: [
    { sql: 'i.object_type', type: 'text', of: (row) => row.objectType },
    { sql: 'i.property_name', type: 'text', of: (row) => row.propertyName },
    { sql: 'i.value', type: 'text', of: (row) => row.value },
  ],
} as const satisfies Record<ObjectIdentifierOrderField, Ordering<ObjectIdentifierRow>['columns']>;

const KEYS_OF = {
  CREATED_AT: ['createdAt'],
  VALUE: ['objectType', 'propertyName', 'value'],
} as const satisfies Record<ObjectIdentifierOrderField, (keyof ObjectIdentifierRow)[]>;

export interface ObjectIdentifierList {
  readonly filter: ObjectIdentifierFilter;
  readonly order: { readonly field: ObjectIdentifierOrderField; readonly direction: 'ASC' | 'DESC' };
  readonly page: PageArguments;
  readonly columns?: Columns<ObjectIdentifierRow>;
}

function identifiersThat<Row>(
  query: SelectQueryBuilder<Tables & { i: Tables['object_identifier'] }, 'i', Row>,
  organizationId: OrganizationId,
  filter: ObjectIdentifierFilter,
): typeof query {
  const conditions = [
    ['i.object_type', filter.objectTypes],
    ['i.property_name', filter.propertyNames],
    ['i.value', filter.values],
    ['i.object_id', filter.objectIds],
  ] as const;
  let found = query.where('i.organization_id', '=', organizationId);
  for (const [column, given] of conditions) if (given != null) found = found.where(column, '=', anyOf('text', given));
  if (filter.createdFrom != null) found = found.where('i.created_at', '>=', filter.createdFrom);
  if (filter.createdBefore != null) found = found.where('i.created_at', '<', filter.createdBefore);
  return found;
}

/** A page of the identifiers of the acting organization. */
export async function pageOfIdentifiers(
  { actor, sql: reader }: OperationContext,
  { filter, order, page, columns: asked }: ObjectIdentifierList,
): Promise<Page<ObjectIdentifierRow>> {
  const plan = planPage<ObjectIdentifierRow>(
    { name: `OBJECT_IDENTIFIER_${order.field}`, columns: ORDERED_BY[order.field], direction: order.direction },
    page,
  );
  const names = withColumns<ObjectIdentifierRow>(asked, COLUMNS, 'id', ...KEYS_OF[order.field]);
  const query = db.selectFrom('object_identifier as i').select(columns('i', names));
  return plan.toPage(await reader.page(plan.apply(identifiersThat(query, requireOrganization(actor).id, filter))));
}

export function countIdentifiers(
  { actor, sql: reader }: OperationContext,
  filter: ObjectIdentifierFilter,
): Promise<number> {
  const query = db.selectFrom('object_identifier as i');
  return countOf(reader, identifiersThat(query, requireOrganization(actor).id, filter));
}

/** The identifiers with these ids that belong to the acting organization, in any order. */
export async function findIdentifiers(
  { actor, sql: reader }: OperationContext,
  ids: readonly string[],
  asked?: Columns<ObjectIdentifierRow>,
): Promise<ObjectIdentifierRow[]> {
  return reader.all(
    db
      .selectFrom('object_identifier as i')
      .select(columns('i', withColumns<ObjectIdentifierRow>(asked, COLUMNS, 'id')))
      .where('i.id', '=', anyOf('uuid', ids))
      .where('i.organization_id', '=', requireOrganization(actor).id),
  );
}

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
