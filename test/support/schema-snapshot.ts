import { readFile } from 'node:fs/promises';
import { z } from 'zod';
import { type Database, openDatabase } from '../../src/core/postgres/connections.ts';
import { entities } from '../../src/gateway/modules.ts';

const snapshot = z.object({ tables: z.array(z.object({ name: z.string() })) });

/**
 * Opens the entities for a comparison with the snapshot of the last migration, which needs no server. The snapshot does
 * not record how tables are partitioned. The partitioning of existing tables is therefore removed; otherwise every
 * comparison would report it as a difference.
 */
export async function openSnapshot(): Promise<Database> {
  const database = await openDatabase({ url: 'postgresql://127.0.0.1/unused', entities });
  const { tables } = snapshot.parse(
    JSON.parse(await readFile(new URL('../../migrations/.snapshot.json', import.meta.url), 'utf8')),
  );
  const known = new Set(tables.map(({ name }) => name));
  for (const meta of database.getMetadata().getAll().values()) if (known.has(meta.tableName)) delete meta.partitionBy;
  return database;
}
