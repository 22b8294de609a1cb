import { afterAll, beforeAll, expect, test } from 'vitest';
import { type TestGateway, useTestGateway } from '../../support/fixtures/gateway.ts';
import { startSecondGateway } from '../../support/fixtures/second-gateway.ts';
import { createSession, moveTo, readAll } from '../../support/fixtures/sessions.ts';
import { linesOf } from '../../support/processes/recorder.ts';
import { BLANK_LINES, WIDE_LINES } from '../../support/fixtures/wide-lines.ts';

/** Lines of several writers: what a format remembers is that of all lines before, in the order in which they are stored. */

const gateway = useTestGateway();
let second: Awaited<ReturnType<typeof startSecondGateway>>;
let key: string;
beforeAll(async () => {
  second = await startSecondGateway(gateway);
  ({ key } = await gateway.createKey());
});
afterAll(() => second.close());

const COUNT = 10;
const times = <Value>(make: (index: number) => Value) => Array.from({ length: COUNT }, (_, index) => make(index));

function send(to: Pick<TestGateway, 'fetch'>, id: string, body: string, format = 'claude'): Promise<Response> {
  const headers = { Authorization: `Bearer ${key}`, 'Content-Type': `application/x-ndjson; format=${format}` };
  return to.fetch(`/v1/sessions/${id}/events`, { method: 'POST', headers, body });
}

/** Sends lines at once, with one gateway, or in turn with two. */
async function sendAtOnce(gateways: number, id: string, bodies: readonly string[]): Promise<void> {
  const answers = await Promise.all(
    bodies.map((body, index) => send(gateways === 2 && index % 2 === 1 ? second : gateway, id, body)),
  );
  expect(answers.map(({ status }) => status)).toEqual(bodies.map(() => 201));
}

test.each([1, 2])('a cost that is reported several times at once counts once, with %i gateways', async (gateways) => {
  const id = await createSession(gateway, key);
  const line = JSON.stringify({ type: 'result', session_id: 's', total_cost_usd: 1, num_turns: 1 });
  await sendAtOnce(
    gateways,
    id,
    times(() => line),
  );
  const { body } = await gateway.rest<object>('GET', `/v1/sessions/${id}/usage`, { key });
  expect(body).toMatchObject({ costUsd: 1, turns: COUNT });
});

test.each([1, 2])('results that come at once have the names of their tools, with %i gateways', async (gateways) => {
  const id = await createSession(gateway, key);
  const calls = times((n) => ({ id: 'm', content: [{ type: 'tool_use', id: `t${n}`, name: `tool-${n}` }] }));
  await sendAtOnce(
    gateways,
    id,
    calls.map((message) => JSON.stringify({ type: 'assistant', message })),
  );
  const resultOf = (n: number) => ({ type: 'tool_result', tool_use_id: `t${n}`, content: 'done' });
  await sendAtOnce(
    gateways,
    id,
    times((n) => JSON.stringify({ type: 'user', message: { content: [resultOf(n)] } })),
  );
  const results = (await readAll(gateway, key, id))
    .map(({ eventData }) => eventData as unknown as { source: string; itemId: string; toolName: string })
    .filter(({ source }) => source === 'tool');
  expect(results.map(({ itemId, toolName }) => `${itemId} ${toolName}`).toSorted()).toEqual(
    times((n) => `t${n} tool-${n}`),
  );
});

test.each([1, 2])('parts that come at once are all in the text at the end, with %i gateways', async (gateways) => {
  const id = await createSession(gateway, key);
  const part = (content: string) => JSON.stringify({ type: 'message', role: 'assistant', content, delta: true });
  const gemini = (body: string, to: Pick<TestGateway, 'fetch'> = gateway) => send(to, id, body, 'gemini');
  await Promise.all(times((n) => gemini(part(`<${n}>`), gateways === 2 && n % 2 === 1 ? second : gateway)));
  await gemini('{"type":"result"}');
  const events = await readAll(gateway, key, id);
  const data = events.map(({ eventData }) => eventData as unknown as { delta?: string; accumulatedText?: string });
  expect(data.flatMap(({ delta }) => delta ?? []).toSorted()).toEqual(times((n) => `<${n}>`));
  expect(data.at(-2)?.accumulatedText).toBe(data.flatMap(({ delta }) => delta ?? []).join(''));
});

test('memory of earlier versions that is too large is forgotten, and the session goes on', async () => {
  const id = await createSession(gateway, key);
  const stored = JSON.stringify({ texts: { a: 'x'.repeat(9 * 1024 * 1024) } });
  const { sql } = gateway.dependencies;
  await sql.query('update session_stream set format_memory = $2 where session_id = $1', [id, stored]);
  expect((await send(gateway, id, '{"type":"system"}')).status).toBe(201);
  const rows = await sql.query<{ bytes: number }>(
    'select octet_length(format_memory) as bytes from session_stream where session_id = $1',
    [id],
  );
  expect(rows[0]?.bytes).toBeLessThan(1024 * 1024);
});

test.each(BLANK_LINES)('a body of the blank line %j is answered with 200, and stores nothing', async (line) => {
  const id = await createSession(gateway, key);
  await send(gateway, id, '{"type":"system"}');
  const blank = await gateway.rest<object>('POST', `/v1/sessions/${id}/events`, {
    key,
    body: `${line}\n${line}`,
    headers: { 'Content-Type': 'application/x-ndjson; format=claude; batchId=blank' },
  });
  expect([blank.status, blank.body]).toEqual([
    200,
    {
      sessionId: id,
      firstId: 2,
      lastId: 1,
      isReplayed: false,
      events: 0,
      repairedTexts: 0,
      redactedSecrets: 0,
      repeatedLines: 0,
    },
  ]);
  expect(await readAll(gateway, key, id)).toHaveLength(1);
});

test('a blank body is refused where lines are: a session of others, and a missing one', async () => {
  const { key: other } = await gateway.createKey();
  const foreign = await createSession(gateway, other);
  expect((await send(gateway, foreign, '\n')).status).toBe(404);
  const id = await createSession(gateway, key);
  await moveTo(gateway, key, id, 'CANCELLED');
  expect((await send(gateway, id, '{}')).status).toBe(409);
});

test('10,000 lines have 10,000 events, also if one of them would have several', async () => {
  const id = await createSession(gateway, key);
  const part = (text: string) =>
    JSON.stringify({
      type: 'stream_event',
      event: { type: 'content_block_delta', delta: { type: 'text_delta', text } },
    });
  const lines = [part('\u0001'.repeat(119_000)), ...Array.from({ length: 9_999 }, () => part('a'))];
  const answer = await gateway.rest<{ events: number }>('POST', `/v1/sessions/${id}/events`, {
    key,
    body: lines.join('\n'),
    headers: { 'Content-Type': 'application/x-ndjson; format=claude' },
  });
  expect([answer.status, answer.body.events]).toEqual([201, 10_000]);
  expect(await linesOf(gateway, key, id)).toEqual(lines);
});

test.each([1, 2])('wide lines are stored while others write to the session, with %i gateways', async (gateways) => {
  const id = await createSession(gateway, key);
  await sendAtOnce(gateways, id, WIDE_LINES);
  const first = (await readAll(gateway, key, id, 1000)).filter(({ eventData }) => {
    const { line } = eventData as unknown as { line?: { event: number } };
    return line === undefined || line.event === 1;
  });
  expect(first).toHaveLength(WIDE_LINES.length);
});
