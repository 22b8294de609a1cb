import { beforeAll, expect, test } from 'vitest';
import { redactDocuments } from '../../../src/core/redaction/redact.ts';
import { useTestGateway } from '../../support/fixtures/gateway.ts';
import { append, createSession, readAll } from '../../support/fixtures/sessions.ts';
import { STREAMING_FORMATS, streamedMessage } from '../../support/fixtures/streamed-messages.ts';

/** Credentials that no event has as a whole, and what only looks like one. */

const join = (...parts: string[]) => parts.join('');
/** Joined here, so that no scanner takes it for a real one. */
const SECRET = join('AIza', 'SyA1234567890', 'abcdefghijklmn-opqrst_');
const PIECES = [SECRET.slice(0, 9), SECRET.slice(9, 21), '', SECRET.slice(21)];
const PARTS = ['The key is ', `"${PIECES[0]}`, ...PIECES.slice(1, 3), `${PIECES[3]}", `, 'and so on.'];
const SHOWN = 'The key is "[redacted]", and so on.';

const gateway = useTestGateway();
let key: string;
beforeAll(async () => {
  ({ key } = await gateway.createKey());
});

interface Data {
  readonly delta?: string;
  readonly accumulatedText?: string;
}

async function send(id: string, format: string, lines: readonly string[]): Promise<number> {
  const headers = { 'Content-Type': `application/x-ndjson; format=${format}` };
  const body = lines.join('\n');
  const answer = await gateway.rest<{ redactedSecrets: number }>('POST', `/v1/sessions/${id}/events`, {
    key,
    body,
    headers,
  });
  expect([answer.status, answer.text]).toEqual([201, answer.text]);
  return answer.body.redactedSecrets;
}

const dataOf = async (id: string) =>
  (await readAll(gateway, key, id, 1000)).map(({ eventData }) => eventData as unknown as Data);

/** All that is stored of a session, as text. */
async function storedOf(id: string): Promise<string> {
  const { sql } = gateway.dependencies;
  const rows = [
    ...(await sql.query<{ text: string }>('select event_data::text as text from session_event where session_id = $1', [
      id,
    ])),
    ...(await sql.query<{ text: string }>('select format_memory as text from session_stream where session_id = $1', [
      id,
    ])),
  ];
  return rows.map(({ text }) => text).join('\n');
}

/** No piece is left with which the credential could be put together. */
async function expectNoPiece(id: string): Promise<void> {
  const stored = await storedOf(id);
  expect(PIECES.filter((piece) => piece !== '' && stored.includes(piece))).toEqual([]);
}

test.each(STREAMING_FORMATS)('%s: the parts of a message in one request', async (format) => {
  const id = await createSession(gateway, key);
  const { lines } = streamedMessage(format, PARTS);
  expect(await send(id, format, lines)).toBe(1);
  await expectNoPiece(id);
  const data = await dataOf(id);
  expect(data.map(({ delta = '' }) => delta).join('')).toBe(SHOWN);
  expect(data.flatMap(({ accumulatedText }) => accumulatedText ?? [])).toContain(SHOWN);
});

test.each(STREAMING_FORMATS)('%s: the parts of a message in a request each, which has no end yet', async (format) => {
  const id = await createSession(gateway, key);
  const { lines } = streamedMessage(format, PARTS);
  for (const line of lines.slice(0, -1)) await send(id, format, [line]);
  await expectNoPiece(id);
  expect((await dataOf(id)).map(({ delta = '' }) => delta).join('')).toBe(SHOWN);
  await send(id, format, lines.slice(-1));
  await expectNoPiece(id);
});

test('events with parts, and the text so far that ends within the credential', async () => {
  const id = await createSession(gateway, key);
  const part = (delta: string, accumulatedText?: string) => ({
    eventType: 'text',
    provider: 'p',
    eventData: { type: 'text', itemId: 'm', deltaType: 'text_delta', delta, accumulatedText },
  });
  const so = (count: number) => PARTS.slice(0, count).join('');
  const events = [part(so(1)), part(PARTS[1] ?? '', so(2)), part(PARTS[2] ?? ''), part(PARTS.slice(3).join(''))];
  expect(await append(gateway, key, id, events)).toMatchObject({ firstId: '1' });
  await expectNoPiece(id);
  const data = await dataOf(id);
  expect(data.map(({ delta }) => delta)).toEqual(['The key is ', '"[redacted]', '', '", and so on.']);
  expect(data[1]?.accumulatedText).toBe('The key is "[redacted]');
});

test('two events of a long line', async () => {
  const id = await createSession(gateway, key);
  const text = `${'a'.repeat(59_985)} ${SECRET} ${'b'.repeat(70_000)}`;
  expect(await send(id, 'text', [text])).toBe(1);
  expect(await storedOf(id)).not.toContain(SECRET.slice(0, 14));
  const stored = (await readAll(gateway, key, id)).map(
    ({ eventData }) => (eventData as unknown as { event?: { message: string } }).event?.message ?? '',
  );
  expect(stored.join('')).toBe(text.replace(SECRET, '[redacted]'));
});

const redacted = async (text: string) => {
  const { documents } = await redactDocuments([JSON.stringify({ text })]);
  return (JSON.parse(documents[0] ?? '') as { text: string }).text;
};

test.each([
  ['a letter before it', `Qm${SECRET}`],
  ['a digit before it', `7${SECRET}`],
  ['a letter after it', `${SECRET}Q`],
  ['a hyphen after it', `${SECRET}-`],
  ['a token of the gateway within Base64', `+abc${join('wgk_', 'a1B2'.repeat(9))}`],
  ['a token of a rule after a digit', `0${join('npm_', 'abcdefghijklmnopqrstuvwxyz0123456789')}`],
])('what is in the middle of a longer token stays: %s', async (_, text) => {
  expect(await redacted(`+${text}\n`)).toBe(`+${text}\n`);
});

test.each([
  ...['=', ':', '/', '+', '"', "'", '\\n', '\\u0022', '%3D', '\u001b[31m', '\\u001b[31m', '_', '-'].map((before) => [
    before,
    ' ',
  ]),
  ...['=', ':', '/', '+', '"', "'", '\\n', '%20', '&'].map((after) => [' ', after]),
])('a credential between %j and %j is found', async (before = '', after = '') => {
  expect(await redacted(`x${before}${SECRET}${after}y`)).toBe(`x${before}[redacted]${after}y`);
});

test('of members with the same name, which a parser reads one of, each is searched', async () => {
  for (const line of [
    `{"a":"${SECRET}","a":"x"}`,
    `{"a":"x","a":"${SECRET}"}`,
    `{"b":[{"a":"${SECRET}","c":1,"a":"x"}],"d":12345678901234567890}`,
  ])
    expect(await redacted(line)).not.toContain(SECRET);
  const plain = `{"a":"${SECRET.slice(1)}","a":"x","b":"AIza"}`;
  expect(await redacted(plain)).toBe(plain);
});
