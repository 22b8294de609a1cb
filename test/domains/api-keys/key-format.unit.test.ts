import { createHash } from 'node:crypto';
import { crc32 } from 'node:zlib';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import {
  generateApiKey,
  hashApiKey,
  isWellFormedApiKey,
  previewApiKey,
} from '../../../src/domains/api-keys/key-format.ts';
import { anyText } from '../../support/fixtures/any-text.ts';

const BASE62 = '0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz'.split('');
// The checksum was computed with Python's zlib.
const PINNED = 'wgk_0123456789ABCDEFGHIJKLMNOPQRST1YUqFR';

/** Any valid key, which fast-check can shrink: 30 characters chosen by their index in the alphabet. */
const keys = fc
  .uint8Array({ minLength: 30, maxLength: 30, max: BASE62.length - 1 })
  .map((bytes) => generateApiKey(() => bytes));

/** A source of random bytes that returns the given bytes in order. */
function source(bytes: readonly number[]) {
  let taken = 0;
  return (n: number) => Uint8Array.from(bytes.slice(taken, (taken += n)));
}

/** Appends the right checksum to a text, so that only its form can be refused. */
function signed(body: string): string {
  const digits = [5, 4, 3, 2, 1, 0].map((power) => BASE62[Math.floor(crc32(body) / 62 ** power) % 62]);
  return body + digits.join('');
}

describe('form', () => {
  test('a pinned key: form, checksum, hash and preview never change', () => {
    expect(generateApiKey((n) => Uint8Array.from({ length: n }, (_, index) => index))).toBe(PINNED);
    expect(isWellFormedApiKey(PINNED)).toBe(true);
    expect(hashApiKey(PINNED).toString('hex')).toBe('b23ccf071f6ec8c83950d5b5c5255e865db7e292b68bdc70e1bb15590e5a282c');
    expect(previewApiKey(PINNED)).toBe('wgk_0123…FR');
  });

  test('the last 6 characters are the CRC-32 of all before them in base62', () => {
    fc.assert(
      fc.property(keys, (key) => {
        expect(key).toBe(signed(key.slice(0, -6)));
      }),
    );
  });

  test('a small checksum is padded with zeros to 6 characters', () => {
    const padded = fc.sample(keys, 500).filter((key) => key.at(-6) === '0');
    expect(padded.length).toBeGreaterThan(0);
    expect(padded.filter((key) => key.length !== 40)).toEqual([]);
  });

  test('a generated key is wgk_ and 36 base62 characters, is well-formed, and is never generated twice', () => {
    const generated = Array.from({ length: 1000 }, () => generateApiKey());
    expect(generated.filter((key) => !/^wgk_[0-9A-Za-z]{36}$/.test(key))).toEqual([]);
    expect(generated.filter((key) => !isWellFormedApiKey(key))).toEqual([]);
    expect(new Set(generated).size).toBe(generated.length);
  });

  test('the hash is the SHA-256 of the whole key, 32 bytes', () => {
    fc.assert(
      fc.property(keys, (key) => {
        expect(hashApiKey(key)).toEqual(createHash('sha256').update(key, 'utf8').digest());
        expect(hashApiKey(key)).toHaveLength(32);
      }),
    );
  });
});

describe('randomness', () => {
  test('bytes from 248 up are replaced by new ones, so that all characters are equally likely', () => {
    const letters = Array.from({ length: 30 }, (_, index) => index);
    expect(generateApiKey(source([248, 255, 250, ...letters]))).toBe(PINNED);
    expect(generateApiKey(source([...letters.slice(0, 29), 249, 251, 252, 29]))).toBe(PINNED);
  });

  test('every byte below 248 gives one character, and every character comes from four bytes', () => {
    const firsts = Array.from({ length: 248 }, (_, byte) => generateApiKey((n) => new Uint8Array(n).fill(byte)).at(4));
    expect(firsts.join('')).toBe(BASE62.join('').repeat(4));
  });

  test('if a source returns every byte 15 times, every character occurs 60 times in all keys together', () => {
    // 101 and 256 have no common factor, so these are all bytes in a mixed order.
    const randomBytes = source(Array.from({ length: 15 * 256 }, (_, index) => (index * 101) % 256));
    const created = Array.from({ length: (15 * 248) / 30 }, () => generateApiKey(randomBytes).slice(4, 34)).join('');
    const counts = BASE62.map((character) => [character, created.split(character).length - 1]);
    expect(counts).toEqual(BASE62.map((character) => [character, 60]));
  });
});

describe('mistakes', () => {
  test('every substitution of a single character is refused', () => {
    fc.assert(
      fc.property(
        keys,
        fc.nat(39),
        fc.oneof(fc.constantFrom(...BASE62), fc.string({ minLength: 1 })),
        (key, at, by) => {
          fc.pre(key[at] !== by);
          expect(isWellFormedApiKey(key.slice(0, at) + by + key.slice(at + 1))).toBe(false);
        },
      ),
      { numRuns: 2000 },
    );
  });

  test('every substitution in one key is refused, exhaustively', () => {
    const typos = PINNED.split('').flatMap((character, at) =>
      BASE62.filter((by) => by !== character).map((by) => PINNED.slice(0, at) + by + PINNED.slice(at + 1)),
    );
    expect(typos.length).toBeGreaterThan(2400);
    expect(typos.filter(isWellFormedApiKey)).toEqual([]);
  });

  test('every swap of two adjacent characters is refused, also between the random part and the checksum', () => {
    fc.assert(
      fc.property(keys, (key) => {
        for (let at = 0; at < key.length - 1; at++) {
          const [left, right] = [key.charAt(at), key.charAt(at + 1)];
          if (left === right) continue;
          expect(isWellFormedApiKey(key.slice(0, at) + right + left + key.slice(at + 2))).toBe(false);
        }
      }),
      { numRuns: 1000 },
    );
  });

  test.each([
    ['empty', ''],
    ['the prefix alone', 'wgk_'],
    ['another prefix', PINNED.replace('wgk_', 'WGK_')],
    ['no prefix', PINNED.slice(4)],
    ['one character short', PINNED.slice(0, -1)],
    ['one character long', `${PINNED}0`],
    ['a line break after it', `${PINNED}\n`],
    ['a space before it', ` ${PINNED}`],
    ['another case', PINNED.toLowerCase()],
    ['a character outside base62', PINNED.replace('0', '-')],
    ['a letter that only looks the same', PINNED.replace('A', '\u0410')],
    ['two keys', `${PINNED}\n${PINNED}`],
    ['a very long text', `wgk_${'0'.repeat(1_000_000)}`],
    ['another prefix, with the right checksum', signed('WGK_0123456789ABCDEFGHIJKLMNOPQRST')],
    ['one character short, with the right checksum', signed('wgk_0123456789ABCDEFGHIJKLMNOPQRS')],
    ['one character long, with the right checksum', signed('wgk_0123456789ABCDEFGHIJKLMNOPQRSTU')],
    ['a text before the key, with the right checksum', signed('x wgk_0123456789ABCDEFGHIJKLMNOPQRST')],
    ['a text after the key, with the right checksum', signed(`${PINNED}\n`)],
    ['a character outside base62, with the right checksum', signed('wgk_-123456789ABCDEFGHIJKLMNOPQRST')],
  ])('refused: %s', (_, candidate) => {
    expect(isWellFormedApiKey(candidate)).toBe(false);
  });

  test('any other text is refused', () => {
    fc.assert(
      fc.property(anyText(), (text) => {
        expect(isWellFormedApiKey(text)).toBe(false);
      }),
    );
  });
});
