import { expect, test } from 'vitest';
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
  readonly lastId: number | null;
  readonly hasMore: boolean;
}

const queryOf = (field: 'outline' | 'wholeOutline') => `query($id: ID!, $after: ID) {
  session(id: $id) { id outline: ${field}(after: $after) {
    marks { firstId messages toolCalls failures failureId inputTokens outputTokens costUsd }
    entries { eventId kind text } tools { name calls failures durationMs firstId failureId } models lastId hasMore
  } } }`;
const QUERY = queryOf('outline');

async function outlineOf(key: string, id: string, after?: string, query = QUERY): Promise<Outline> {
  const { data, errors } = await gateway.graphql<{ session: { outline: Outline } }>(key, query, { id, after });
  expect(errors).toBeUndefined();
  return data?.session.outline as Outline;
}
const wholeOutlineOf = (key: string, id: string) => outlineOf(key, id, undefined, queryOf('wholeOutline'));

const sumOf = (marks: readonly Mark[], field: keyof Mark) => marks.reduce((sum, mark) => sum + Number(mark[field]), 0);

async function recordedSession(key: string): Promise<string> {
  const id = await createSession(gateway, key);
  await moveTo(gateway, key, id, 'IN_PROGRESS');
  return id;
}

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
  // At once, it has the same sums, with as many statements as pages.
  const before = gateway.statements.length;
  const whole = await wholeOutlineOf(key, id);
  const pages = gateway.statements.slice(before).filter((text) => text.includes('"session_event"'));
  const { marks, tools, lastId, hasMore } = whole;
  expect([pages.length, lastId, hasMore]).toEqual([2, 2001, false]);
  const all = parts.flatMap((part) => part.marks);
  for (const field of ['toolCalls', 'messages', 'failures'] as const)
    expect(sumOf(marks, field)).toBe(sumOf(all, field));
  expect(marks.length).toBeGreaterThan(240);
  expect(marks.length).toBeLessThanOrEqual(500);
  expect([tools.length, tools.at(-1)]).toEqual([101, expect.objectContaining({ name: '', calls: 650 })]);
  // Of several sessions, a part is one page.
  const other = await recordedSession(key);
  const { data } = await gateway.graphql(
    key,
    'query($ids: [ID!]!) { nodes(ids: $ids) { ... on Session { databaseId wholeOutline { lastId hasMore } } } }',
    { ids: await Promise.all([id, other].map(globalIdOf(key))) },
  );
  expect(data).toEqual({
    nodes: [
      { databaseId: id, wholeOutline: { lastId: 1000, hasMore: true } },
      { databaseId: other, wholeOutline: { lastId: null, hasMore: false } },
    ],
  });
});

const globalIdOf = (key: string) => async (id: string) => {
  const { data } = await gateway.graphql<{ session: { id: string } }>(
    key,
    'query($id: ID!) { session(id: $id) { id } }',
    { id },
  );
  return data?.session.id;
};

test('the whole outline of a session with more data than an answer may have is read at once', async () => {
  const { key } = await gateway.createKey();
  const id = await recordedSession(key);
  const output = 'x'.repeat(400_000);
  for (let batch = 0; batch < 8; batch += 1)
    await append(
      gateway,
      key,
      id,
      Array.from({ length: 5 }, () => of({ toolName: 'Read', toolResult: { status: 'completed', output } })),
    );
  const { marks, lastId, hasMore } = await wholeOutlineOf(key, id);
  expect([sumOf(marks, 'toolCalls'), lastId, hasMore]).toEqual([40, 40, false]);
});

test('each subagent has its end, its calls and failures, and the subagent that started it', async () => {
  const { key } = await gateway.createKey();
  const id = await recordedSession(key);
  const within = (parentToolUseId: string) => ({ scope: { kind: 'subagent', parentToolUseId } });
  const task = (itemId: string, input: object, more: object = {}) => ({
    itemId,
    toolName: 'Task',
    accumulatedText: JSON.stringify(input),
    toolResult: { status: 'running' },
    ...more,
  });
  let calls = 0;
  const call = (status: string, more: object) => ({
    itemId: `c${(calls += 1)}`,
    toolName: 'Bash',
    toolResult: { status },
    ...more,
  });
  const long = 'a\n"quoted" \\ '.repeat(2000);
  const ended = (itemId: string, status: string, more: object = {}) => ({ itemId, toolResult: { status }, ...more });
  await append(
    gateway,
    key,
    id,
    [
      { source: 'user', accumulatedText: 'Do it' },
      task('a', { prompt: long, description: 'Find "all" callers' }),
      call('error', within('a')),
      task('b', { subagent_type: 'x', prompt: long }, within('a')),
      call('completed', within('b')),
      ended('b', 'completed', within('a')),
      task('d', {}),
      call('completed', { scope: { kind: 'background', taskId: 'd' } }),
      ended('a', 'error'),
      { source: 'user', accumulatedText: 'Go on' },
      call('completed', {}),
      call('completed', { scope: { kind: 'background', taskId: 'd' } }),
      { source: 'agent', accumulatedText: 'no id', scope: { kind: 'subagent', parentToolUseId: 'x'.repeat(300) } },
    ].map((data, index) => of(data, index * 1000)),
  );
  const { data } = await gateway.graphql(
    key,
    `query($id: ID!) { session(id: $id) { wholeOutline { entries {
      eventId kind text lastId endedAt toolCalls failures failureId subagentId parentId } } } }`,
    { id },
  );
  const entry = (
    [eventId, lastId]: readonly [number, number],
    [toolCalls, failures, failureId]: readonly [number, number, number | null],
    names: object,
  ) => ({
    eventId,
    lastId,
    endedAt: new Date(Date.UTC(2026, 0, 1) + (lastId - 1) * 1000).toISOString(),
    toolCalls,
    failures,
    failureId,
    ...names,
  });
  const subagent = (text: unknown, subagentId: unknown, parentId: string | null = null) => ({
    kind: 'SUBAGENT',
    text,
    subagentId,
    parentId,
  });
  const turn = (text: string) => ({ kind: 'TURN', text, subagentId: null, parentId: null });
  expect(data).toEqual({
    session: {
      wholeOutline: {
        entries: [
          entry([1, 9], [5, 2, 3], turn('Do it')),
          entry([2, 9], [2, 2, 3], subagent('Find "all" callers', 'a')),
          entry([4, 6], [1, 0, null], subagent(expect.stringMatching(/^a "quoted" \\ a "quoted"/), 'b', 'a')),
          entry([7, 12], [2, 0, null], subagent('Task', 'd')),
          entry([10, 13], [2, 0, null], turn('Go on')),
          entry([13, 13], [0, 0, null], subagent('no id', expect.any(String))),
        ],
      },
    },
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
