import pg from 'pg';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { DatabaseClient } from '../../../src/core/postgres/driver/client.ts';
import {
  type SpanOptions,
  type Tracing,
  summaryOf,
  traceStatements,
  traced,
} from '../../../src/core/tracing/tracing.ts';
import { NO_ROWS, WELCOME, startPostgresServer } from '../../support/peers/postgres-server.ts';

test.each([
  ['select * from "session" as s0 where id = $1', 'SELECT session'],
  ['  insert into pgboss.job (id) values ($1)', 'INSERT pgboss.job'],
  ['update only "api_key" set x = 1', 'UPDATE api_key'],
  ['with x as (select 1 from membership) select * from x', 'WITH x'],
  ['with x as (update session set a = 1 returning id) select * from x', 'UPDATE session'],
  ['with x as (select 1 from a for update of a) select * from x', 'WITH x'],
  ['savepoint statement', 'SAVEPOINT'],
  ['select (select 1 from organization o where (o.id) = 1) from session', 'SELECT session'],
  ["select ' from secret'", 'SELECT'],
  ["select a is distinct from 'x' from session", 'SELECT session'],
  ['select * from (select (1) from organization) as o', 'SELECT organization'],
  ['select * from (select (select 1 from project) from "session" as s limit 201) as page limit $1', 'SELECT session'],
  ['select * from session for no key update of session', 'SELECT session'],
  ['with x as (select 1 from a for no key update of a) select * from x', 'WITH x'],
  ['explain update session set a = 1', 'EXPLAIN session'],
  ['', 'STATEMENT'],
])('the name of the span of a statement is its verb and table: %s', (statement, name) => {
  expect(summaryOf(statement)).toBe(name);
});

let spans: SpanOptions[];
const tracing: Tracing = {
  span: (options, work) => {
    spans.push(options);
    return work(undefined);
  },
  close: async () => undefined,
};
beforeEach(() => {
  spans = [];
});

test('without tracing, work runs without a span', async () => {
  const options = { name: 'work', kind: 'internal' } as const;
  expect(await traced(tracing, options, async () => 'done')).toBe('done');
  expect(await traced(undefined, options, async (span) => span)).toBeUndefined();
  expect(spans).toEqual([options]);
});

describe('statements of a pool', () => {
  let server: Awaited<ReturnType<typeof startPostgresServer>>;
  let pool: pg.Pool;
  beforeEach(async () => {
    server = await startPostgresServer(
      (socket) => socket.write(WELCOME),
      (socket) => socket.write(NO_ROWS),
    );
    pool = openPool();
  });
  afterEach(async () => {
    await pool.end();
    server.close();
  });

  const openPool = () =>
    new pg.Pool({ host: '127.0.0.1', user: 'a', port: server.port, max: 1, Client: DatabaseClient });
  const spanOf = (summary: string) => ({
    name: summary,
    kind: 'client',
    attributes: { 'db.system.name': 'postgresql', 'db.query.summary': summary },
    inner: true,
  });
  async function onClient(work: (client: pg.PoolClient) => Promise<unknown>): Promise<void> {
    const client = await pool.connect();
    await work(client);
    client.release();
  }

  test('each has one span, whether it has a callback or not', async () => {
    traceStatements(pool, tracing);
    expect((await pool.query('select 1 from session')).rows).toEqual([]);
    await pool.query({ text: 'update api_key set a = 1' });
    await onClient((client) => client.query('begin'));
    await onClient((client) => new Promise<void>((resolve) => client.query('commit', () => resolve())));
    expect(spans).toEqual(['SELECT session', 'UPDATE api_key', 'BEGIN', 'COMMIT'].map(spanOf));
  });

  test('those of another pool have none', async () => {
    const other = openPool();
    traceStatements(other, tracing);
    await pool.query('select 1');
    expect(spans).toEqual([]);
    await other.end();
  });
});
