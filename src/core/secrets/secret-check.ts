import type { EntityManager } from '@mikro-orm/postgresql';
import { type SecretBox, SecretError, type SecretPlace } from './secrets.ts';

/** A column of encrypted values, which is checked when the gateway starts, and rotated. */
export interface SealedColumn {
  readonly table: string;
  readonly column: string;
  /** The columns that identify the place of a value. */
  readonly keys: readonly string[];
  readonly placeOf: (keys: Readonly<Record<string, string>>) => SecretPlace;
  /** Of values that expire: excludes those that nobody reads any more. */
  readonly condition?: string;
}

/** The reason why stored secrets cannot be decrypted, with the id of the key; one sentence. */
export type SecretFault = string;

/** Several, because a single altered value does not mean that the key is wrong. */
const SAMPLES = 3;

/**
 * The SQL expression for the key id of an encrypted value. The protected header begins with algorithm, encryption and
 * `kid`, so its first 120 characters contain the whole id.
 */
const keyIdOf = (column: string) => `case when ${column} ~ '^[A-Za-z0-9_-]{120}' then
  substring(convert_from(decode(translate(left(${column}, 120), '-_', '+/'), 'base64'), 'latin1') from '"kid":"([A-Za-z0-9._-]{1,32})"') end`;

/**
 * Checks that stored values can be decrypted: a few for each key id in use. Reads each column once.
 * @returns the fault, if there is one.
 */
export async function findSecretFault(
  em: EntityManager,
  box: SecretBox,
  columns: readonly SealedColumn[],
): Promise<SecretFault | undefined> {
  for (const column of columns) {
    const keyId = keyIdOf(column.column);
    const from = `from "${column.table}" where ${column.column} is not null${column.condition ? ` and ${column.condition}` : ''}`;
    const found = await em.execute<{ keyId: string; count: number }[]>(
      `select * from (select ${keyId} as "keyId", count(*)::int as count ${from} group by 1) ids where "keyId" is not null order by 1`,
    );
    for (const { keyId: id, count } of found) {
      if (!box.keyIds.includes(id))
        return `the key "${id}" is missing, under which ${count} values in the table ${column.table} are encrypted; add it after the first key`;
      const samples = await em.execute<Record<string, string>[]>(
        `select ${[column.column, ...column.keys].join(', ')} ${from} and ${keyId} = ? limit ${SAMPLES}`,
        [id],
      );
      const opened = await Promise.all(samples.map((row) => isOpened(box, row, column)));
      if (!opened.includes(true))
        return `the key "${id}" is another one than the key of that id under which values in the table ${column.table} are encrypted; restore the old key, or choose another id`;
    }
  }
  return undefined;
}

async function isOpened(box: SecretBox, row: Readonly<Record<string, string>>, column: SealedColumn): Promise<boolean> {
  try {
    await box.open(row[column.column] ?? '', column.placeOf(row));
    return true;
  } catch (error) {
    if (error instanceof SecretError) return false;
    throw error;
  }
}
