import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { GATEWAY, checkout } from '../support/processes/programs.ts';

/** bin/gateway, with a program in place of Node.js that prints how it was started and ends with status 7. */

const NODE = `#!/bin/sh
echo $$
for each in "$@"; do echo "$each"; done
echo "$NODE_COMPILE_CACHE $MALLOC_ARENA_MAX $MALLOC_MMAP_THRESHOLD_"
exit 7
`;

let folder: string;
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'gateway-program-'));
  await writeFile(join(folder, 'node'), NODE, { mode: 0o755 });
});
afterAll(() => rm(folder, { recursive: true, force: true }));

async function gateway(args: readonly string[], variables: Record<string, string> = {}) {
  const env = { PATH: `${folder}:${process.env['PATH']}`, ...variables };
  const child = spawn(GATEWAY, args, { cwd: folder, env, stdio: ['ignore', 'pipe', 'pipe'] });
  const outputs = Promise.all([text(child.stdout), text(child.stderr)]);
  const [code] = await once(child, 'exit');
  const [stdout, stderr] = await outputs;
  return { code, stderr, lines: stdout.replace(`${child.pid}\n`, 'the same process\n').split('\n') };
}

const CHECK = `--require=${checkout}/src/check-node-version.cjs`;
const FLAGS = ['--max-semi-space-size=24', '--min-semi-space-size=16', '--no-allocation-site-pretenuring', CHECK];
const COMPILED = `${checkout}/node_modules/.cache/compiled`;

test.for([
  { args: [], program: 'main' },
  { args: ['start'], program: 'main' },
  { args: ['worker'], program: 'worker' },
])(
  '$args runs src/$program.ts with the flags of a server, from any folder, and ends with its status',
  async ({ args, program }) => {
    const lines = ['the same process', ...FLAGS, `${checkout}/src/${program}.ts`, `${COMPILED} 2 131072`, ''];
    expect(await gateway(args)).toEqual({ code: 7, stderr: '', lines });
  },
);

test('the command line gets its arguments unchanged, and none of those flags', async () => {
  const args = ['keys', 'create', '--email', 'a b', '', '*'];
  const lines = ['the same process', CHECK, `${checkout}/src/cli.ts`, ...args, `${COMPILED}  `, ''];
  expect(await gateway(['cli', ...args])).toEqual({ code: 7, stderr: '', lines });
});

test('variables that are set are kept', async () => {
  const variables = { NODE_COMPILE_CACHE: '/tmp/compiled', MALLOC_ARENA_MAX: '4', MALLOC_MMAP_THRESHOLD_: '1' };
  expect((await gateway(['start'], variables)).lines.at(-2)).toBe('/tmp/compiled 4 1');
});

test('another program is refused with the usage and status 2', async () => {
  expect(await gateway(['stop'])).toEqual({
    code: 2,
    stderr: 'usage: gateway [start | worker | cli COMMAND…]\n',
    lines: [''],
  });
});
