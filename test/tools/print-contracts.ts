/** Prints what is checked in from the code: the published contracts, and the types of the console's operations. `npm run contracts`. */
import { writeFile } from 'node:fs/promises';
import { OPERATIONS } from '../../src/console/operations.ts';
import { contracts } from '../../src/gateway/print-contracts.ts';
import { schema } from '../../src/gateway/schema.ts';
import { consoleTypes } from './console-types.ts';

for (const [file, print] of Object.entries(contracts)) await writeFile(file, print());
await writeFile('src/console/operation-types.ts', consoleTypes(schema, OPERATIONS));
