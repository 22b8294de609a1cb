import { describe, expect, test } from 'vitest';
import type { HttpRequest } from '../../../src/core/http/messages.ts';
import { MAX_BODY_BYTES, readForm, readJson, readText, requireObject } from '../../../src/core/http/request-body.ts';

type Part = Uint8Array | string | Error;

/** A request whose body arrives in these parts, and that counts the parts that were read. */
function request(headers: Record<string, string>, ...parts: Part[]) {
  const read: Part[] = [];
  async function* body() {
    for (const part of parts) {
      read.push(part);
      if (part instanceof Error) throw part;
      yield Buffer.from(part);
    }
  }
  const incoming: HttpRequest = {
    method: 'POST',
    url: 'http://127.0.0.1/',
    headers: new Headers(headers),
    signal: new AbortController().signal,
    body: parts.length === 0 ? null : body(),
  };
  return { incoming, read };
}

const json = (type: string, ...parts: Part[]) => readJson(request({ 'content-type': type }, ...parts).incoming);
const invalid = (message: string) => expect.objectContaining({ kind: 'invalid', message });

describe('a JSON body', () => {
  test('is read in any number of parts', async () => {
    expect(await json('application/json', '{"a":"ä"}')).toEqual({ a: 'ä' });
    const bytes = Buffer.from('{"a":"ä"}');
    expect(await json('application/json', ...Array.from(bytes, (byte) => Uint8Array.of(byte)))).toEqual({ a: 'ä' });
    expect(await json('application/json', Uint8Array.from(bytes))).toEqual({ a: 'ä' });
  });

  test('does not mix with others that arrive at the same time, below and above 1 MiB', async () => {
    const texts = [10, 100_000, 900_000, 1_500_000].map((length, index) => String(index).repeat(length));
    const inParts = texts.map((text) => [`{"text":"${text.slice(0, 5)}`, text.slice(5), '"}']);
    const bodies = await Promise.all(inParts.map((parts) => json('application/json', ...parts)));
    expect(bodies).toEqual(texts.map((text) => ({ text })));
  });

  test('is undefined if there is none, whatever its type', async () => {
    expect(await readJson(request({}).incoming)).toBeUndefined();
    expect(await json('text/plain', '')).toBeUndefined();
  });

  test.each([
    'application/json',
    ' APPLICATION/JSON ; charset=UTF-8',
    'application/json; charset=utf8',
    'application/json, application/json',
    'application/json;charset="utf-8"; x=y',
    'application/json; x=charset=latin1',
    'application/merge-patch+json',
    'application/vnd.a-b.c+d+json',
  ])('may have the type %s', async (type) => {
    expect(await json(type, '1')).toBe(1);
  });

  test.each([
    '',
    'text/plain',
    'application/jsonp',
    'xapplication/json',
    'text/application/json',
    'application/+json',
    'application/a b+json',
    'application/json; charset=latin1',
    'application/json; charset=utf-16; charset=utf-8',
  ])('cannot have the type %j', async (type) => {
    await expect(json(type, '1')).rejects.toThrow(
      expect.objectContaining({
        kind: 'unsupportedMediaType',
        message: 'the body must be sent as application/json, in UTF-8, without content encoding',
      }),
    );
  });

  test('cannot be encoded', async () => {
    const encoded = (encoding: string) =>
      readJson(request({ 'content-type': 'application/json', 'content-encoding': encoding }, '1').incoming);
    expect(await encoded('Identity')).toBe(1);
    await expect(encoded('gzip')).rejects.toThrow(expect.objectContaining({ kind: 'unsupportedMediaType' }));
  });

  test('must be well-formed', async () => {
    await expect(json('application/json', '{"a":')).rejects.toThrow(invalid('the body is not well-formed JSON'));
    const truncated = Uint8Array.of(0x22, 0xc3, 0x22);
    await expect(json('application/json', truncated)).rejects.toThrow(invalid('the body is not well-formed UTF-8'));
  });

  test('that ends early is refused', async () => {
    await expect(json('application/json', '{', new Error('aborted'))).rejects.toThrow(
      invalid('the body ended before it was complete'),
    );
  });

  test('has up to 4 MiB, and is not read further', async () => {
    const tooLarge = expect.objectContaining({
      kind: 'tooLarge',
      message: 'the body must be at most 4194304 bytes (4 MiB)',
    });
    const half = ' '.repeat(MAX_BODY_BYTES / 2);
    expect(await json('application/json', half, `${half.slice(1)}1`)).toBe(1);
    const parts = [half, half, '1', '1'];
    const late = request({ 'content-type': 'application/json' }, ...parts);
    await expect(readJson(late.incoming)).rejects.toThrow(tooLarge);
    expect(late.read).toEqual(parts.slice(0, 3));
    const announced = (length: number) =>
      request({ 'content-type': 'application/json', 'content-length': `${length}` }, '1');
    expect(await readJson(announced(MAX_BODY_BYTES).incoming)).toBe(1);
    const early = announced(MAX_BODY_BYTES + 1);
    await expect(readJson(early.incoming)).rejects.toThrow(tooLarge);
    expect(early.read).toEqual([]);
  });
});

test('a text is read with its own limit', async () => {
  expect(await readText(request({}, 'ä', 'b').incoming, 3)).toBe('äb');
  for (const [maxBytes, size] of [
    [1024, '1024 bytes (1 KiB)'],
    [2 ** 20, '1048576 bytes (1 MiB)'],
  ] as const) {
    await expect(readText(request({}, ' '.repeat(maxBytes), '1').incoming, maxBytes)).rejects.toThrow(
      expect.objectContaining({ kind: 'tooLarge', message: `the body must be at most ${size}` }),
    );
  }
});

describe('a form', () => {
  const TYPE = 'application/x-www-form-urlencoded';
  const form = (headers: Record<string, string>, text = 'a=1&b=%C3%A4') => readForm(request(headers, text).incoming);

  test.each([undefined, 'same-origin', 'none'])('may be sent by a page of the gateway: %s', async (site) => {
    const sent = await form({ 'content-type': `${TYPE};charset=UTF-8`, ...(site && { 'sec-fetch-site': site }) });
    expect([...sent]).toEqual([
      ['a', '1'],
      ['b', 'ä'],
    ]);
  });

  test.each(['cross-site', 'same-site', ''])('cannot be sent by another site: %j', async (site) => {
    await expect(form({ 'content-type': TYPE, 'sec-fetch-site': site })).rejects.toThrow(
      expect.objectContaining({
        kind: 'forbidden',
        message: 'this form must be sent from a page of the gateway itself',
      }),
    );
  });

  test.each([undefined, 'application/json', `x${TYPE}`, `${TYPE}x`])('cannot have the type %s', async (type) => {
    await expect(form({ ...(type && { 'content-type': type }) })).rejects.toThrow(
      expect.objectContaining({
        kind: 'unsupportedMediaType',
        message: 'the body must be sent as application/x-www-form-urlencoded',
      }),
    );
  });

  test('has up to 8 KiB', async () => {
    const sent = await form({ 'content-type': TYPE }, 'a'.repeat(8192));
    expect([...sent.keys()]).toEqual(['a'.repeat(8192)]);
    await expect(form({ 'content-type': TYPE }, 'a'.repeat(8193))).rejects.toThrow(
      expect.objectContaining({ kind: 'tooLarge', message: 'the body must be at most 8192 bytes (8 KiB)' }),
    );
  });
});

test('only an object is accepted as such', () => {
  const body = { a: 1 };
  expect(requireObject(body)).toBe(body);
  for (const other of [undefined, null, 1, 'text', []])
    expect(() => requireObject(other)).toThrow(invalid('the body must be a JSON object'));
});
