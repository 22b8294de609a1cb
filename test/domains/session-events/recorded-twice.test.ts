import { randomUUID } from 'node:crypto';
import pg from 'pg';
import { beforeAll, beforeEach, expect, test } from 'vitest';
import { onStatement } from '../../../src/core/postgres/driver/statement-channels.ts';
import { indexSessions } from '../../../src/domains/session-events/search-index.ts';
import { useOwnGateway } from '../../support/fixtures/gateway.ts';
import { subscribe } from '../../support/fixtures/sessions.ts';
import { type RecordedStatement, measurePlan } from '../../support/statement-plans.ts';

/** A run that is recorded by its command and by the transcript of its agent is one session, and counts once. */

const gateway = useOwnGateway();
let owner: { readonly key: string; readonly organization: string };
let key: string;
beforeAll(async () => {
  owner = await gateway.createKey();
  ({ key } = owner);
});

const SECOND = 1000;
const DAY = 86_400;
const timeAt = (seconds: number) => new Date(Date.now() + seconds * SECOND).toISOString();
const usage = { input_tokens: 100, output_tokens: 10 };

async function begin(agent = 'claude') {
  const path = `/v1/sessions/by-source/${agent}/${randomUUID()}`;
  const { id } = (await gateway.rest<{ id: string }>('PUT', path, { key, body: {} })).body;
  await move(id, 'inProgress');
  return id;
}
const move = (id: string, state: string) =>
  gateway.rest('POST', `/v1/sessions/${id}/transition`, { key, body: { state } });

async function send(id: string, lines: readonly object[], { format = 'claude', file = '', fromLine = 1 } = {}) {
  const query = file === '' ? '' : `?file=${file}&fromLine=${fromLine}`;
  const { status } = await gateway.fetch(`/v1/sessions/${id}/events${query}`, {
    method: 'POST',
    headers: { Authorization: `Bearer ${key}`, 'Content-Type': `application/x-ndjson; format=${format}` },
    body: lines.map((line) => JSON.stringify(line)).join('\n'),
  });
  return status;
}
const sendFile = (id: string, lines: readonly object[], fromLine = 1) =>
  send(id, lines, { format: 'claude-transcript', file: 'a.jsonl', fromLine });

/** The ids of messages are different in each test: usage counts once. */
let run = 0;
beforeEach(() => void (run += 1));
const streamed = (message: string, text: string) => ({
  type: 'assistant',
  session_id: 's',
  message: { id: `${message}-${run}`, role: 'assistant', model: 'x', content: [{ type: 'text', text }], usage },
});
const called = (tool: string) => ({
  type: 'assistant',
  message: { id: `m-${tool}`, role: 'assistant', content: [{ type: 'tool_use', id: tool, name: 'Bash', input: {} }] },
});
const returned = (tool: string) => ({
  type: 'user',
  message: { role: 'user', content: [{ type: 'tool_result', tool_use_id: tool, content: 'done' }] },
});
const inFile = (line: object, seconds = 0) => ({
  parentUuid: null,
  isSidechain: false,
  ...line,
  uuid: randomUUID(),
  timestamp: timeAt(seconds),
});
const ended = (cost: number, calls: number) => ({
  type: 'result',
  subtype: 'success',
  session_id: 's',
  num_turns: calls,
  duration_ms: 5,
  result: '',
  total_cost_usd: cost,
  usage: { input_tokens: 100 * calls, output_tokens: 10 * calls },
});

async function seen(id: string) {
  const markdown = await (
    await gateway.fetch(`/v1/sessions/${id}/export?format=markdown`, { headers: { Authorization: `Bearer ${key}` } })
  ).text();
  const { body: totals } = await gateway.rest<Record<string, number | null>>('GET', `/v1/sessions/${id}/usage`, {
    key,
  });
  const { body: session } = await gateway.rest<{ state: { current: string } }>('GET', `/v1/sessions/${id}`, { key });
  const { data } = await gateway.graphql<{
    session: { events: { nodes: { isSuperseded: boolean }[] }; outline: { tools: { name: string; calls: number }[] } };
  }>(
    key,
    'query ($id: ID!) { session(id: $id) { events(first: 500) { nodes { isSuperseded } } outline { tools { name calls } } } }',
    { id },
  );
  return {
    said: Array.from(markdown.matchAll(/^> (.+)$/gm), ([, text]) => text),
    superseded: data?.session.events.nodes.map(({ isSuperseded }) => isSuperseded),
    tools: data?.session.outline.tools.map(({ name, calls }) => `${name} ${calls}`),
    totals,
    state: session.state.current,
  };
}

test('the command first, then the file: the conversation is that of the file, totals are the larger ones, and a failed run stays failed', async () => {
  const id = await begin();
  await send(id, [
    streamed('m1', 'Look.'),
    called('t1'),
    returned('t1'),
    streamed('m2', 'By command.'),
    ended(0.02, 2),
  ]);
  expect(await seen(id)).toMatchObject({
    said: ['Look.', 'By command.'],
    totals: { inputTokens: 200, outputTokens: 20, costUsd: 0.02, toolCalls: 1 },
  });
  await move(id, 'failed');
  const file = [streamed('m1', 'Look.'), called('t1'), returned('t1'), streamed('m2', 'In the file.')];
  expect(
    await sendFile(
      id,
      file.map((line) => inFile(line, -1)),
    ),
  ).toBe(201);
  expect(await seen(id)).toMatchObject({
    said: ['Look.', 'In the file.'],
    superseded: [true, true, true, true, true, false, false, false, false],
    tools: ['Bash 1'],
    totals: { inputTokens: 200, outputTokens: 20, costUsd: 0.02, toolCalls: 1 },
    state: 'failed',
  });
  const report = `/v1/usage-report?from=${timeAt(-86_400).slice(0, 10)}&until=${timeAt(86_400).slice(0, 10)}&groupBy=TOOL`;
  const { body } = await gateway.rest<{ rows: { key: string; toolCalls: number }[] }>('GET', report, { key });
  expect(body.rows.filter(({ key: tool }) => tool === 'Bash')).toMatchObject([{ toolCalls: 1 }]);
  // What has no time, such as a title, is no work; what happened after the run goes on with it.
  expect(await sendFile(id, [{ type: 'ai-title', sessionId: 's', aiTitle: 'Look' }], 5)).toBe(201);
  expect(await sendFile(id, [inFile(streamed('m3', 'Later.'), 60)], 6)).toBe(409);
});

test('what the command reports without a model counts with that of the file; what a file has counts on its day', async () => {
  const id = await begin();
  const byModel = async (from: number, until: number) => {
    const days = `from=${timeAt(from * DAY).slice(0, 10)}&until=${timeAt(until * DAY).slice(0, 10)}`;
    const path = `/v1/usage-report?${days}&groupBy=MODEL&agents=two`;
    const { body } = await gateway.rest<{ rows: { key: string; inputTokens: number | null }[] }>('GET', path, { key });
    return body.rows.flatMap(({ key: model, inputTokens }) => (inputTokens ? [[model, inputTokens]] : []));
  };
  await gateway.rest('PATCH', `/v1/sessions/${id}`, { key, body: { agent: 'two' } });
  await send(id, [ended(0.02, 2)]);
  expect(await byModel(0, 1)).toEqual([[null, 200]]);
  await sendFile(id, [inFile(streamed('m1', 'Look.')), inFile(streamed('m2', 'By command.'))]);
  expect(await byModel(0, 1)).toEqual([['x', 200]]);
  await sendFile(id, [inFile(streamed('m3', 'Long ago.'), -30 * DAY)], 3);
  expect([await byModel(0, 1), await byModel(-31, -28)]).toEqual([[['x', 200]], [['x', 100]]]);
  expect((await seen(id)).totals).toMatchObject({ inputTokens: 300, costUsd: 0.02 });
});

test('while the run goes on, what the command has written after the last line of the file stays', async () => {
  const id = await begin();
  const late = { ...streamed('m2', 'Later.'), timestamp: timeAt(60) };
  await send(id, [{ ...streamed('m1', 'Early.'), timestamp: timeAt(-1) }, late]);
  await sendFile(id, [inFile(streamed('m1', 'Early.'))]);
  expect(await seen(id)).toMatchObject({ superseded: [true, false, false], totals: { inputTokens: 200 } });
  // The file was first with this line, and the recorder was late.
  await sendFile(id, [inFile(streamed('m2', 'Later.'), 60)], 2);
  await send(id, [{ ...streamed('m3', 'Known.'), timestamp: timeAt(30) }]);
  expect(await seen(id)).toMatchObject({ superseded: [true, true, false, false, true], said: ['Early.', 'Later.'] });
  // A second turn, of which the file has the totals of both.
  await sendFile(id, [inFile(streamed('m3', 'More.'), 61), inFile(streamed('m4', 'More.'), 62)], 3);
  expect((await seen(id)).totals).toMatchObject({ inputTokens: 400, outputTokens: 40 });
});

test('who follows the entries is told which are superseded, also who comes back', async () => {
  const id = await begin();
  await send(id, [streamed('m1', 'One.'), called('t1'), returned('t1')]);
  const document = `subscription($id: ID!, $after: ID) { sessionEntries(sessionId: $id, after: $after) { entries { databaseId } removedIds lastEventId } }`;
  const followed = async (after?: string) => {
    const stream = await subscribe(gateway, key, document, { id, after });
    const next = async () => {
      const { data } = JSON.parse((await stream.nextData())?.data ?? '{}') as {
        data: { sessionEntries: { entries: { databaseId: number }[]; removedIds: string[]; lastEventId: number } };
      };
      const { entries, removedIds, lastEventId } = data.sessionEntries;
      const removed = removedIds.map((each) => Buffer.from(each, 'base64').toString().replace(`${id}:`, ''));
      return [entries.map(({ databaseId }) => databaseId), removed, lastEventId];
    };
    return { next, close: () => stream.close() };
  };
  const first = await followed();
  expect(await first.next()).toEqual([[1, 2], [], 3]);
  await sendFile(
    id,
    [streamed('m1', 'One.'), called('t1'), returned('t1')].map((line) => inFile(line)),
  );
  const removed = ['AgentMessage:1', 'ToolCall:2'];
  expect([await first.next(), await first.next()]).toEqual([
    [[], removed, 0],
    [[4, 5], [], 6],
  ]);
  await first.close();
  const later = await followed('3');
  expect([await later.next(), await later.next()]).toEqual([
    [[], removed, 3],
    [[4, 5], [], 6],
  ]);
  await later.close();
});

test('a search finds what is said once', async () => {
  const id = await begin();
  const { database } = gateway.dependencies;
  const index = async () => {
    while ((await indexSessions(database.em.fork())) > 0);
  };
  const found = async () =>
    (await gateway.rest<{ items: { session: { id: string } }[] }>('GET', '/v1/session-search?text=zebra', { key })).body
      .items.length;
  await send(id, [streamed('m1', 'A zebra.')]);
  await index();
  expect(await found()).toBe(1);
  await sendFile(id, [inFile(streamed('f1', 'A zebra.'))]);
  await index();
  expect(await found()).toBe(1);
});

test('other sessions are not asked: lines of a command in a session without a transcript are never superseded', async () => {
  const { id } = (await gateway.rest<{ id: string }>('POST', '/v1/sessions', { key, body: { title: 'x' } })).body;
  await move(id, 'inProgress');
  await send(id, [streamed('m1', 'One.')]);
  await send(id, [inFile(streamed('m2', 'Two.'))], { format: 'claude-transcript' });
  expect(await seen(id)).toMatchObject({ superseded: [false, false], said: ['One.', 'Two.'] });
});

test('of lines of a command, a fold reads no events that are folded, and a page what it has', async () => {
  const id = await begin();
  await send(
    id,
    Array.from({ length: 2_000 }, (_, index) => streamed(`m${index}`, `Text ${index}`)),
  );
  const statements: RecordedStatement[] = [];
  const { database } = gateway.dependencies;
  onStatement(await database.driver.getConnection().getNativeClient(), ({ text, values }) => {
    if (text.startsWith('select') && text.includes('session_fold') && text.includes('session_event'))
      statements.push({ text, values });
  });
  await send(id, [streamed('last', 'Last text')]);
  expect((await gateway.rest('GET', `/v1/sessions/${id}/entries?limit=50`, { key })).status).toBe(200);
  expect(statements.length).toBeGreaterThan(1);
  const client = new pg.Client(gateway.databaseUrl);
  await client.connect();
  try {
    await client.query('analyze session_event, session_entry, session_stream, session_fold');
    const read: number[] = [];
    for (const statement of statements) read.push((await measurePlan(client, statement, 'force_custom_plan')).rows);
    expect(read.filter((rows) => rows >= 150)).toEqual([]);
  } finally {
    await client.end();
  }
});
