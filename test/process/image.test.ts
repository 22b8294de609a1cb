import { once } from 'node:events';
import { existsSync } from 'node:fs';
import { chmod, readFile, readdir } from 'node:fs/promises';
import { type AddressInfo, createServer } from 'node:net';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { type Stage, buildIn } from '../support/dockerfile.ts';
import { GATEWAY, checkout, commandOf } from '../support/processes/programs.ts';
import { freePort } from '../support/processes/ports.ts';
import { endProcesses, emptyDatabase, run, start, temporaryDirectory } from '../support/processes/process.ts';

/** Every step of the Dockerfile runs in empty folders, with this machine instead of the base image and without a container. */

let image: Stage;
let env: Record<string, string>;
beforeAll(async () => {
  const folder = await temporaryDirectory();
  await chmod(folder, 0o755);
  image = await buildIn(folder, checkout);
  const compiled = await temporaryDirectory();
  await chmod(compiled, 0o777);
  env = {
    ...image.environment,
    NODE_COMPILE_CACHE: compiled,
    ...(await emptyDatabase()),
    HOST: '127.0.0.1',
    DATA_DIR: '/nowhere',
  };
});
afterAll(endProcesses);

interface Packages {
  readonly dependencies: object;
  readonly devDependencies: object;
}

const inImage = () => join(image.root, image.workingDirectory);

/** The files of the image belong to root, and the gateway runs as another user, so it can write only to /tmp. */
const account = process.getuid?.() === 0 ? { uid: 1000, gid: 1000 } : {};

/** Runs a command in the image. */
const started = (command: readonly string[], variables: Record<string, string> = {}) =>
  start(command, { ...env, ...variables }, { cwd: inImage(), ...account });

async function healthOf(variables: Record<string, string>): Promise<number | null> {
  const { exited } = started(image.healthCheck, variables);
  return exited;
}

test('the image has a base with a digest and a title, and does not run as root', () => {
  expect(image.base).toMatch(/^node:24-bookworm-slim@sha256:[0-9a-f]{64}$/);
  expect(image.user).toBe('node');
  expect(image.labels).toContain('org.opencontainers.image.title="workspace-gateway"');
});

test('the image is made of production packages and files alone, for any architecture, and runs the jobs by default', async () => {
  const lines = (await readFile(join(checkout, 'Dockerfile'), 'utf8'))
    .split('\n')
    .filter((line) => !line.startsWith('#'));
  expect(lines.filter((line) => /amd64|arm64|x86_64|aarch64|--platform|apt-get|curl|--privileged/.test(line))).toEqual(
    [],
  );
  expect((await readdir(inImage())).toSorted()).toEqual([
    'LICENSE',
    'bin',
    'migrations',
    'node_modules',
    'package.json',
    'src',
  ]);
  const { dependencies, devDependencies } = JSON.parse(
    await readFile(join(checkout, 'package.json'), 'utf8'),
  ) as Packages;
  const isIn = (name: string) => existsSync(join(inImage(), 'node_modules', name));
  expect(Object.keys(dependencies).filter((name) => !isIn(name))).toEqual([]);
  const others = Object.keys(devDependencies).filter((name) => !name.startsWith('@types/') && isIn(name));
  expect(others).toEqual([]);
  expect(image.environment).not.toHaveProperty('RUN_JOBS');
  expect(image.environment).toMatchObject({ NODE_ENV: 'production', GATEWAY_BUILD: 'unknown' });
  expect(image.labels).toContain('org.opencontainers.image.revision=unknown');
});

test('the label of the image has the version of package.json', async () => {
  const { version } = JSON.parse(await readFile(join(checkout, 'package.json'), 'utf8')) as { version: string };
  expect(image.labels).toContain(`org.opencontainers.image.version="${version}"`);
});

test('the gateway and the worker of the image start, are healthy, and answer requests', async () => {
  const [PORT, WORKER_PORT] = [String(await freePort()), String(await freePort())];
  expect(await healthOf({ PORT })).toBe(1);
  const gateway = started(image.command, { PORT, RUN_JOBS: 'false' });
  await expect.poll(() => gateway.output.stdout).toContain('Workspace gateway is ready.');
  expect(await healthOf({ PORT })).toBe(0);
  const { build } = (await (await fetch(`http://127.0.0.1:${PORT}/health/live`)).json()) as { build: string };
  expect(build).toBe('unknown');
  expect((await fetch(`http://127.0.0.1:${PORT}/docs`)).status).toBe(200);
  expect((await fetch(`http://127.0.0.1:${PORT}/graphql`, { headers: { Accept: 'text/html' } })).status).toBe(200);

  expect(await healthOf({ PORT, WORKER_PORT })).toBe(1);
  const HOST = '::1';
  const worker = started(await workerCommand(), { HOST, PORT, WORKER_PORT });
  await expect.poll(() => worker.output.stdout).toContain('Worker is ready.');
  // At the address where it listens, which need not be every one.
  expect(await healthOf({ HOST, PORT, WORKER_PORT })).toBe(0);
  expect(await healthOf({ PORT, WORKER_PORT })).toBe(1);
  const pages = ['/health/live', '/metrics', '/graphql'].map((path) => fetch(`http://[::1]:${WORKER_PORT}${path}`));
  expect((await Promise.all(pages)).map(({ status }) => status)).toEqual([200, 200, 404]);

  const cli = started(['bin/gateway', 'cli', 'keys', 'create', '--email', 'a@example.com', '--organization', 'a']);
  expect(await cli.exited).toBe(0);
  expect(cli.output.stdout).toMatch(/"key":"wgk_/);
  for (const { child, exited } of [gateway, worker]) {
    child.kill('SIGTERM');
    expect(await exited).toBe(0);
  }
  expect([gateway.output.stderr, worker.output.stderr]).toEqual(['', '']);
});

test('a worker whose port is taken does not start', async () => {
  const other = createServer().listen(0, '127.0.0.1');
  await once(other, 'listening');
  const { port } = other.address() as AddressInfo;
  expect(await run([GATEWAY, 'worker'], { ...env, WORKER_PORT: `${port}` })).toEqual({
    code: 1,
    stdout: '',
    stderr: `WORKER_PORT: another program already listens on port ${port} of 127.0.0.1\n`,
  });
  other.close();
});

const workerCommand = async () => commandOf(await readFile(join(checkout, 'compose.yaml'), 'utf8'));

test('containers start bin/gateway', async () => {
  expect(image.command).toEqual(['bin/gateway', 'start']);
  expect(await workerCommand()).toEqual(['bin/gateway', 'worker']);
});
