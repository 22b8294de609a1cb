import { expect, test } from 'vitest';
import { summaryOf } from '../../../src/core/tracing/tracing.ts';

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
  ['select * from (select (1) from organization) as o', 'SELECT'],
  ['select * from session for no key update of session', 'SELECT session'],
  ['with x as (select 1 from a for no key update of a) select * from x', 'WITH x'],
  ['explain update session set a = 1', 'EXPLAIN session'],
  ['', 'STATEMENT'],
])('the name of the span of a statement is its verb and table: %s', (statement, name) => {
  expect(summaryOf(statement)).toBe(name);
});
