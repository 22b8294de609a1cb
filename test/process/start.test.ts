import { once } from 'node:events';
import { stat, writeFile } from 'node:fs/promises';
import { type AddressInfo, createServer } from 'node:net';
import { join } from 'node:path';
import { pino } from 'pino';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { ConfigurationError, readConfig } from '../../src/core/config.ts';
import { assemble } from '../../src/gateway/assemble.ts';
import { BUILD, VERSION, VERSION_AND_BUILD } from '../../src/core/version.ts';
import { createLog } from '../../src/gateway/telemetry/logging.ts';
import { query } from '../support/processes/embedded-postgres.ts';
import {
  type Finished,
  type GatewayProcess,
  call,
  endProcesses,
  emptyDatabase,
  run,
  startGateway,
  temporaryDirectory,
} from '../support/processes/process.ts';
import { GATEWAY, checkout } from '../support/processes/programs.ts';

const main = (env: Record<string, string>) => run([GATEWAY, 'start'], env);

const ENCRYPTION_KEYS = `k1:${Buffer.alloc(32, 1).toString('base64')}`;

afterAll(endProcesses);

async function throughBothApis({ url, key }: Pick<GatewayProcess, 'url' | 'key'>) {
  const rest = await call(url, key, 'GET', '/events/2026-03/event-definitions');
  const graphql = await call(url, key, 'POST', '/graphql', {
    query: '{ viewer { organization { slug eventDefinitions { nodes { name } } } } }',
  });
  return { rest: rest.status, graphql: graphql.body };
}

test('a start of PostgreSQL that takes long says so', async () => {
  const said: string[] = [];
  const log = pino({ base: null, timestamp: false }, { write: (line: string) => void said.push(line) });
  const config = readConfig({ DATA_DIR: await temporaryDirectory() });
  const assembly = await assemble(config, log, { longStartMs: 0 });
  await assembly.close();
  expect(said.map((line) => (JSON.parse(line) as { msg: string }).msg)).toContain('starting PostgreSQL…');
});

const demoAnswers = {
  rest: 200,
  graphql: expect.objectContaining({
    data: {
      viewer: {
        organization: {
          slug: 'demo',
          eventDefinitions: { nodes: [{ name: 'order_completed' }, { name: 'product_viewed' }] },
        },
      },
    },
  }),
};

describe('with a new data directory', () => {
  /** Without the line that says that a start takes long, on a busy machine. */
  const LOG_LEVEL = 'warn';
  let DATA_DIR: string;
  let takenPort: string;
  let refused: Finished;
  let first: GatewayProcess;
  beforeAll(async () => {
    DATA_DIR = await temporaryDirectory();
    const other = createServer().listen(0, '127.0.0.1');
    await once(other, 'listening');
    takenPort = `${(other.address() as AddressInfo).port}`;
    refused = await main({ DATA_DIR, PORT: takenPort, LOG_LEVEL });
    other.close();
    first = await startGateway({ DATA_DIR, LOG_LEVEL });
  });

  test('the gateway does not start if another program has its port, and prints one line about it', () => {
    expect(refused).toEqual({
      code: 1,
      stdout: '',
      stderr: `PORT: another program already listens on port ${takenPort} of 127.0.0.1\n`,
    });
  });

  test('the first successful start prints a message with a key that works on both APIs', async () => {
    const { stdout } = first.output;
    const token = /token=([\w-]{43})\n/.exec(stdout)?.[1] ?? '';
    const anonymous = stdout
      .replaceAll(first.url, 'URL')
      .replaceAll(first.key, 'KEY')
      .replace(token, 'TOKEN')
      .replace(DATA_DIR, 'FOLDER')
      .replace(VERSION_AND_BUILD, 'VERSION');
    expect(anonymous).toMatchInlineSnapshot(`
      "
        Open this link to sign in (once, within 10 minutes):

          URL/sign-in?token=TOKEN

        Workspace gateway is ready.

          Console         URL/
          GraphiQL        URL/graphql
          REST reference  URL/docs
          Version         VERSION
          API key         KEY   (shown only once)
          Data            FOLDER; "cli database copy" takes it to your own PostgreSQL

          curl URL/events/2026-03/event-definitions -H "Authorization: Bearer KEY"

      "
    `);
    expect(first.output.stderr).toBe('');
    expect(await throughBothApis(first)).toEqual(demoAnswers);
    const signIn = () => fetch(`${first.url}/sign-in?token=${token}`, { redirect: 'manual' });
    expect([(await signIn()).status, (await signIn()).status]).toEqual([200, 401]);
  });

  test('only the owner can read the file with the encryption key', async () => {
    expect((await stat(join(DATA_DIR, 'encryption-keys'))).mode & 0o777).toBe(0o600);
  });

  test('a second gateway is refused with the process id of the first, which continues to serve', async () => {
    expect(await main({ DATA_DIR, PORT: '0', LOG_LEVEL })).toEqual({
      code: 1,
      stdout: '',
      stderr: `DATA_DIR: Another gateway (process ${first.pid}) uses the database in ${DATA_DIR}. Stop it, or give this one another DATA_DIR or DATABASE_URL.\n`,
    });
    expect((await throughBothApis(first)).rest).toBe(200);
  });

  test('the next start keeps the data and prints no key; SIGTERM and SIGINT end a gateway with status 0', async () => {
    expect(await first.end('SIGTERM')).toBe(0);
    const second = await startGateway({ DATA_DIR, LOG_LEVEL });
    const printed = second.output.stdout.replaceAll(second.url, 'URL').replace(VERSION_AND_BUILD, 'VERSION');
    expect(printed.replace(DATA_DIR, 'FOLDER')).toMatchInlineSnapshot(`
      "
        Workspace gateway is ready.

          Console         URL/
          GraphiQL        URL/graphql
          REST reference  URL/docs
          Version         VERSION
          API key         create one with: DATA_DIR='FOLDER' npm run --silent cli -- keys create --email demo@example.com --organization demo

          curl URL/events/2026-03/event-definitions -H "Authorization: Bearer $KEY"

      "
    `);
    const signIn = await (await fetch(`${second.url}/sign-in`, { headers: { Accept: 'text/html' } })).text();
    const command = / {4}API key {9}create one with: (.*)/.exec(second.output.stdout)?.[1] ?? '';
    expect(signIn).toContain(`<pre>${command.replaceAll("'", '&#39;')}</pre>`);
    expect(await throughBothApis({ url: second.url, key: first.key })).toEqual(demoAnswers);
    expect(await second.end('SIGINT')).toBe(0);
  });
});

describe('an unusable configuration prevents the start with one line and status 1', () => {
  // test/core/config.unit.test.ts tests which values are refused.
  test('an invalid value', async () => {
    expect(await main({ PORT: 'abc' })).toEqual({
      code: 1,
      stdout: '',
      stderr: 'PORT: must be a whole number from 0 to 65535\n',
    });
  });

  test('a database that does not answer', async () => {
    const DATABASE_URL = 'postgresql://user:password@127.0.0.1:1/gateway';
    expect(await main({ DATABASE_URL, ENCRYPTION_KEYS })).toEqual({
      code: 1,
      stdout: '',
      stderr: 'DATABASE_URL: the database does not answer: connect ECONNREFUSED 127.0.0.1:1\n',
    });
  });

  const assembling = (env: Record<string, string>) => assemble(readConfig(env), createLog('silent'));

  test('a data directory that cannot be created', async () => {
    await expect(assembling({ DATA_DIR: '/dev/null/data' })).rejects.toThrow(
      new ConfigurationError("DATA_DIR: ENOTDIR: not a directory, mkdir '/dev/null/data'"),
    );
  });

  test('a key file that other users can read', async () => {
    const DATA_DIR = await temporaryDirectory();
    await writeFile(join(DATA_DIR, 'encryption-keys'), 'k1:x', { mode: 0o644 });
    await expect(assembling({ DATA_DIR })).rejects.toThrow(
      new ConfigurationError(
        `DATA_DIR: key file ${DATA_DIR}/encryption-keys must be closed to group and others (chmod 600)`,
      ),
    );
  });
});

test('two gateways that start at the same time on an empty database migrate it once, and both serve', async () => {
  const env = await emptyDatabase();
  const gateways = await Promise.all([startGateway(env), startGateway(env)]);
  expect(
    await query(env.DATABASE_URL, 'select name from mikro_orm_migrations group by name having count(*) > 1'),
  ).toEqual([]);
  expect(await query(env.DATABASE_URL, 'select count(*) > 0 as migrated from mikro_orm_migrations')).toEqual([
    { migrated: true },
  ]);
  const states = await Promise.all(gateways.map(({ url }) => call(url, '', 'GET', '/health/ready')));
  expect(states).toEqual(
    gateways.map(() => ({ status: 200, body: { status: 'ready', version: VERSION, build: BUILD } })),
  );
});

test('a gateway and a command name a variable that looks like a misspelled setting', async () => {
  const env = { ...(await emptyDatabase()), RATE_LIMIT_PER_MINUT: '5' };
  const line = 'RATE_LIMIT_PER_MINUT: is not a setting; did you mean RATE_LIMIT_PER_MINUTE?';
  const gateway = await startGateway(env);
  expect(gateway.output.stdout).toContain(`"msg":"${line}"`);
  const command = await run([GATEWAY, 'cli', 'organizations', 'list'], env);
  expect(command).toEqual({ code: 0, stdout: '', stderr: `${line}\n` });
});

test('without an endpoint the OpenTelemetry SDK is not loaded', async () => {
  // Prints only matching modules, because the process ends immediately and would not wait until a longer list is written.
  const hooks = `import { registerHooks } from 'node:module';
    import { writeSync } from 'node:fs';
    registerHooks({ resolve(name, context, next) {
      const found = next(name, context);
      if (/opentelemetry|gateway.dependencies/.test(found.url)) writeSync(1, found.url + '\\n');
      return found;
    } });`;
  const { stdout, stderr } = await run(
    [process.execPath, '--import', `data:text/javascript,${encodeURIComponent(hooks)}`, 'src/main.ts'],
    { PORT: 'no port' },
  );
  expect(stderr).toMatch(/^PORT: /);
  expect(stdout).toContain(`${checkout}/src/gateway/dependencies.ts`);
  expect(stdout).not.toMatch(/opentelemetry\.ts|@opentelemetry\/(?:sdk|exporter|otlp|resources)/);
});
