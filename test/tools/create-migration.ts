/**
 * Writes a migration from the last snapshot to the current entities: `npm run migration:create`. Read it before you commit it;
 * `test/gateway/contracts.test.ts` runs every migration up, down and up again.
 */
import { execFileSync } from 'node:child_process';
import { join } from 'node:path';
import { MIGRATIONS } from '../../src/core/postgres/connections.ts';
import { openSnapshot } from '../support/schema-snapshot.ts';

const database = await openSnapshot();
const { fileName } = await database.migrator.create();
if (fileName !== '') execFileSync('oxfmt', [join(MIGRATIONS, fileName)]);
console.log(fileName === '' ? 'nothing to migrate' : fileName);
await database.close();
