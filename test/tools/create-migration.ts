/**
 * Writes a migration from the last snapshot to the current entities: `npm run migration:create`. Read it before you commit it;
 * `test/gateway/contracts.test.ts` runs every migration up, down and up again.
 */
import { openSnapshot } from '../support/schema-snapshot.ts';

const database = await openSnapshot();
const { fileName } = await database.migrator.create();
console.log(fileName === '' ? 'nothing to migrate' : fileName);
await database.close();
