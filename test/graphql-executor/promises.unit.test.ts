import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import { expect, test } from 'vitest';
import { NODE_ENVIRONMENT, checkout } from '../support/processes/programs.ts';

test('a rejection that nothing awaits any longer does not end the process', async () => {
  const { stdout } = await promisify(execFile)(
    process.execPath,
    ['--no-warnings', 'test/support/executor/rejections.ts'],
    { cwd: checkout, env: { ...process.env, ...NODE_ENVIRONMENT } },
  );
  expect(stdout).toBe(`in a list: gave_up: nested_promise at Query.list
in a property: gave_up: nested_promise at Query.a
in a list that resolves later, after another field has failed: gave_up: error_value at Query.list
of a field that is done after others have failed: gave_up: threw at Query.a
from a getter: gave_up: nested_promise at Query.a
in a set: gave_up: not_an_array at Query.list
of resolveType: gave_up: unresolved_type at Query.u
of isTypeOf, after another type was found: compiled
`);
});
