import pg from 'pg';
import { afterEach, beforeEach, expect, inject, test } from 'vitest';
import { runOn } from '../../../../src/core/postgres/reading/sql.ts';
import { DatabaseClient } from '../../../../src/core/postgres/driver/client.ts';

let pool: pg.Pool;
let run: (text: string, ...values: unknown[]) => Promise<object[]>;
beforeEach(() => {
  // One connection, so that all statements of a test use it.
  pool = new pg.Pool({
    connectionString: inject('serverUrl'),
    options: '-c TimeZone=UTC',
    max: 1,
    Client: DatabaseClient,
  });
  const send = runOn(pool);
  run = (text, ...values) => send({ text, values });
});
afterEach(() => pool.end());

/** A statement is prepared at its third use, and its rows are described once. */
const USES = [1, 2, 3, 4, 5];

test('rows and values are the same, whether a statement is prepared or not', async () => {
  const values = [null, "it's é😀", 7, true, new Date('2026-03-01T10:20:30.500Z'), ['a"b', '\\', ''], { a: [1] }];
  const text = `select $1::text as "none", $2::text as "text", $3::bigint as "count", $4::boolean as "yes", $5::timestamptz as "at",
    $6::text[] as "list", $7::jsonb as "json", 'quote"' as "a ""name"""`;
  const row = {
    none: null,
    text: "it's é😀",
    count: 7,
    yes: true,
    at: '2026-03-01T10:20:30.500Z',
    list: ['a"b', '\\', ''],
    json: { a: [1] },
    'a "name"': 'quote"',
  };
  for (const _ of USES) expect(await run(text, ...values)).toEqual([row]);
  for (const _ of USES) expect(await run('select generate_series(1, $1::int) as n', 3)).toHaveLength(3);
});

test('times of any year are the same moment, whatever their form', async () => {
  const years = [-271_821, -1, 0, 1, 1969, 2026, 9999, 10_000, 275_760];
  const moments = years.map((year) => new Date(Date.UTC(2026, 3, 20, 1, 2, 3, 45)).setUTCFullYear(year));
  // PostgreSQL has times from 4713 BC.
  for (const moment of moments.slice(1))
    expect(await run('select extract(epoch from $1::timestamptz) * 1000 as "ms"', new Date(moment))).toEqual([
      { ms: `${moment}.000000` },
    ]);
  await expect(run('select $1::timestamptz', new Date(moments[0] ?? 0))).rejects.toThrow('out of range');
});

test('JSON is returned as the text that is stored where that is asked for', async () => {
  const text = `select '{"a" : [1.0]}'::json as "json", '{"a" : [1.0]}'::jsonb as "jsonb", 7 as "n", null::json as "none"`;
  const row = { jsonb: { a: [1] }, n: 7, none: null };
  const send = runOn(pool);
  for (const _ of USES) {
    expect(await send({ text, values: [], jsonAsText: true })).toEqual([{ ...row, json: '{"a" : [1.0]}' }]);
    expect(await send({ text: `${text} limit 1`, values: [] })).toEqual([{ ...row, json: { a: [1] } }]);
  }
});

test('a statement without rows returns none, and one that failed can be sent again', async () => {
  await run('create temporary table t (a int primary key)');
  for (const use of USES) expect(await run('insert into t values ($1)', use)).toEqual([]);
  const divide = 'select 1 / $1::int as n';
  for (const _ of USES) await expect(run(divide, 0)).rejects.toThrow('division by zero');
  for (const _ of USES) expect(await run(divide, 1)).toEqual([{ n: 1 }]);
  for (const _ of USES) await expect(run('select wrong')).rejects.toThrow('column "wrong" does not exist');
  for (const _ of USES) await expect(run('select $1::int', 'x')).rejects.toThrow('invalid input syntax');
});

test('rows of columns that have changed are refused, not misread', async () => {
  await run('create temporary table t as select 1 as a, 2 as b');
  const text = 'select * from t';
  for (const _ of USES) expect(await run(text)).toEqual([{ a: 1, b: 2 }]);
  await run("alter table t drop column a, add column c text default 'new'");
  await expect(run(text)).rejects.toThrow('cached plan must not change result type');
});

test('a name that is that of another statement is refused', async () => {
  for (const _ of USES) expect(await run('select 1 as n')).toEqual([{ n: 1 }]);
  // Counts names from the beginning, like the first.
  const other = runOn(pool);
  const uses = USES.map(() => other({ text: 'select 2 as n', values: [] }).catch(String));
  const refusal = 'Error: the name r1 is that of another prepared statement';
  expect(await Promise.all(uses)).toEqual([[{ n: 2 }], [{ n: 2 }], refusal, refusal, refusal]);
  expect(await run('select 1 as n')).toEqual([{ n: 1 }]);
});

test('a value that cannot be sent fails before anything is sent', async () => {
  const circular: { self?: unknown } = {};
  circular.self = circular;
  await expect(run('select $1::text as n', circular)).rejects.toThrow('circular');
  expect(await run('select 1 as n')).toEqual([{ n: 1 }]);
});
