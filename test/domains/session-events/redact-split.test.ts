import { beforeAll, expect, test } from 'vitest';
import { useTestGateway } from '../../support/fixtures/gateway.ts';
import { createSession, readAll } from '../../support/fixtures/sessions.ts';
import { STREAMING_FORMATS, streamedMessage } from '../../support/fixtures/streamed-messages.ts';
import { sampled } from '../../support/sample.ts';

/** Redacting a text that no event has as a whole. */

const gateway = useTestGateway();
let key: string;
beforeAll(async () => {
  ({ key } = await gateway.createKey());
});

const SECRET = 'swordfish "1"';

interface Data {
  readonly delta?: string;
  readonly accumulatedText?: string;
  readonly event?: { readonly message: string };
}

async function record(format: string, lines: readonly string[]): Promise<string> {
  const id = await createSession(gateway, key);
  const headers = { 'Content-Type': `application/x-ndjson; format=${format}` };
  expect(
    (await gateway.rest('POST', `/v1/sessions/${id}/events`, { key, body: lines.join('\n'), headers })).status,
  ).toBe(201);
  return id;
}

const redact = async (id: string, text = SECRET) =>
  (await gateway.rest<object>('POST', `/v1/sessions/${id}/redact`, { key, body: { text } })).body;
const dataOf = async (id: string) =>
  (await readAll(gateway, key, id, 1000)).map(({ eventData }) => eventData as unknown as Data);
const markdownOf = async (id: string) => {
  const headers = { Authorization: `Bearer ${key}` };
  return (await gateway.fetch(`/v1/sessions/${id}/export?format=markdown`, { headers })).text();
};

sampled(test, 2).each(STREAMING_FORMATS)('%s: a text in parts of a message that has not ended', async (format) => {
  const parts = ['It is sw', 'ord', 'fish "', '1", and ', 'again sword', 'fish "1', '". The s'];
  const { lines } = streamedMessage(format, parts);
  const id = await record(format, lines.slice(0, -1));
  expect(await markdownOf(id)).toContain(SECRET);
  expect(await redact(id)).toEqual({ redactedEvents: 7, redactedTexts: 7 });
  const data = await dataOf(id);
  expect(data.flatMap(({ delta }) => delta ?? [])).toEqual([
    'It is [redacted]',
    '',
    '',
    ', and ',
    'again [redacted]',
    '',
    '. The s',
  ]);
  expect(data.map(({ event }) => event?.message ?? '').join('')).not.toMatch(/ord|fish/);
  expect(await markdownOf(id)).toContain('It is [redacted], and again [redacted]. The s');
  // Redacting again finds nothing.
  expect(await redact(id)).toEqual({ redactedEvents: 0, redactedTexts: 0 });
});

test('a text that was stored so far, which ends within it', async () => {
  const { lines } = streamedMessage('gemini', [`${'a'.repeat(33_000)} sword`, 'fish "1" and more']);
  const id = await record('gemini', lines);
  await redact(id);
  const data = await dataOf(id);
  const texts = data.flatMap(({ accumulatedText }) => accumulatedText ?? []).map((text) => text.slice(33_000));
  expect(texts).toEqual([' [redacted]', ' [redacted] and more']);
  expect(data.flatMap(({ delta }) => delta?.slice(0, 33_000) ?? []).at(-1)).toBe(' and more');
});

test('a text in two parts of a long line', async () => {
  const partsOf = async (session: string) => (await dataOf(session)).map(({ event }) => event?.message ?? '');
  const line = 'a'.repeat(1_500_000);
  const [first = ''] = await partsOf(await record('text', [line]));
  const split = `${line.slice(0, first.length - 5)}swordfish-1${line.slice(first.length + 6)}`;
  const id = await record('text', [split]);
  const messages = () => partsOf(id);
  expect((await messages()).join('')).toBe(split);
  expect((await messages()).some((message) => message.includes('swordfish-1'))).toBe(false);
  await redact(id, 'swordfish-1');
  expect((await messages()).join('')).toBe(split.replace('swordfish-1', '[redacted]'));
});

test('parts of different messages are not one text', async () => {
  const lines = ['sword', 'fish "1"'].flatMap((text) => streamedMessage('gemini', [text]).lines);
  const id = await record('gemini', lines);
  expect(await redact(id)).toEqual({ redactedEvents: 0, redactedTexts: 0 });
});
