import pg from 'pg';
import { expect, test } from 'vitest';
import { databaseTrouble } from '../../../src/core/postgres/failures.ts';

test('a statement on a connection that is closed means that the database is away', async () => {
  const client = new pg.Client('postgresql://127.0.0.1:1/none');
  await client.end();
  const failure: unknown = await client.query('select 1').catch((error: unknown) => error);
  expect(failure).toBeInstanceOf(Error);
  expect(databaseTrouble(failure)).toBe('away');
  expect(databaseTrouble(new Error('caused by it', { cause: failure }))).toBe('away');
  expect(databaseTrouble(new Error('something else'))).toBeUndefined();
});
