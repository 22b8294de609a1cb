import pg from 'pg';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { useOwnGateway } from '../../support/fixtures/gateway.ts';

/** Errors of a database that is stopping, changing its role or out of a resource: callers are asked to retry. */

const gateway = useOwnGateway();
let key: string;
let owner: pg.Client;
beforeAll(async () => {
  ({ key } = await gateway.createKey());
  owner = new pg.Client({ connectionString: gateway.dependencies.config.DATABASE_DIRECT_URL ?? gateway.databaseUrl });
  await owner.connect();
  // Each statement that reads or writes a definition fails with the code that is currently set.
  await owner.query(`
    create table trouble (code text);
    create function trouble() returns boolean language plpgsql as $$
    declare wanted text := (select code from trouble);
    begin
      if wanted = 'terminated' then perform pg_terminate_backend(pg_backend_pid()); perform pg_sleep(10); end if;
      if wanted is not null then raise exception 'not now' using errcode = wanted; end if;
      return true;
    end $$;
    alter table event_definition enable row level security;
    alter table event_definition force row level security;
    create policy trouble on event_definition using (trouble()) with check (trouble())`);
});
afterAll(() => owner.end());

async function setTrouble(code: string | null): Promise<void> {
  await owner.query('delete from trouble');
  if (code !== null) await owner.query('insert into trouble values ($1)', [code]);
}

const PATH = '/events/2026-03/event-definitions';
const READ = '{ viewer { organization { eventDefinitions(first: 1) { nodes { name } } } } }';
const WRITE = `mutation { createEventDefinition(input: {name: "a", label: "a", primaryObject: CONTACT}) { __typename } }`;

async function answers() {
  const headers = { Authorization: `Bearer ${key}`, 'Content-Type': 'application/json' };
  const post = (path: string, body: object) =>
    gateway.fetch(path, { method: 'POST', headers, body: JSON.stringify(body) });
  const responses = {
    'REST read': await gateway.fetch(PATH, { headers }),
    'REST write': await post(PATH, { name: 'a', label: 'a', primaryObject: 'CONTACT' }),
    'GraphQL read': await post('/graphql', { query: READ }),
    'GraphQL write': await post('/graphql', { query: WRITE }),
  };
  const entries = Object.entries(responses).map(async ([name, response]) => {
    const text = await response.text();
    const hasFailed = /"(?:errors|category)":/.test(text);
    return [name, response.status, response.headers.get('retry-after'), hasFailed] as const;
  });
  return Promise.all(entries);
}

const UNAVAILABLE =
  `terminated 08006 57P01 57P02 57P03 25006 28P01 3D000 40001 40P01 53200 53300 55000 55P03 57014 58030
  26000`.split(/\s+/);

test('reads and writes of both APIs get 503 with Retry-After for every error code of an unavailable database', async () => {
  await setTrouble(null);
  expect(await answers()).toEqual([
    ['REST read', 200, null, false],
    ['REST write', 201, null, false],
    ['GraphQL read', 200, null, false],
    ['GraphQL write', 200, null, false],
  ]);
  for (const code of UNAVAILABLE) {
    await setTrouble(code);
    expect([code, await answers()]).toEqual([
      code,
      [
        ['REST read', 503, '1', true],
        ['REST write', 503, '1', true],
        ['GraphQL read', 503, '1', true],
        ['GraphQL write', 503, '1', true],
      ],
    ]);
  }
  // The code of a defect still causes an internal error.
  await setTrouble('XX000');
  expect((await answers()).map(([, status, retryAfter]) => [status, retryAfter])).toEqual([
    [500, null],
    [500, null],
    [200, null],
    [200, null],
  ]);
});

test('a gateway is not ready while its database accepts no writes, and reports that as the reason', async () => {
  const name = new URL(gateway.databaseUrl).pathname.slice(1);
  const ready = async () => {
    const response = await gateway.fetch('/health/ready');
    return { code: response.status, ...((await response.json()) as object) };
  };
  const setReadOnly = async (value: 'on' | 'off') => {
    await owner.query('set default_transaction_read_only = off');
    await owner.query(`alter database ${name} set default_transaction_read_only = ${value}`);
    await owner.query(
      'select pg_terminate_backend(pid) from pg_stat_activity where datname = current_database() and pid <> pg_backend_pid()',
    );
  };
  await setReadOnly('on');
  await expect.poll(ready).toMatchObject({ code: 503, error: 'the database accepts no writes' });
  await setReadOnly('off');
  await expect.poll(ready).toMatchObject({ code: 200, status: 'ready' });
});
