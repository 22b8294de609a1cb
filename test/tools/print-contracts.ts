/** `npm run contracts`: writes the generated files: the published contracts, the types and bounds of the console's operations, the cache policies of
 * docs/clients.md, the tables of settings and the dashboard. */
import { writeFile } from 'node:fs/promises';
import { OPERATIONS } from '../../src/console/parts/operations.ts';
import { contracts } from '../../src/gateway/print-contracts.ts';
import { schema } from '../../src/gateway/schema.ts';
import { cachePolicies } from './cache-policies.ts';
import { consoleBounds } from './console-bounds.ts';
import { consoleTypes } from './console-types.ts';
import { dashboard } from './dashboard.ts';
import { SETTINGS_PAGES, withSettings } from './settings-tables.ts';

for (const [file, print] of Object.entries(contracts)) await writeFile(file, print());
await writeFile('src/console/generated/operation-types.ts', consoleTypes(schema, OPERATIONS));
await writeFile('src/console/generated/text-bounds.ts', consoleBounds(schema, OPERATIONS));
await writeFile('docs/examples/clients/cache-policies.ts', cachePolicies(schema));
for (const [page, source] of Object.entries(SETTINGS_PAGES)) await writeFile(page, withSettings(page, source));
await writeFile('deploy/grafana/dashboard.json', `${JSON.stringify(dashboard(), undefined, 2)}\n`);
