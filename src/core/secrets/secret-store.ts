import { type EntityManager, type InferKyselyDB, defineEntity, p } from '@mikro-orm/postgresql';
import type { OrganizationId } from '../ids.ts';
import { type Readable, anyOf, queriesOn } from '../postgres/reading/queries.ts';
import type { Sql } from '../postgres/reading/sql.ts';
import type { SealedColumn } from './secret-check.ts';
import { type SecretBox, SecretError, type SecretPlace } from './secrets.ts';

const BATCH = 200;

const StoredSecretSchema = defineEntity({
  name: 'StoredSecret',
  tableName: 'secret',
  properties: {
    ownerTable: p.text().primary(),
    ownerId: p.uuid().primary(),
    field: p.text().primary(),
    /** The tenant, as in every table. */
    organizationId: p.uuid().$type<OrganizationId>(),
    sealed: p.text(),
  },
  indexes: [{ name: 'secret_organization_index', properties: ['organizationId'] }],
});

export type SecretTables = InferKyselyDB<typeof StoredSecretSchema>;

/**
 * One encrypted secret of one field of one row. All secrets that are read again are in this table, so that rotation is one loop that can be
 * resumed, no column is forgotten, and a dump of another table has no ciphertext. The cost: reading a connection with its secrets is a second
 * query, and the operation that deletes the owner deletes the rows, not a foreign key.
 */
export class StoredSecret extends StoredSecretSchema.class {}
StoredSecretSchema.setClass(StoredSecret);

export interface SecretOwner {
  readonly table: string;
  readonly id: string;
  readonly organizationId: OrganizationId;
}

const placeOf = (owner: Pick<SecretOwner, 'table' | 'id'>, field: string): SecretPlace => ({
  table: owner.table,
  row: owner.id,
  field,
});

/** The column of encrypted values. */
export const SECRET_COLUMN: SealedColumn = {
  table: 'secret',
  column: 'sealed',
  keys: ['owner_table', 'owner_id', 'field'],
  placeOf: ({ owner_table: table = '', owner_id: id = '', field = '' }) => placeOf({ table, id }, field),
};

/** Encrypts and stores a secret, replacing an earlier one, in the transaction of the caller. */
export async function storeSecret(
  em: EntityManager,
  box: SecretBox,
  owner: SecretOwner,
  field: string,
  plaintext: string,
): Promise<void> {
  const sealed = await box.seal(plaintext, placeOf(owner, field));
  await em.upsert(StoredSecret, {
    ownerTable: owner.table,
    ownerId: owner.id,
    field,
    organizationId: owner.organizationId,
    sealed,
  });
}

/** The decrypted secrets of a row, by field. @throws SecretError if one was altered or moved. */
export async function readSecrets(
  em: EntityManager,
  box: SecretBox,
  owner: Pick<SecretOwner, 'table' | 'id'>,
): Promise<Map<string, string>> {
  const rows = await em.find(
    StoredSecret,
    { ownerTable: owner.table, ownerId: owner.id },
    { disableIdentityMap: true },
  );
  return openSecrets(
    box,
    owner,
    rows.map(({ field, sealed }) => [field, sealed]),
  );
}

/** Decrypts secrets of a row that a statement has read, by field. @throws SecretError if one was altered or moved. */
export async function openSecrets(
  box: SecretBox,
  owner: Pick<SecretOwner, 'table' | 'id'>,
  sealed: readonly (readonly [field: string, sealed: string])[],
): Promise<Map<string, string>> {
  const opened = sealed.map(async ([field, value]) => [field, await box.open(value, placeOf(owner, field))] as const);
  return new Map(await Promise.all(opened));
}

/** One secret of each of these rows of an organization that has it, by the id of the row. @throws SecretError if one was altered or moved. */
export async function readSecretOfEach(
  reader: Sql,
  box: SecretBox,
  { table, organizationId, field }: Omit<SecretOwner, 'id'> & { readonly field: string },
  ids: readonly string[],
): Promise<Map<string, string>> {
  if (ids.length === 0) return new Map();
  const rows = await reader.all(
    queriesOn<SecretTables>()
      .selectFrom('secret')
      .select(['owner_id as id', 'sealed'])
      .where('organization_id', '=', organizationId)
      .where('owner_table', '=', table)
      .where('field', '=', field)
      .where('owner_id', '=', anyOf('uuid', ids)),
  );
  const opened = rows.map(
    async ({ id, sealed }) => [id, await box.open(sealed, placeOf({ table, id }, field))] as const,
  );
  return new Map(await Promise.all(opened));
}

/** Deletes secrets of a row: the given fields, or all of them. In the transaction of the caller. */
export async function deleteSecrets(
  em: EntityManager,
  owner: Pick<SecretOwner, 'table' | 'id'>,
  fields?: readonly string[],
): Promise<void> {
  await em.nativeDelete(StoredSecret, {
    ownerTable: owner.table,
    ownerId: owner.id,
    ...(fields && { field: { $in: [...fields] } }),
  });
}

/** Deletes all secrets of any number of rows of one table, in the transaction of the caller. */
export async function deleteSecretsOf(em: EntityManager, table: string, ids: readonly string[]): Promise<void> {
  if (ids.length === 0) return;
  await em
    .getKysely<Readable<SecretTables>>()
    .deleteFrom('secret')
    .where('owner_table', '=', table)
    .where('owner_id', '=', anyOf('uuid', ids))
    .execute();
}

/**
 * Encrypts again every value of a column that is not encrypted with the current key, in batches with separate transactions. It can be interrupted
 * and run again, while the gateway runs. @returns how many were encrypted again.
 * @throws SecretError naming the place of a value that cannot be decrypted, unless it expires; earlier batches stay rotated.
 */
export async function rotateColumn(
  em: EntityManager,
  box: SecretBox,
  { table, column, keys, placeOf: placeOfRow, condition }: SealedColumn,
): Promise<number> {
  const names = keys.join(', ');
  const places = keys.map(() => '?').join(', ');
  let rotated = 0;
  let after: string[] | undefined;
  do {
    after = await em.fork().transactional(async (transaction) => {
      const rows = await transaction.execute<Record<string, string>[]>(
        `select ${names}, ${column} from "${table}" where ${column} is not null and ${condition ?? 'true'}
          ${after ? `and (${names}) > (${places})` : ''} order by ${names} limit ${BATCH} for update`,
        after,
      );
      for (const row of rows) {
        const [sealed, place] = [row[column] ?? '', placeOfRow(row)];
        if (!box.isStale(sealed)) continue;
        const opened = await box.open(sealed, place).catch((error: unknown) => {
          if (condition === undefined || !(error instanceof SecretError)) throw error;
        });
        if (opened === undefined) continue;
        await transaction.execute(`update "${table}" set ${column} = ? where (${names}) = (${places})`, [
          await box.seal(opened, place),
          ...keys.map((key) => row[key]),
        ]);
        rotated += 1;
      }
      const last = rows.length < BATCH ? undefined : rows.at(-1);
      return last && keys.map((key) => last[key] ?? '');
    });
  } while (after);
  return rotated;
}
