import fc from 'fast-check';
import pg from 'pg';
import { afterAll, beforeAll, expect, inject, test } from 'vitest';
import {
  jsonArray,
  textArray,
  timestamptzArray,
  uuidArray,
} from '../../../../src/core/postgres/driver/binary-arrays.ts';
import { WIRE_TYPES } from '../../../../src/core/postgres/driver/wire-types.ts';

/** PostgreSQL reads the values that were written. */

let client: pg.Client;
beforeAll(async () => {
  client = new pg.Client({ connectionString: inject('serverUrl'), options: '-c TimeZone=UTC', types: WIRE_TYPES });
  await client.connect();
});
afterAll(() => client.end());

async function read(type: string, array: Buffer): Promise<unknown[]> {
  const { rows } = await client.query<{ value: unknown }>(`select unnest($1::${type}[]) as value`, [array]);
  return rows.map(({ value }) => value);
}

const text = fc.string({ unit: 'grapheme', maxLength: 20 }).filter((value) => !value.includes('\0'));
const time = fc.date({ min: new Date(0), max: new Date('9999-12-31T23:59:59.999Z'), noInvalidDate: true });
/** Equal values follow each other, also with nulls between them. */
const repeated = <Value>(value: fc.Arbitrary<Value>) =>
  fc
    .array(fc.tuple(value, fc.integer({ min: 1, max: 3 }), fc.boolean()), { maxLength: 20 })
    .map((runs) =>
      runs.flatMap(([one, times, isNull]) => [...Array<Value>(times).fill(one), ...(isNull ? [null] : [])]),
    );

test('texts, also of several bytes for each character', () =>
  fc.assert(
    fc.asyncProperty(fc.array(text), async (texts) => {
      expect(await read('text', textArray(texts))).toEqual(texts);
    }),
  ));

test('JSON is stored as it is', async () => {
  const values = ['{"a" : [1.0, "é😀"]}', 'null', '""', '[]'];
  const { rows } = await client.query<{ json: string }>('select unnest($1::json[])::text as json', [jsonArray(values)]);
  expect(rows.map(({ json }) => json)).toEqual(values);
  await expect(read('json', jsonArray(['{"a": ']))).rejects.toThrow('invalid input syntax for type json');
});

test('UUIDs in either case, with nulls and repeated values', () =>
  fc.assert(
    fc.asyncProperty(repeated(fc.uuid()), async (uuids) => {
      expect(await read('uuid', uuidArray(uuids))).toEqual(uuids);
      expect(await read('uuid', uuidArray(uuids.map((uuid) => uuid?.toUpperCase() ?? null)))).toEqual(uuids);
    }),
  ));

test('times from 1970 to 9999, with nulls', () =>
  fc.assert(
    fc.asyncProperty(repeated(time), async (times) => {
      const texts = times.map((one) => one?.toISOString() ?? null);
      expect(await read('timestamptz', timestamptzArray(texts))).toEqual(texts);
    }),
  ));

test('an empty list', async () => {
  for (const [type, array] of [
    ['text', textArray([])],
    ['json', jsonArray([])],
    ['uuid', uuidArray([])],
    ['timestamptz', timestamptzArray([])],
  ] as const)
    expect(await read(type, array)).toEqual([]);
});
