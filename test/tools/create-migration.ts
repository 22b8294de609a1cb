/** Writes a migration for what the entities say and the migrations do not: `npm run migration:create`. */
import { openDatabase } from '../../src/core/database.ts';
import { startEmbeddedPostgres } from '../../src/core/embedded-postgres.ts';
import { entities } from '../../src/gateway/entities.ts';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

const dataDir = await mkdtemp(join(tmpdir(), 'gateway-migration-'));
const postgres = await startEmbeddedPostgres({ dataDir, log: () => undefined, settings: { fsync: 'off' } });
try {
  const database = await openDatabase({ url: postgres.url, entities });
  await database.migrator.up();
  const { fileName } = await database.migrator.create();
  console.log(fileName === '' ? 'nothing to migrate' : fileName);
  await database.close();
} finally {
  await postgres.stop();
  await rm(dataDir, { recursive: true, force: true });
}
