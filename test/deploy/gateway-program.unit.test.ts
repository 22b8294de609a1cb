import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { copyFile, mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { GATEWAY } from '../support/processes/programs.ts';

/** A copy of bin/gateway, with a program in place of Node.js that prints how it was started and ends with status 7. */

const NODE = `#!/bin/sh
echo $$
for each in "$@"; do echo "$each"; done
echo "$NODE_COMPILE_CACHE $MALLOC_ARENA_MAX $MALLOC_MMAP_THRESHOLD_"
exit 7
`;

let folder: string;
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'gateway-program-'));
  await mkdir(join(folder, 'bin'));
  await copyFile(GATEWAY, join(folder, 'bin/gateway'));
  await writeFile(join(folder, 'node'), NODE, { mode: 0o755 });
});
afterAll(() => rm(folder, { recursive: true, force: true }));

async function gateway(
  args: readonly string[],
  variables: Record<string, string> = {},
  program = join(folder, 'bin/gateway'),
) {
  const env = { PATH: `${folder}:${process.env['PATH']}`, ...variables };
  const child = spawn(program, args, { cwd: folder, env, stdio: ['ignore', 'pipe', 'pipe'] });
  const outputs = Promise.all([text(child.stdout), text(child.stderr)]);
  const [code] = await once(child, 'exit');
  const [stdout, stderr] = await outputs;
  return { code, stderr, lines: stdout.replace(`${child.pid}\n`, 'the same process\n').split('\n') };
}

const check = () => `--require=${folder}/src/check-node-version.cjs`;
const FLAGS = ['--max-semi-space-size=24', '--min-semi-space-size=16', '--no-allocation-site-pretenuring'];
const compiled = () => `${folder}/node_modules/.cache/compiled`;

test.for([
  { args: [], program: 'main' },
  { args: ['start'], program: 'main' },
  { args: ['worker'], program: 'worker' },
])(
  '$args runs src/$program.ts with the flags of a server, from any folder, and ends with its status',
  async ({ args, program }) => {
    const lines = ['the same process', ...FLAGS, check(), `${folder}/src/${program}.ts`, `${compiled()} 2 131072`, ''];
    expect(await gateway(args)).toEqual({ code: 7, stderr: '', lines });
  },
);

test('the command line gets its arguments unchanged, and none of those flags', async () => {
  const args = ['keys', 'create', '--email', 'a b', '', '*'];
  const lines = ['the same process', check(), `${folder}/src/cli.ts`, ...args, `${compiled()}  `, ''];
  expect(await gateway(['cli', ...args])).toEqual({ code: 7, stderr: '', lines });
});

test('variables that are set are kept', async () => {
  const variables = { NODE_COMPILE_CACHE: '/tmp/compiled', MALLOC_ARENA_MAX: '4', MALLOC_MMAP_THRESHOLD_: '1' };
  expect((await gateway(['start'], variables)).lines.at(-2)).toBe('/tmp/compiled 4 1');
});

test('with an old Node.js first in the path, as systemd may find it, the Node.js that npm ci has installed is used', async () => {
  const variables = {
    PATH: `${folder}:/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin`,
    NODE_ENV: 'production',
  };
  const { code, stderr, lines } = await gateway(['--version'], variables, GATEWAY);
  expect({ code, stderr, lines }).toEqual({
    code: 0,
    stderr: '',
    lines: [expect.stringMatching(/^\d+\.\d+\.\d+/), ''],
  });
});

test('another program is refused with the usage and status 2', async () => {
  expect(await gateway(['stop'])).toEqual({
    code: 2,
    stderr: 'usage: gateway [start | worker | cli COMMAND… | --version]; "gateway cli --help" lists the commands\n',
    lines: [''],
  });
});
