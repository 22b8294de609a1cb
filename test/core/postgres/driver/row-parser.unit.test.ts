import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { readFields } from '../../../../src/core/postgres/driver/row-parser.ts';

type Texts = readonly (string | null)[];

/** The content of a row as PostgreSQL sends it: the number of columns, then the length and the bytes of each. */
function contentOf(texts: Texts): Buffer {
  const count = Buffer.alloc(2);
  count.writeInt16BE(texts.length);
  const columns = texts.flatMap((text) => {
    const length = Buffer.alloc(4);
    length.writeInt32BE(text === null ? -1 : Buffer.byteLength(text));
    return [length, Buffer.from(text ?? '')];
  });
  return Buffer.concat([count, ...columns]);
}

/** Reads a row that lies between other bytes, as within an answer. */
function read(texts: Texts): Texts {
  const before = Buffer.from('é before');
  const content = contentOf(texts);
  return readFields(Buffer.concat([before, content, Buffer.from('é after')]), before.length, content.length);
}

const LENGTHS = [0, 1, 127, 128, 129, 255, 256, 1000, 2000];
const LONG = [32_767, 32_768, 65_535, 65_536];

test.each([
  ['no column', []],
  ['nulls and empty texts', [null, '', null, null, '']],
  ['texts whose lengths have bytes above 127', LENGTHS.map((length) => 'a'.repeat(length))],
  ['the same beside other than ASCII text', LENGTHS.map((length) => `${'a'.repeat(length)}é`)],
  ['long texts', LONG.map((length) => 'a'.repeat(length))],
  ['characters of one to four bytes', ['é', 'ÿ', '\u{80}', '€', '😀', null, 'e']],
  ['200 columns', Array.from({ length: 200 }, (_, index) => String(index))],
])('reads %s', (_, texts: Texts) => {
  expect(read(texts)).toEqual(texts);
});

test('reads any texts', () => {
  const text = fc.oneof(fc.string(), fc.string({ unit: 'binary' }), fc.string({ minLength: 120, maxLength: 300 }));
  fc.assert(
    fc.property(fc.array(fc.option(text), { maxLength: 20 }), (texts) => {
      expect(read(texts)).toEqual(texts);
    }),
  );
});

test('a text that is kept does not keep a long row in memory', () => {
  setFlagsFromString('--expose-gc');
  // A new context has the functions of the flags.
  const collect = runInNewContext('gc') as () => void;
  const id = 'b6c8a0de-6f0f-4c39-8a53-0d7a3c3e8f10';
  const heap = () => {
    collect();
    return process.memoryUsage().heapUsed;
  };
  const before = heap();
  const kept = Array.from({ length: 200 }, () => read([id, 'a'.repeat(1_000_000)])[0]);
  expect(heap() - before).toBeLessThan(50_000_000);
  expect(new Set(kept)).toEqual(new Set([id]));
});
