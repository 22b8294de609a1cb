/** `npm run contracts`: writes the generated files: the published contracts, the types of the console's operations, the cache policies of
 * docs/clients.md and the dashboard. */
import { writeFile } from 'node:fs/promises';
import { OPERATIONS } from '../../src/console/operations.ts';
import { contracts } from '../../src/gateway/print-contracts.ts';
import { schema } from '../../src/gateway/schema.ts';
import { cachePolicies } from './cache-policies.ts';
import { consoleTypes } from './console-types.ts';
import { dashboard } from './dashboard.ts';

for (const [file, print] of Object.entries(contracts)) await writeFile(file, print());
await writeFile('src/console/operation-types.ts', consoleTypes(schema, OPERATIONS));
await writeFile('docs/examples/clients/cache-policies.ts', cachePolicies(schema));
await writeFile('deploy/grafana/dashboard.json', `${JSON.stringify(dashboard(), undefined, 2)}\n`);
