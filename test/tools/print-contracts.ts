/** Prints the published contracts from the code into the files that are checked in: `npm run contracts`. */
import { writeFile } from 'node:fs/promises';
import { contracts } from '../../src/gateway/print-contracts.ts';

for (const [file, print] of Object.entries(contracts)) await writeFile(file, print());
