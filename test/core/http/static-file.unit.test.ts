import { createHash } from 'node:crypto';
import { brotliDecompressSync, gunzipSync } from 'node:zlib';
import { describe, expect, test } from 'vitest';
import { staticFile } from '../../../src/core/http/static-file.ts';

const TEXT = 'a text that repeats. '.repeat(25);
const asked = (headers: Record<string, string> = {}) => ({ headers: new Headers(headers) });
const bytesOf = (body: unknown): Buffer => (Buffer.isBuffer(body) ? body : Buffer.alloc(0));

test('a file has its type, its hash, and the caching of a URL with or without its hash', async () => {
  const file = staticFile(TEXT, 'text/plain', { headers: { 'X-Other': 'yes' } });
  const hash = createHash('sha256').update(TEXT).digest('hex').slice(0, 16);
  expect([file.hash, file.content.toString()]).toEqual([hash, TEXT]);
  expect(await file.answer(asked())).toEqual({
    status: 200,
    headers: {
      'Content-Type': 'text/plain',
      'Cache-Control': 'no-cache',
      ETag: `W/"${hash}"`,
      Vary: 'Accept-Encoding',
      'X-Other': 'yes',
    },
    body: Buffer.from(TEXT),
  });
  const immutable = await staticFile(TEXT, 'text/plain', { isImmutable: true }).answer(asked());
  expect(immutable.headers['Cache-Control']).toBe('public, max-age=31536000, immutable');
});

describe('a client that has the file', () => {
  const file = staticFile(TEXT, 'text/plain');
  const tag = `"${file.hash}"`;
  const statusFor = async (tags: string) => (await file.answer(asked({ 'if-none-match': tags }))).status;

  test.each([tag, `W/${tag}`, `"other", W/${tag}`, '*', ' * '])('does not get it again: %s', async (tags) => {
    expect(await statusFor(tags)).toBe(304);
  });

  test.each(['', '"other"', file.hash, `xW/${tag}`, `W/W/${tag}`])(
    'gets it if it names another one: %s',
    async (tags) => {
      expect(await statusFor(tags)).toBe(200);
    },
  );

  test('gets the headers without the content', async () => {
    const { body, headers } = await file.answer(asked({ 'if-none-match': '*' }));
    expect([body, headers['ETag'], headers['Cache-Control']]).toEqual([null, `W/${tag}`, 'no-cache']);
  });
});

describe('the encoding', () => {
  const encodingFor = async (accepted: string) => {
    const { headers } = await staticFile(TEXT, 'text/plain').answer(asked({ 'accept-encoding': accepted }));
    return headers['Content-Encoding'];
  };

  test.each([
    ['gzip, deflate, br', 'br'],
    ['GZIP;q=0.5 , BR;q=0.1', 'br'],
    ['gzip', 'gzip'],
    ['br;q=0, gzip', 'gzip'],
    ['br ; q=0.000, gzip ; q=1', 'gzip'],
    ['br;q=0.001, gzip', 'br'],
    ['br;q=0.01', 'br'],
    ['deflate', undefined],
    ['brotli', undefined],
    ['gzip;q=0', undefined],
    ['', undefined],
  ])('for Accept-Encoding: %s is %s', async (accepted, expected) => {
    expect(await encodingFor(accepted)).toBe(expected);
  });

  test('contains the content, and is computed once', async () => {
    const file = staticFile(TEXT, 'text/plain');
    const brotli = await file.answer(asked({ 'accept-encoding': 'br' }));
    expect(brotliDecompressSync(bytesOf(brotli.body)).toString()).toBe(TEXT);
    expect(brotli.headers).toMatchObject({ 'Content-Type': 'text/plain', ETag: `W/"${file.hash}"` });
    const gzip = await file.answer(asked({ 'accept-encoding': 'gzip' }));
    expect(gunzipSync(bytesOf(gzip.body)).toString()).toBe(TEXT);
    expect((await file.answer(asked({ 'accept-encoding': 'br' }))).body).toBe(brotli.body);
  });

  test.each([
    ['text/css', 512, true],
    ['text/css', 511, false],
    ['application/json', 512, true],
    ['image/svg+xml', 512, true],
    ['application/javascript; charset=utf-8', 512, true],
    ['image/png', 512, false],
    ['x-text/plain', 512, false],
  ])('%s of %i bytes is compressed: %s', async (type, length, expected) => {
    const { headers } = await staticFile('x'.repeat(length), type).answer(asked({ 'accept-encoding': 'gzip' }));
    expect(headers['Content-Encoding']).toBe(expected ? 'gzip' : undefined);
  });
});
