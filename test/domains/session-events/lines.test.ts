import { randomUUID } from 'node:crypto';
import { beforeAll, expect, test } from 'vitest';
import { FORMAT_NAMES } from '../../../src/domains/session-events/formats/names.ts';
import { AGENT_LINES, ODD_LINES } from '../../support/fixtures/agent-lines.ts';
import { useTestGateway } from '../../support/fixtures/gateway.ts';
import { createSession, moveTo, readAll } from '../../support/fixtures/sessions.ts';
import { sampled } from '../../support/sample.ts';

/** Lines of agents over REST: a body of the media type application/x-ndjson. */

const gateway = useTestGateway();
let key: string;
let runner: string;
beforeAll(async () => {
  const owner = await gateway.createKey();
  ({ key } = owner);
  const { email, organization } = owner;
  runner = (await gateway.createKey({ email, organization, scopes: ['sessions.record'] })).key;
});

interface AppendedLines {
  readonly firstId: number;
  readonly lastId: number;
  readonly isReplayed: boolean;
  readonly events: number;
  readonly repairedTexts: number;
  readonly redactedSecrets: number;
}

const send = (sessionId: string, format: string, body: string, headers: Record<string, string> = {}) =>
  gateway.rest<AppendedLines & { error?: string }>('POST', `/v1/sessions/${sessionId}/events`, {
    key: runner,
    body,
    headers: { 'Content-Type': `application/x-ndjson; format=${format}`, ...headers },
  });

type Data = {
  readonly event?: { message: string };
  readonly line?: { event: number; events: number };
  readonly accumulatedText?: string;
  readonly source?: string;
  readonly scope?: object;
};
const stored = async (sessionId: string) =>
  (await readAll(gateway, key, sessionId, 1000)).map(({ eventData }) => eventData as unknown as Data);
const linesOf = (events: readonly Data[]) =>
  events.filter(({ line }) => line === undefined || line.event === 1).map(({ event }) => event?.message);

sampled(test, 4).each(FORMAT_NAMES)('%s: each line is stored once and whole, whatever it is', async (format) => {
  const id = await createSession(gateway, key);
  const lines = [...AGENT_LINES[format], ...ODD_LINES];
  const { status, body } = await send(id, format, `${lines.join('\n')}\n\n`);
  const events = await stored(id);
  expect([status, linesOf(events)]).toEqual([201, lines]);
  expect(body).toEqual({
    sessionId: id,
    firstId: 1,
    lastId: events.length,
    isReplayed: false,
    events: events.length,
    repairedTexts: expect.any(Number) as number,
    redactedSecrets: 0,
    repeatedLines: 0,
  });
});

test('a byte order mark at the start of a request is kept, and its line is read', async () => {
  const id = await createSession(gateway, key);
  const line = '\uFEFF{"type":"assistant","message":{"id":"m","content":"Hi"}}';
  expect((await send(id, 'claude', line)).status).toBe(201);
  const [event] = await stored(id);
  expect([event?.event?.message, event?.accumulatedText]).toEqual([line, 'Hi']);
});

test('a line that fits into an event is one event, and a longer one is in as few parts as possible, which Markdown has as one', async () => {
  const id = await createSession(gateway, key);
  const fitting = JSON.stringify({ type: 'x', pad: '"é'.repeat(170_000) });
  const long = `long ${'é😀"'.repeat(400_000)} the end`;
  const [control, message] = ['\u0001'.repeat(300_000), JSON.stringify({ text: 'm'.repeat(1_000_000) })];
  for (const line of [fitting, long, control, message]) expect((await send(id, 'jsonl', line)).status).toBe(201);
  const events = await stored(id);
  expect(events.map(({ line }) => line && [line.event, line.events])).toEqual([
    undefined,
    ...[1, 2, 3, 4].map((event) => [event, 4]),
    [1, 1],
    undefined,
  ]);
  expect(
    events
      .slice(1, 5)
      .map(({ event }) => event?.message)
      .join(''),
  ).toBe(long);
  const markdown = await gateway.fetch(`/v1/sessions/${id}/export?format=markdown`, {
    headers: { Authorization: `Bearer ${key}` },
  });
  expect(await markdown.text()).toContain(`> ${long}`);
});

test('what a format remembers goes on in the next request: parts of a message are joined', async () => {
  const id = await createSession(gateway, key);
  for (const line of AGENT_LINES.gemini) expect((await send(id, 'gemini', line)).status).toBe(201);
  const texts = (await stored(id)).flatMap(({ accumulatedText }) => accumulatedText ?? []);
  expect(texts).toEqual(['Say hello', 'Hello.', '{"path":"a.ts"}', 'Gone.', 'loop detected']);
});

test('a table of members counts for the request that has it', async () => {
  const id = await createSession(gateway, key);
  const line = '{"who":"human","said":"Why?"}';
  for (const format of ['jsonl; map="who:human=user, said=text"', 'jsonl'])
    expect((await send(id, format, line)).status).toBe(201);
  expect((await stored(id)).map(({ source, accumulatedText }) => [source, accumulatedText])).toEqual([
    ['user', 'Why?'],
    ['system', line],
  ]);
});

test('with a batchId or an Idempotency-Key, a retry stores nothing and answers the same ids, also after other lines', async () => {
  const id = await createSession(gateway, key);
  const [first = '', ...others] = AGENT_LINES.gemini;
  const inBatch = (batchId: string, body: string) => send(id, `gemini; batchId=${batchId}`, body);
  const lines = others.join('\n');
  const once = await inBatch('run-1', lines);
  expect((await inBatch('run-2', first)).status).toBe(201);
  const again = await inBatch('run-1', lines);
  expect([again.status, again.body]).toEqual([201, { ...once.body, isReplayed: true }]);
  const conflict = await inBatch('run-1', first);
  expect([conflict.status, conflict.body.error]).toEqual([
    409,
    'batchId: already used for other events; use another batchId',
  ]);
  const headers = { 'Idempotency-Key': randomUUID() };
  const sent = await send(id, 'gemini', first, headers);
  const replayed = await send(id, 'gemini', first, headers);
  expect([replayed.headers.get('Idempotent-Replayed'), replayed.text]).toEqual(['true', sent.text]);
  expect(linesOf(await stored(id))).toHaveLength(AGENT_LINES.gemini.length + 1);
});

test('NUL characters and lone surrogates are replaced and counted; bytes that are no UTF-8 too', async () => {
  const id = await createSession(gateway, key);
  const line = '{"type":"text","part":{"id":"p","text":"a\\u0000b\\ud800"}}';
  expect((await send(id, 'opencode', line)).body).toMatchObject({ events: 1, repairedTexts: 1 });
  const bytes = new Uint8Array([...Buffer.from('{"type":"text","part":{"text":"'), 0xff, ...Buffer.from('"}}')]);
  const response = await gateway.fetch(`/v1/sessions/${id}/events`, {
    method: 'POST',
    headers: { Authorization: `Bearer ${runner}`, 'Content-Type': 'application/x-ndjson;format=opencode' },
    body: bytes,
  });
  expect(response.status).toBe(201);
  expect((await stored(id)).map(({ accumulatedText }) => accumulatedText)).toEqual(['a\uFFFDb\uFFFD', '\uFFFD']);
});

const NOT_KNOWN = `format: must be one of ${FORMAT_NAMES.map((name) => `"${name}"`).join(', ')}`;

test('lines without a format: the answer names the formats', async () => {
  const id = await createSession(gateway, key);
  const response = await gateway.fetch(`/v1/sessions/${id}/events`, {
    method: 'POST',
    headers: { Authorization: `Bearer ${runner}`, 'Content-Type': 'application/x-ndjson' },
    body: '{}',
  });
  expect([response.status, await response.json()]).toEqual([400, { error: NOT_KNOWN }]);
});

sampled(test, 3).each<[format: string, body: string, status: number, error: string]>([
  ['perl', '{}', 400, NOT_KNOWN],
  ['', '{}', 400, NOT_KNOWN],
  ['codex', '1\n'.repeat(10_001), 400, 'the body must have at most 10000 lines; send the others in another request'],
  ['codex', 'x'.repeat(4 * 1024 * 1024 + 1), 413, 'the body must be at most 4194304 bytes (4 MiB)'],
  ['codex; map="a=text"', '{}', 400, 'map: is only for the format jsonl'],
  ['jsonl; map="a"', '{}', 400, 'map: each entry must be MEMBER=ROLE or MEMBER:VALUE=ROLE, not "a"'],
  [`jsonl; map="${'a'.repeat(2001)}"`, '{}', 400, 'map: must be at most 2000 characters'],
  [`codex; batchId=${'x'.repeat(201)}`, '{}', 400, 'batchId: must be at most 200 characters'],
])('refuses the format %j with a wrong body, and stores nothing: %#', async (format, body, status, error) => {
  const id = await createSession(gateway, key);
  const answer = await send(id, format, body);
  expect([answer.status, answer.body.error]).toEqual([status, error]);
  expect(await stored(id)).toEqual([]);
});

test('404 and 409 are those of an append: a session of others, and one that is finished', async () => {
  const other = await gateway.createKey();
  const foreign = await createSession(gateway, other.key);
  expect((await send(foreign, 'codex', '{}')).status).toBe(404);
  const id = await createSession(gateway, key);
  await moveTo(gateway, key, id, 'CANCELLED');
  const { status, body } = await send(id, 'codex', '{}');
  expect([status, body.error]).toEqual([409, 'the session is finished; queue it again before recording events']);
});

test('10,000 lines are stored in one request', async () => {
  const id = await createSession(gateway, key);
  const lines = Array.from({ length: 10_000 }, (_, index) => `{"type":"turn.started","n":${index}}`);
  expect((await send(id, 'codex', lines.join('\n'))).body).toMatchObject({ events: 10_000, lastId: 10_000 });
  expect(linesOf(await stored(id))).toEqual(lines);
});

test('the lines of a request with the parameter `subagent` are of that subagent, and those of the next one are not', async () => {
  const id = await createSession(gateway, key);
  const line = (text: string) => JSON.stringify({ type: 'message', role: 'assistant', content: text });
  await send(id, 'gemini; subagent=s1', line('below'));
  await send(id, 'gemini', line('above'));
  const texts = (await stored(id)).filter(({ accumulatedText }) => accumulatedText !== undefined);
  expect(texts.map(({ accumulatedText, scope }) => [accumulatedText, scope])).toEqual([
    ['below', { kind: 'subagent', taskId: 's1' }],
    ['above', { kind: 'foreground' }],
  ]);
});
