import { expect, test } from 'vitest';
import { AGENT_LINES } from '../../support/fixtures/agent-lines.ts';
import { useTestGateway } from '../../support/fixtures/gateway.ts';
import { append, createSession, moveTo } from '../../support/fixtures/sessions.ts';

const gateway = useTestGateway();

interface Mark {
  readonly firstId: number;
  readonly messages: number;
  readonly toolCalls: number;
  readonly failures: number;
  readonly failureId: number | null;
  readonly inputTokens: number;
  readonly outputTokens: number;
  readonly costUsd: number;
}

interface Outline {
  readonly marks: readonly Mark[];
  readonly entries: readonly { readonly eventId: number; readonly kind: string; readonly text: string }[];
  readonly tools: readonly object[];
  readonly models: readonly string[];
  readonly lastId: number;
  readonly hasMore: boolean;
}

const QUERY = `query($id: ID!, $after: ID) { session(id: $id) { id outline(after: $after) {
  marks { firstId messages toolCalls failures failureId inputTokens outputTokens costUsd }
  entries { eventId kind text } tools { name calls failures durationMs firstId failureId } models lastId hasMore } } }`;

async function outlineOf(key: string, id: string, after?: string): Promise<Outline> {
  const { data, errors } = await gateway.graphql<{ session: { outline: Outline } }>(key, QUERY, { id, after });
  expect(errors).toBeUndefined();
  return data?.session.outline as Outline;
}

const sumOf = (marks: readonly Mark[], field: keyof Mark) => marks.reduce((sum, mark) => sum + Number(mark[field]), 0);

async function recordedSession(key: string): Promise<string> {
  const id = await createSession(gateway, key);
  await moveTo(gateway, key, id, 'IN_PROGRESS');
  return id;
}

test('the outline of an agent has its turns, subagents, tools and models, and sums that agree with the totals', async () => {
  const { key } = await gateway.createKey();
  const id = await recordedSession(key);
  const lines = await gateway.rest('POST', `/v1/sessions/${id}/events`, {
    key,
    body: AGENT_LINES.claude.join('\n'),
    headers: { 'Content-Type': 'application/x-ndjson; format=claude' },
  });
  expect(lines.status).toBe(201);
  const { marks, entries, tools, models, lastId, hasMore } = await outlineOf(key, id);
  expect({ entries, models, lastId, hasMore }).toEqual({
    entries: [
      { eventId: 2, kind: 'TURN', text: 'Fix the coupon total' },
      { eventId: 10, kind: 'SUBAGENT', text: 'Find callers' },
      { eventId: 14, kind: 'SUBAGENT', text: 'Watch the tests' },
    ],
    models: [],
    lastId: 17,
    hasMore: false,
  });
  expect(tools).toEqual([
    { name: 'Bash', calls: 1, failures: 1, durationMs: expect.any(Number), firstId: 9, failureId: 11 },
    expect.objectContaining({ name: 'Task', calls: 1, failures: 0, firstId: 10, failureId: null }),
  ]);
  const { data } = await gateway.graphql<{ session: { usage: Record<string, number> } }>(
    key,
    'query($id: ID!) { session(id: $id) { usage { inputTokens outputTokens costUsd toolCalls } } }',
    { id },
  );
  const fields = ['inputTokens', 'outputTokens', 'costUsd', 'toolCalls'] as const;
  expect(fields.map((field) => sumOf(marks, field))).toEqual(fields.map((field) => data?.session.usage[field]));
});

const of = (eventData: object, at = 0) => ({
  eventType: 'x',
  provider: 'p',
  createdAt: new Date(Date.UTC(2026, 0, 1) + at).toISOString(),
  eventData: { type: 'x', ...eventData },
});

test('calls are counted when they end, with the time since they began; thinking is no message; names and texts are cut', async () => {
  const { key } = await gateway.createKey();
  const id = await recordedSession(key);
  const running = { itemId: 'a', toolName: 'Build', toolResult: { status: 'running' } };
  await append(gateway, key, id, [
    of({ source: 'user', itemId: 'u', accumulatedText: `  two\n\nlines ${'x'.repeat(500)}` }),
    of(running, 1000),
    of({ ...running, toolResult: { status: 'running', output: 'half' } }, 2000),
    of({ itemId: 'a', toolName: 'Build', toolResult: { status: 'error', error: 'no' } }, 5000),
    of({ itemId: 'm', deltaType: 'text_delta', source: 'assistant', accumulatedText: 'a' }),
    of({ itemId: 'm', deltaType: 'text_delta', source: 'assistant', accumulatedText: 'ab' }),
    of({ deltaType: 'text_delta', responsePhase: 'commentary', accumulatedText: 'hm' }),
    of({ toolName: 'T'.repeat(900), toolResult: { status: 'completed' } }),
    of({ usage: { costUsd: 'much', inputTokens: -1, outputTokens: 1e300, model: 7 } }),
    of({ usage: { model: 'model-1' } }),
    of({ event: { event: 'turn.failed', message: 'x' } }),
  ]);
  const { marks, entries, tools, models } = await outlineOf(key, id);
  expect(entries).toEqual([{ eventId: 1, kind: 'TURN', text: `two lines ${'x'.repeat(110)}` }]);
  expect(tools).toEqual([
    { name: 'Build', calls: 1, failures: 1, durationMs: 4000, firstId: 2, failureId: 4 },
    { name: 'T'.repeat(200), calls: 1, failures: 0, durationMs: 0, firstId: 8, failureId: null },
  ]);
  expect(models).toEqual(['model-1']);
  const fields = ['messages', 'toolCalls', 'failures', 'inputTokens', 'outputTokens', 'costUsd'] as const;
  expect(fields.map((field) => sumOf(marks, field))).toEqual([2, 2, 2, 0, 0, 0]);
  expect(marks.flatMap(({ failureId }) => failureId ?? [])).toEqual([4, 11]);
});

test('a long session is read in parts of bounded size, whose sums are those of all events', async () => {
  const { key } = await gateway.createKey();
  const id = await recordedSession(key);
  const call = (index: number) => of({ toolName: `tool ${index % 150}`, toolResult: { status: 'completed' } });
  for (const start of [0, 1000])
    await append(
      gateway,
      key,
      id,
      Array.from({ length: 1000 }, (_, index) => call(start + index)),
    );
  await append(gateway, key, id, [of({ source: 'user', accumulatedText: 'the last' })]);
  const first = await outlineOf(key, id);
  const second = await outlineOf(key, id, String(first.lastId));
  const third = await outlineOf(key, id, String(second.lastId));
  const parts = [first, second, third];
  expect(parts.map(({ lastId, hasMore }) => [lastId, hasMore])).toEqual([
    [1000, true],
    [2000, true],
    [2001, false],
  ]);
  expect(parts.map(({ marks }) => [marks.length, sumOf(marks, 'toolCalls'), sumOf(marks, 'messages')])).toEqual([
    [100, 1000, 0],
    [100, 1000, 0],
    [1, 0, 1],
  ]);
  // Further names are together in one.
  expect([first.tools.length, first.tools.at(-1)]).toEqual([101, expect.objectContaining({ name: '', calls: 300 })]);
  expect(await outlineOf(key, id, '99999')).toEqual({
    marks: [],
    entries: [],
    tools: [],
    models: [],
    lastId: 99_999,
    hasMore: false,
  });
});

test('who cannot read a session has no outline of it, and a wrong cursor is named', async () => {
  const { key } = await gateway.createKey();
  const id = await recordedSession(key);
  await append(gateway, key, id, [of({ source: 'user', accumulatedText: 'secret' })]);
  const { key: foreign } = await gateway.createKey();
  const answer = await gateway.graphql(foreign, QUERY, { id });
  expect(JSON.stringify(answer)).not.toContain('secret');
  const { errors } = await gateway.graphql(key, QUERY, { id, after: 'x' });
  expect(errors?.map(({ message }) => message)).toEqual(['after: must be the id of an event, in decimal digits']);
});
