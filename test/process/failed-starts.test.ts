import { once } from 'node:events';
import { appendFile, readFile, writeFile } from 'node:fs/promises';
import { type AddressInfo, createServer } from 'node:net';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { readConfig } from '../../src/core/config.ts';
import { findRunningEmbeddedPostgres } from '../../src/core/postgres/embedded/server.ts';
import { assemble } from '../../src/gateway/assemble.ts';
import type { Dependencies } from '../../src/gateway/dependencies.ts';
import { prepareDatabase } from '../../src/gateway/prepare-database.ts';
import { createLog } from '../../src/gateway/telemetry/logging.ts';
import { processesOf, query } from '../support/processes/embedded-postgres.ts';
import { call, endProcesses, run, start, startGateway, temporaryDirectory } from '../support/processes/process.ts';
import { GATEWAY } from '../support/processes/programs.ts';

/** A start that fails after something was started: one line says why, everything is stopped, and the status is 1. */

/** A data directory whose database is migrated and has no organization yet, so that a start creates the demo workspace. */
let DATA_DIR: string;
/** A port that another program has. */
let taken: string;
const other = createServer();
beforeAll(async () => {
  DATA_DIR = await temporaryDirectory();
  await inDatabase(prepareDatabase);
  await once(other.listen(0, '127.0.0.1'), 'listening');
  taken = `${(other.address() as AddressInfo).port}`;
});
afterAll(async () => {
  other.close();
  await endProcesses();
});

/** Works in the database of the data directory, while no gateway has it. */
async function inDatabase(work: (dependencies: Dependencies) => Promise<unknown>): Promise<void> {
  const assembly = await assemble(readConfig({ DATA_DIR }), createLog('silent'));
  try {
    await work(assembly.dependencies);
  } finally {
    await assembly.close();
  }
}
const change = (statement: string) => inDatabase(({ database }) => database.em.fork().execute(statement));

const REFUSAL = 'refused by a test';
/** Statements that let the database refuse, or accept again, new rows of a table. */
const refuse = (table: string) => `
  create function refuse() returns trigger language plpgsql as $$ begin raise exception '${REFUSAL}'; end $$;
  create trigger refuse before insert on ${table} for each statement execute function refuse()`;
const ACCEPT = 'drop function refuse cascade';

const launch = (program: 'start' | 'worker', env: Record<string, string> = {}) =>
  run([GATEWAY, program], { DATA_DIR, PORT: '0', LOG_LEVEL: 'warn', ...env });
/** A database that needs longer than a stop may take ends after the gateway. */
const expectNothingLeft = () => expect.poll(() => processesOf(DATA_DIR)).toEqual([]);
const failed = (line: string) => ({ code: 1, stdout: '', stderr: `${line}\n` });

test.each([
  ['start', 'the key of the demo workspace', 'api_key'],
  ['start', 'the jobs', 'pgboss.schedule'],
  ['worker', 'the jobs', 'pgboss.schedule'],
] as const)('%s, when the database refuses %s', async (program, _, table) => {
  await change(refuse(table));
  expect(await launch(program)).toEqual(failed(`DATA_DIR: ${REFUSAL}`));
  await expectNothingLeft();
  await change(ACCEPT);
});

test.each([
  ['start', 'PORT'],
  ['worker', 'WORKER_PORT'],
] as const)('%s, when another program has its port', async (program, variable) => {
  expect(await launch(program, { [variable]: taken })).toEqual(
    failed(`${variable}: another program already listens on port ${taken} of 127.0.0.1`),
  );
  await expectNothingLeft();
});

test.each([
  ['PUBLIC_URL', 'gateway.example.com', 'must be an http(s) URL without user, query and fragment'],
  ['PERSISTED_OPERATIONS', '/nowhere', "ENOENT: no such file or directory, stat '/nowhere'"],
  ['MCP_DOCUMENTS', '/nowhere', "ENOENT: no such file or directory, scandir '/nowhere'"],
])('a wrong %s', async (variable, value, fault) => {
  expect(await launch('start', { [variable]: value })).toEqual(failed(`${variable}: ${fault}`));
  await expectNothingLeft();
});

test('an identity provider whose metadata contradict its address', async () => {
  const env = { OIDC_ISSUER: 'http://127.0.0.1:1', OIDC_CLIENT_ID: 'gateway', OIDC_DOMAINS: 'example.com' };
  const { code, stdout, stderr } = await launch('start', env);
  expect([code, stdout]).toEqual([1, '']);
  expect(stderr).toMatch(/^OIDC_\w+: [^\n]+\n$/);
  await expectNothingLeft();
});

test('a database with the schema of a newer version', async () => {
  await change(`insert into mikro_orm_migrations (name) values ('Migration29990101000000')`);
  for (const program of ['start', 'worker'] as const) {
    const { code, stdout, stderr } = await launch(program);
    expect([code, stdout]).toEqual([1, '']);
    expect(stderr).toMatch(/^DATA_DIR: the database has the schema of a newer version [^\n]+\n$/);
    await expectNothingLeft();
  }
  await change(`delete from mikro_orm_migrations where name like '%2999%'`);
});

test('an embedded PostgreSQL that cannot start', async () => {
  const settings = join(DATA_DIR, 'postgres/data/postgresql.conf');
  const before = await readFile(settings);
  await appendFile(settings, "\nshared_buffers = 'plenty'\n");
  const { code, stdout, stderr } = await launch('start');
  expect([code, stdout]).toEqual([1, '']);
  expect(stderr).toMatch(
    /^DATA_DIR: PostgreSQL did not start: FATAL: [^\n]+ contains errors \(LOG_LEVEL=debug shows its log\)\n$/,
  );
  await writeFile(settings, before);
  await expectNothingLeft();
});

describe('while the demo workspace is created', () => {
  /** Starts a gateway whose demo waits for its key. @returns its process, and the pid of PostgreSQL */
  async function waitingDemo() {
    await change(`
      create function refuse() returns trigger language plpgsql as $$ begin perform pg_sleep(600); return new; end $$;
      create trigger wait before insert on api_key for each row execute function refuse()`);
    const gateway = start([GATEWAY, 'start'], { DATA_DIR, PORT: '0', LOG_LEVEL: 'error' });
    const waits = async () => {
      const url = await findRunningEmbeddedPostgres(DATA_DIR);
      return url ? query(url, `select 1 from pg_stat_activity where wait_event = 'PgSleep'`) : [];
    };
    await expect.poll(waits).toHaveLength(1);
    const [pid] = (await readFile(join(DATA_DIR, 'postgres/data/postmaster.pid'), 'utf8')).split('\n');
    return { ...gateway, pid: Number(pid) };
  }

  test('a signal stops everything, with status 0 and without a line', async () => {
    const { child, exited, output } = await waitingDemo();
    child.kill('SIGTERM');
    expect([await exited, output]).toEqual([0, { stdout: '', stderr: '' }]);
    await expectNothingLeft();
    await change(ACCEPT);
  });

  test('the end of PostgreSQL ends it with one line', async () => {
    const { exited, output, pid } = await waitingDemo();
    process.kill(pid, 'SIGKILL');
    expect(await exited).toBe(1);
    expect((output.stdout + output.stderr).trimEnd().split('\n')).toEqual([
      expect.stringMatching(
        /the embedded PostgreSQL .* has ended by SIGKILL|^DATA_DIR: the database does not answer: /,
      ),
    ]);
    await expectNothingLeft();
    await change(ACCEPT);
  });
});

test('a gateway whose database refuses parts of the demo workspace starts, with its key, and says what to do', async () => {
  await change(
    `${refuse('session_event')}; create trigger refuse before insert on sign_in_token execute function refuse()`,
  );
  const gateway = await startGateway({ DATA_DIR, LOG_LEVEL: 'warn' });
  const lines = () => {
    const logged = gateway.output.stdout.split('\n').filter((each) => each.startsWith('{'));
    return logged.map((each): unknown => JSON.parse(each));
  };
  const line = {
    err: { message: expect.stringContaining(REFUSAL) },
    msg: `the demo workspace is incomplete; to create it again, stop the gateway, delete the folder ${DATA_DIR}, and start it`,
  };
  // The examples, and the sign-in link.
  await expect.poll(lines).toMatchObject([line, line]);
  expect(gateway.output.stdout).not.toContain('/sign-in?token=');
  expect((await call(gateway.url, gateway.key, 'GET', '/v1/sessions')).status).toBe(200);
  expect([await gateway.end('SIGTERM'), gateway.output.stderr]).toEqual([0, '']);
  await expectNothingLeft();
});
