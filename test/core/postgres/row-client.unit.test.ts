import fc from 'fast-check';
import { expect, test } from 'vitest';
import { readFields } from '../../../src/core/postgres/row-client.ts';

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

const LENGTHS = [0, 1, 127, 128, 129, 255, 256, 32_767, 32_768, 65_535, 65_536];

test.each([
  ['no column', []],
  ['nulls and empty texts', [null, '', null, null, '']],
  ['texts whose lengths have bytes above 127', LENGTHS.map((length) => 'a'.repeat(length))],
  ['the same beside other than ASCII text', LENGTHS.map((length) => `${'a'.repeat(length)}é`)],
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
