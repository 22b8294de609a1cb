import { cp, mkdir, readFile, symlink } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { afterEach, expect, test } from 'vitest';
import { NODE_ARGUMENTS, NODE_ENVIRONMENT } from '../support/processes/node-arguments.ts';
import { checkout, endProcesses, run, temporaryDirectory } from '../support/processes/process.ts';

afterEach(endProcesses);

test('the container image holds every file that the gateway, the worker and the command line load', async () => {
  const dockerfile = await readFile(join(checkout, 'Dockerfile'), 'utf8');
  const ignored = (await readFile(join(checkout, '.dockerignore'), 'utf8')).split('\n');
  const copied = [...dockerfile.matchAll(/^COPY (?!--)(.*) \S+$/gm)].flatMap(([, paths = '']) => paths.split(' '));
  expect(copied).toContain('src');
  const image = await temporaryDirectory();
  for (const path of new Set(copied)) {
    // What the builder is not given it cannot copy.
    expect(ignored).toContain(`!${path}`);
    await mkdir(dirname(join(image, path)), { recursive: true });
    await cp(join(checkout, path), join(image, path), { recursive: true });
  }
  await symlink(join(checkout, 'node_modules'), join(image, 'node_modules'));
  const start = (file: string, ...args: string[]) =>
    // Compiled code of this copy would stay in the cache of the checkout.
    run([process.execPath, join(image, file), ...args], {
      PORT: 'none',
      DATA_DIR: image,
      NODE_DISABLE_COMPILE_CACHE: '1',
    });
  // They read their configuration once all is loaded.
  for (const file of ['src/main.ts', 'src/worker.ts'])
    expect(await start(file)).toMatchObject({ code: 1, stderr: expect.stringMatching(/^PORT: /) });
  expect(await start('src/cli.ts', '--help')).toMatchObject({ code: 0, stderr: '' });
});

test('containers and tests give node the arguments that npm start gives it, and tests its variables', async () => {
  const commandIn = async (file: string, line: RegExp) =>
    line
      .exec(await readFile(join(checkout, file), 'utf8'))?.[1]
      ?.replaceAll('"', '')
      .split(', ');
  expect(NODE_ARGUMENTS).not.toEqual([]);
  expect(NODE_ENVIRONMENT).toEqual({ NODE_COMPILE_CACHE: expect.stringContaining('node_modules/') });
  const command = (program: string) => ['node', ...NODE_ARGUMENTS, program];
  expect(await commandIn('Dockerfile', /^CMD \[(.*)\]$/m)).toEqual(command('src/main.ts'));
  expect(await commandIn('compose.yaml', /^ +command: \[(.*)\]$/m)).toEqual(command('src/worker.ts'));
});
