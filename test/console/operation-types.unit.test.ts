import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { OPERATIONS } from '../../src/console/parts/operations.ts';
import { schema } from '../../src/gateway/schema.ts';
import { checkout } from '../support/processes/programs.ts';
import { consoleBounds } from '../tools/console-bounds.ts';
import { consoleTypes } from '../tools/console-types.ts';

test("the types of the console's operations match the schema; if not, run: npm run contracts", async () => {
  const file = await readFile(join(checkout, 'src/console/generated/operation-types.ts'), 'utf8');
  expect(file).toBe(consoleTypes(schema, OPERATIONS));
});

test('the bounds of the texts that forms send match the input types; if not, run: npm run contracts', async () => {
  const file = await readFile(join(checkout, 'src/console/generated/text-bounds.ts'), 'utf8');
  expect(file).toBe(consoleBounds(schema, OPERATIONS));
  expect(file).toMatch(/ CreateSession: \{ agent: 500, .* title: 1000 \},/);
  expect(file).toContain('  AddEventProperty: { description: 10000, eventName: 255, label: 50, name: 50 },');
  expect(file).toContain('  HoldSession: { reason: 1000 },');
});

test('the error for an operation that does not match the schema names the operation', () => {
  expect(() => consoleTypes(schema, { Wrong: '{ viewer { nickname } }' })).toThrow(
    'src/console/parts/operations.ts, Wrong: Cannot query field "nickname" on type "Viewer".',
  );
});
