/**
 * Writes a migration for what the entities say and the last migration's snapshot does not: `npm run migration:create`. Read it before it
 * is committed; `test/contract.test.ts` runs every migration up, down and up again.
 */
import { openSnapshot } from '../support/schema-snapshot.ts';

const database = await openSnapshot();
const { fileName } = await database.migrator.create();
console.log(fileName === '' ? 'nothing to migrate' : fileName);
await database.close();
