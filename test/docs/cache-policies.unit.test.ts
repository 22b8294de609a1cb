import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { schema } from '../../src/gateway/schema.ts';
import { checkout } from '../support/processes/programs.ts';
import { cachePolicies } from '../tools/cache-policies.ts';

test('the cache policies of docs/clients.md match the schema; if not, run: npm run contracts', async () => {
  const file = await readFile(join(checkout, 'docs/examples/clients/cache-policies.ts'), 'utf8');
  expect(file).toBe(cachePolicies(schema));
});
