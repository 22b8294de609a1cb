import fc from 'fast-check';
import { expect, test } from 'vitest';
import { parseBounded } from '../../../src/core/text/exact-json.ts';
import { JsonBoundError, type JsonBounds, countMembers } from '../../../src/core/text/json-scanner.ts';
import { parseInSlices } from '../../../src/core/text/json-slices.ts';

const LEVELS = 500;
const count = (text: string) => countMembers(text, { levels: LEVELS });

function boundError(text: string, bounds: Partial<JsonBounds>): Pick<JsonBoundError, 'message' | 'limit' | 'path'> {
  try {
    countMembers(text, { levels: LEVELS, ...bounds });
  } catch (error) {
    if (error instanceof JsonBoundError) return { message: error.message, limit: error.limit, path: error.path };
  }
  throw new Error('no bound is exceeded');
}

function membersOf(value: unknown): number {
  if (typeof value !== 'object' || value === null) return 0;
  const members = Object.values(value);
  return members.length + members.reduce((sum: number, member) => sum + membersOf(member), 0);
}

test('every property and item counts once, whatever is in texts', () => {
  expect(count('{"a":[1,{"b,[{":"]},\\"["}],"c":{},"d":[ ]}')).toBe(6);
  fc.assert(
    fc.property(fc.json(), fc.constantFrom(undefined, 2), (text, indent) => {
      const value: unknown = JSON.parse(text);
      expect(count(JSON.stringify(value, null, indent))).toBe(membersOf(value));
    }),
  );
});

test('the members of a document are bounded exactly', () => {
  const list = (items: number) => `{"a":{"list":[${'[],'.repeat(items - 1)}[]]}}`;
  expect(countMembers(list(8), { levels: LEVELS, members: 10 })).toBe(10);
  expect(boundError(list(9), { members: 10 })).toEqual({
    message: 'must have at most 10 properties and items in all',
    limit: 10,
    path: [],
  });
});

test('the properties of an object and of the document are bounded exactly, and the path of the object is given', () => {
  const object = (properties: number) =>
    `{${Array.from({ length: properties }, (_, index) => `"p${index}":0`).join(',')}}`;
  const bounds = { objectMembers: 1000, rootMembers: 600 };
  expect(countMembers(`{"a":[0,${object(1000)}]}`, { levels: LEVELS, ...bounds })).toBe(1003);
  expect(boundError(`{"a":[0,{"b\\"":[${object(1001)}]}]}`, bounds)).toEqual({
    message: 'must have at most 1000 properties',
    limit: 1000,
    path: ['a', '1', 'b"'],
  });
  expect(countMembers(object(600), { levels: LEVELS, ...bounds })).toBe(600);
  expect(boundError(object(601), bounds)).toEqual({
    message: 'must have at most 600 properties',
    limit: 600,
    path: [],
  });
  expect(countMembers(`[${'0,'.repeat(2000)}0]`, { levels: LEVELS, ...bounds })).toBe(2001);
});

test('a path begins with three names, each of at most 100 characters', () => {
  const deep = `{"one":{"${'n'.repeat(500)}":[${'['.repeat(600)}`;
  expect(boundError(deep, {})).toEqual({
    message: 'must not be nested deeper than 500 levels',
    limit: 500,
    path: ['one', 'n'.repeat(100), '0'],
  });
});

test('JSON that is parsed in slices is the same as at once, and the same texts are refused', async () => {
  const filler = Array.from({ length: 3000 }, (_, index) => `"k${index}":[${index},{"x":${index}}]`).join(',');
  const documents = [
    `{${filler}}`,
    ` {"a" : {"b":[1, {${filler}} ,{${filler}}, 2 ]},"c":12345678901234567890,"a":3} `,
    `[[${filler.replaceAll(/"k\d+":/g, '')}],"${'text,'.repeat(10_000)}",[]]`,
    `{"__proto__":{${filler}},${filler},"__proto__":1}`,
    `{"1":0,${filler},"0":{${filler}},"k5":"last"}`,
  ];
  for (const text of documents) {
    expect(JSON.stringify(await parseInSlices(text))).toBe(JSON.stringify(parseBounded(text)));
    expect(Object.getPrototypeOf(await parseInSlices(text))).toBe(Object.getPrototypeOf(JSON.parse(text)));
  }
  const faulty = (text: string) => [
    `${text},`,
    `${text}]`,
    `${text} x`,
    `x${text}`,
    text.slice(0, -1),
    text.replace(']', '}'),
    text.replace(',', ',,'),
    text.replace(/.$/, ',$&'),
    text.replace(/^./, '$&,'),
    text.replace(/]}(?=.$)/, '}]'),
    text.replace(/,(?="c")/, ' '),
    text.replace(/(?<=})\s*,(?={)/, ' '),
  ];
  for (const text of documents.flatMap((document) => faulty(document.trim()))) {
    if (documents.some((document) => document.trim() === text)) continue;
    expect(() => parseBounded(text)).toThrow(SyntaxError);
    await expect(parseInSlices(text)).rejects.toThrow(SyntaxError);
  }
});
