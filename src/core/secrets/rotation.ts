import type { EntityManager } from '@mikro-orm/postgresql';

const BATCH = 200;

export interface Rotation<Row> {
  /** Reads and locks at most `limit` rows after the given one, in a fixed order. */
  readonly read: (em: EntityManager, after: Row | undefined, limit: number) => Promise<Row[]>;
  /** Encrypts the values of a row again, if they are not encrypted with the current key. @returns whether it did. */
  readonly reseal: (row: Row) => Promise<boolean>;
}

/**
 * Encrypts stored values again with the current key, in batches with separate transactions. It can be interrupted and run again, while the
 * gateway runs. @returns the number of changed rows.
 */
export async function rotate<Row>(em: EntityManager, { read, reseal }: Rotation<Row>): Promise<number> {
  let rotated = 0;
  let after: Row | undefined;
  for (;;) {
    const batch = await em.fork().transactional(async (transaction) => {
      const rows = await read(transaction, after, BATCH);
      for (const row of rows) if (await reseal(row)) rotated += 1;
      return rows;
    });
    after = batch.at(-1);
    if (batch.length < BATCH) return rotated;
  }
}
