import { expect, onTestFinished, test } from 'vitest';
import { createFolding, foldAppended } from '../../../src/domains/session-events/public.ts';
import { Backlog } from '../../../src/core/backlog.ts';
import type { SessionId } from '../../../src/core/ids.ts';
import { type Entry, prune, restEntries } from '../../support/fixtures/entries.ts';
import { useTestGateway } from '../../support/fixtures/gateway.ts';
import { RECORDED } from '../../support/fixtures/recordings.ts';
import { append, createSession, moveTo, mutate, readAll, subscribe, tail } from '../../support/fixtures/sessions.ts';
import { modelOf } from '../../support/oracles/entry-model.ts';

const gateway = useTestGateway();

const FIELDS = `id: databaseId kind turn isOpen isFailed endedAt lastEventId startedAt subagent { databaseId name toolCall { databaseId } }
  events { nodes { databaseId } totalCount }
  ... on UserMessage { text isTextCut } ... on AgentMessage { text isTextCut model isFinal } ... on Thinking { text isTextCut }
  ... on SessionNote { text isTextCut provider }
  ... on ToolCall { toolName title input output exitCode durationMs startedSubagent { databaseId entries(first: 3) { totalCount } } }`;
const PAGE = `query($id: ID!, $first: Int, $after: String, $last: Int, $before: String, $filter: SessionEntryFilter) { session(id: $id) { turns
  entries(first: $first, after: $after, last: $last, before: $before, filter: $filter) { nodes { ${FIELDS} } totalCount pageInfo { hasNextPage hasPreviousPage startCursor endCursor } } } }`;

interface Page {
  readonly session: {
    readonly turns: number;
    readonly entries: {
      readonly nodes: readonly (Entry & { events: { nodes: { databaseId: number }[] } })[];
      readonly totalCount: number;
      readonly pageInfo: { hasNextPage: boolean; hasPreviousPage: boolean; startCursor: string; endCursor: string };
    };
  };
}

async function pageOf(key: string, id: string, page: object) {
  const { data, errors } = await gateway.graphql<Page>(key, PAGE, { id, ...page });
  if (errors || !data) throw new Error(JSON.stringify(errors));
  return data.session.entries;
}

async function allEntries(key: string, id: string, size: number, isBackward = false) {
  const nodes: Page['session']['entries']['nodes'][number][] = [];
  for (let cursor: string | undefined; ;) {
    const page = await pageOf(key, id, isBackward ? { last: size, before: cursor } : { first: size, after: cursor });
    if (isBackward) nodes.unshift(...page.nodes);
    else nodes.push(...page.nodes);
    if (!(isBackward ? page.pageInfo.hasPreviousPage : page.pageInfo.hasNextPage)) return nodes;
    cursor = isBackward ? page.pageInfo.startCursor : page.pageInfo.endCursor;
  }
}

/** What the stream of a finished session sends to who has read it until an event. */
async function followed(key: string, id: string, after: number) {
  const stream = await tail(gateway, key, id, { of: 'entries', query: `?cursor=${after}` });
  const messages = (await stream.take(Infinity)).filter(({ event }) => event !== 'end');
  return messages.map(({ data = '' }) => JSON.parse(data) as { entries: Entry[]; removedIds: number[] });
}

const send = (key: string, id: string, format: string, lines: readonly unknown[]) =>
  gateway.rest('POST', `/v1/sessions/${id}/events`, {
    key,
    body: lines.map((line) => (typeof line === 'string' ? line : JSON.stringify(line))).join('\n'),
    headers: { 'Content-Type': `application/x-ndjson; format=${format}` },
  });

const lettersOf = (text: string) => text.replaceAll(/[^\p{L}\p{N}]/gu, '');

test.each(RECORDED)('%s: entries are those of the model, the same everywhere', async (_, format, lines) => {
  const { key } = await gateway.createKey();
  const id = await createSession(gateway, key);
  await moveTo(gateway, key, id, 'IN_PROGRESS');
  const joined: Entry[][] = [];
  const third = Math.ceil(lines.length / 3);
  for (let start = 0; start < lines.length; start += third) {
    joined.push(await restEntries(gateway, key, id, 500));
    await send(key, id, format, lines.slice(start, start + third));
  }
  const events = (await readAll(gateway, key, id, 1000)).map((event) => ({
    ...event,
    data: event.eventData as object,
  }));
  const model = modelOf(events).map(({ id: entry, kind, turn, isFailed, text, output, events: ids }) => ({
    id: entry,
    turn,
    isFailed,
    kind,
    ids,
    ...(kind === 'note' ? {} : { text }),
    ...(kind === 'toolCall' && { output }),
  }));
  const rest = await restEntries(gateway, key, id, 500);
  const nodes = await allEntries(key, id, 25);
  const shown = nodes.map(({ events: own, ...entry }) => {
    const kind = entry.kind.toLowerCase().replaceAll(/_(.)/g, (_match, letter: string) => letter.toUpperCase());
    const { text, input = text, output } = entry as Entry & { input?: string };
    return {
      id: entry.id,
      turn: entry.turn,
      isFailed: entry.isFailed,
      kind,
      ids: own.nodes.map((event) => event.databaseId),
      ...(kind === 'note' ? {} : { text: input }),
      ...(kind === 'toolCall' && { output }),
    };
  });
  expect(shown).toEqual(model);
  expect(await allEntries(key, id, 3)).toEqual(nodes);
  expect(await allEntries(key, id, 2, true)).toEqual(nodes);
  expect(await restEntries(gateway, key, id, 2)).toEqual(rest);
  expect(rest.map(({ id: entry }) => entry)).toEqual(nodes.map(({ id: entry }) => entry));

  // The totals are those of the entries.
  const calls = rest.filter(({ kind, isOpen }) => kind === 'toolCall' && !isOpen);
  const failed = calls.filter(({ isFailed }) => isFailed).length;
  const { body: usage } = await gateway.rest<object>('GET', `/v1/sessions/${id}/usage`, { key });
  expect(usage).toMatchObject(
    calls.length === 0 ? { toolCalls: null, toolErrors: null } : { toolCalls: calls.length, toolErrors: failed },
  );

  // The texts are in the Markdown, in this order.
  const file = await gateway.fetch(`/v1/sessions/${id}/export?format=markdown`, {
    headers: { Authorization: `Bearer ${key}` },
  });
  const markdown = lettersOf(await file.text());
  let place = 0;
  for (const { text = '', input = '', output = '' } of rest as (Entry & { input?: string })[])
    for (const part of [text, input, output].map(lettersOf)) {
      const found = markdown.indexOf(part, place);
      expect([part, found >= place]).toEqual([part, true]);
      place = found + part.length;
    }

  // Who has read entries at any time, and then follows, has what a page has in the end.
  await moveTo(gateway, key, id, 'COMPLETED');
  const ended = await restEntries(gateway, key, id, 500);
  for (const first of joined) {
    const after = Math.max(0, ...first.map(({ lastEventId }) => lastEventId));
    const sent = (await followed(key, id, after)).flatMap(({ entries }) => entries);
    const known = new Map([...first, ...sent].map((entry) => [entry.id, entry]));
    expect([...known.values()].toSorted((one, other) => one.id - other.id)).toEqual(ended);
  }
});

const call = (itemId: string, status: string, more: object = {}) => ({
  eventType: 'x',
  provider: 'p',
  eventData: { type: 'x', itemId, toolName: 'Bash', toolResult: { status }, ...more },
});
const said = (source: string, accumulatedText: string) => ({
  eventType: 'x',
  provider: 'p',
  eventData: { type: 'x', source, accumulatedText },
});
const shownOf = (entries: readonly Entry[]) =>
  entries.map(({ id, kind, turn, isOpen, isFinal }) => [id, kind, turn, isOpen, isFinal]);

test('a call that reports its end twice counts once, and one that uses its id again anew', async () => {
  const { key } = await gateway.createKey();
  const id = await createSession(gateway, key);
  const ended = (status: string, itemId?: string) => ({ toolName: 'Bash', itemId, toolResult: { status } });
  const again = { toolName: 'Bash', itemId: 'c', accumulatedText: '{}' };
  const data = [ended('completed', 'c'), ended('error', 'c'), ended('error', 'c'), again, ended('completed', 'c')];
  const events = [...data, ended('completed'), ended('completed')].map((each) => ({ type: 'x', ...each }));
  await append(
    gateway,
    key,
    id,
    events.map((eventData) => ({ eventType: 'x', provider: 'p', eventData })),
  );
  const entries = await restEntries(gateway, key, id, 500);
  expect(entries.map(({ isFailed }) => isFailed)).toEqual([true, false, false, false]);
  const { body } = await gateway.rest<object>('GET', `/v1/sessions/${id}/usage`, { key });
  expect(body).toMatchObject({ toolCalls: 4, toolErrors: 1 });
});

test('nothing is open in a finished session, nor when it is queued again', async () => {
  const { key } = await gateway.createKey();
  const id = await createSession(gateway, key);
  await moveTo(gateway, key, id, 'IN_PROGRESS');
  await append(gateway, key, id, [said('user', 'Go'), said('assistant', 'I go'), call('a', 'running')]);
  const running = [
    [1, 'userMessage', 1, false, undefined],
    [2, 'agentMessage', 1, false, false],
    [3, 'toolCall', 1, true, undefined],
  ];
  expect(shownOf(await restEntries(gateway, key, id, 50))).toEqual(running);
  await moveTo(gateway, key, id, 'COMPLETED', 'QUEUED', 'IN_PROGRESS');
  await append(gateway, key, id, [
    said('user', 'Go on'),
    call('a', 'completed', { toolResult: { status: 'completed', output: 'done' } }),
  ]);
  const items = await restEntries(gateway, key, id, 50);
  expect(shownOf(items)).toEqual([
    [1, 'userMessage', 1, false, undefined],
    [2, 'agentMessage', 1, false, true],
    [3, 'toolCall', 1, false, undefined],
    [4, 'userMessage', 2, false, undefined],
  ]);
  expect(items[2]).toMatchObject({ lastEventId: 5, output: 'done' });
  // Who has read the entries before the end, and comes back now, learns of it.
  await moveTo(gateway, key, id, 'COMPLETED');
  const batches = await followed(key, id, 3);
  expect(batches.map(({ entries }) => entries.map((entry) => entry.id))).toEqual([[4, 3, 2]]);
});

test('a subscription sends what has changed, and at the end once more what only the end has changed', async () => {
  const { key } = await gateway.createKey();
  const id = await createSession(gateway, key);
  await moveTo(gateway, key, id, 'IN_PROGRESS');
  await append(gateway, key, id, [said('user', 'Go'), call('a', 'running')]);
  const document = `subscription($id: ID!) { sessionEntries(sessionId: $id) { entries { databaseId isOpen } removedIds lastEventId isEnded } }`;
  const stream = await subscribe(gateway, key, document, { id });
  const next = async () => {
    const message = await stream.nextData();
    return (JSON.parse(message?.data ?? '{}') as { data?: { sessionEntries: object } }).data?.sessionEntries;
  };
  const batch = (entries: readonly [number, boolean][], lastEventId: number, isEnded = false) => ({
    entries: entries.map(([databaseId, isOpen]) => ({ databaseId, isOpen })),
    removedIds: [],
    lastEventId,
    isEnded,
  });
  expect(await next()).toEqual(
    batch(
      [
        [1, false],
        [2, true],
      ],
      2,
    ),
  );
  await append(gateway, key, id, [call('b', 'running')]);
  expect(await next()).toEqual(batch([[3, true]], 3));
  await moveTo(gateway, key, id, 'FAILED');
  expect(await next()).toEqual(
    batch(
      [
        [2, false],
        [3, false],
      ],
      3,
      true,
    ),
  );
  await stream.close();
});

test('a page takes at most three statements, and each event is folded once, whoever folds it', async () => {
  const { key } = await gateway.createKey();
  const id = (await createSession(gateway, key)) as SessionId;
  const texts = Array.from({ length: 1000 }, (_, index) =>
    said(index % 2 === 0 ? 'user' : 'assistant', `text ${index}`),
  );
  await append(gateway, key, id, texts);
  await append(gateway, key, id, texts);
  const { sql, unfolded } = gateway.dependencies;
  const ofOther = new Backlog<SessionId>();
  ofOther.add(id, 1);
  await Promise.all([
    foldAppended(sql, unfolded),
    foldAppended(sql, ofOther),
    restEntries(gateway, key, id, 500),
    createFolding(sql)(),
  ]);
  gateway.statements.length = 0;
  const { body } = await gateway.rest<{ items: Entry[] }>('GET', `/v1/sessions/${id}/entries?limit=50&cursor=900`, {
    key,
  });
  expect(body.items).toHaveLength(50);
  expect(gateway.statements.filter((text) => /session_(?:entry|fold)/.test(text))).toHaveLength(1);
  const counts = await sql.query<{ entries: number }>(
    'select count(*)::int as entries, sum(upper(events) - lower(events))::int as events, max(turn) as turns from session_entry where session_id = $1',
    [id],
  );
  expect(counts).toEqual([{ entries: 2000, events: 2000, turns: 1000 }]);
  // Another process of before, and one that has died, leave events to the job.
  await append(gateway, key, id, [said('user', 'late')]);
  for (const fold = createFolding(sql); (await fold()) > 0;);
  expect(await sql.query('select folded_id::int as folded from session_fold where session_id = $1', [id])).toEqual([
    { folded: 2001 },
  ]);
});

test('a page folds at most 1,000 events, and an append leaves no more than that', async () => {
  const { key } = await gateway.createKey();
  const id = await createSession(gateway, key);
  const lines = Array.from({ length: 2_500 }, (_, index) => `line ${index}`);
  await send(key, id, 'auto', lines);
  await send(key, id, 'auto', lines.slice(0, 1_000));
  const last = async () => (await pageOf(key, id, { last: 1 })).nodes[0]?.events.nodes[0]?.databaseId;
  expect(await last()).toBe(3_500);
  const { sql } = gateway.dependencies;
  for (const table of ['session_entry', 'session_fold'])
    await sql.query(`delete from ${table} where session_id = $1`, [id]);
  for (const folded of [1_000, 2_000, 3_000, 3_500]) {
    await gateway.rest('GET', `/v1/sessions/${id}/entries?limit=1`, { key });
    expect(await sql.query('select folded_id::int as folded from session_fold where session_id = $1', [id])).toEqual([
      { folded },
    ]);
  }
});

const idOf = (type: string, session: string, id: number) => Buffer.from(`${type}:${session}:${id}`).toString('base64');

test('pruned events leave the entries, who follows is told which, and redacted texts are not in them', async () => {
  const { key } = await gateway.createKey();
  const id = await createSession(gateway, key);
  await moveTo(gateway, key, id, 'IN_PROGRESS');
  await append(gateway, key, id, [
    said('user', 'One'),
    call('secretive', 'running', { accumulatedText: 'sesame' }),
    said('user', 'Two'),
    said('assistant', 'the word is sesame'),
  ]);
  const ended = { toolResult: { status: 'completed', output: 'end' } };
  await append(gateway, key, id, [call('secretive', 'completed', ended)]);
  expect(await restEntries(gateway, key, id, 50)).toHaveLength(4);
  const document = `subscription($id: ID!) { sessionEntries(sessionId: $id) { entries { databaseId } removedIds lastEventId } }`;
  const stream = await subscribe(gateway, key, document, { id });
  const next = async () => JSON.parse((await stream.nextData())?.data ?? '{}') as unknown;
  const batch = (ids: readonly number[], removedIds: readonly string[], lastEventId: number) => ({
    data: { sessionEntries: { entries: ids.map((databaseId) => ({ databaseId })), removedIds, lastEventId } },
  });
  expect(await next()).toEqual(batch([1, 3, 4, 2], [], 5));
  await mutate(gateway, key, 'redactSessionEvents', { sessionId: id, text: 'sesame' });
  expect((await restEntries(gateway, key, id, 50)).at(-1)).toMatchObject({ text: 'the word is [redacted]' });
  await prune(gateway, id, 3);
  expect(await next()).toEqual(batch([5], [idOf('UserMessage', id, 1), idOf('ToolCall', id, 2)], 5));
  await append(gateway, key, id, [
    call('secretive', 'completed', { toolResult: { ...ended.toolResult, output: '2' } }),
  ]);
  expect(await next()).toEqual(batch([5], [], 6));
  await stream.close();
  expect(await restEntries(gateway, key, id, 50)).toMatchObject([
    { id: 3, turn: 2, text: 'Two' },
    { id: 4, turn: 2 },
    { id: 5, turn: 1, kind: 'toolCall', toolName: 'Bash', input: '', output: '2', lastEventId: 6 },
  ]);

  // Who comes back later is told the same; who has nothing yet is not.
  await prune(gateway, id, 6);
  await moveTo(gateway, key, id, 'COMPLETED');
  const idsAfter = async (after: number) =>
    (await followed(key, id, after)).map(({ entries, removedIds }) => [entries.map((entry) => entry.id), removedIds]);
  expect(await idsAfter(5)).toEqual([
    [[6], [1, 2, 3, 4, 5]],
    [[6], []],
  ]);
  expect(await idsAfter(2)).toEqual([
    [[], [1, 2]],
    [[6], []],
  ]);
  expect(await idsAfter(0)).toEqual([[[6], []]]);
});

test('turns keep their numbers when events are pruned that nobody has read as entries', async () => {
  const { key } = await gateway.createKey();
  const id = await createSession(gateway, key);
  await append(gateway, key, id, [said('user', 'One'), said('user', 'Two'), said('user', 'Three')]);
  await prune(gateway, id, 3);
  expect(await restEntries(gateway, key, id, 50)).toMatchObject([{ id: 3, turn: 3 }]);
  const { data } = await gateway.graphql<Page>(key, PAGE, { id });
  expect(data?.session.turns).toBe(3);
});

test('subagents have their own entries, with one statement for all of them', async () => {
  const { key } = await gateway.createKey();
  const id = await createSession(gateway, key);
  const names = ['a', 'b:c', 'é%'];
  for (const name of names) {
    const scope = { kind: 'subagent', parentToolUseId: name };
    const within = (source: string, accumulatedText: string) => ({
      eventType: 'x',
      provider: 'p',
      eventData: { type: 'x', source, scope, accumulatedText },
    });
    const started = call(name, 'running', { accumulatedText: JSON.stringify({ description: `Look at ${name}` }) });
    await append(gateway, key, id, [started, within('user', 'Look'), within('assistant', 'I look')]);
  }
  const fields = `__typename id databaseId name toolCall { databaseId } entries(last: 1) { totalCount nodes { databaseId turn subagent { id } } }`;
  const query = `query($id: ID!) { session(id: $id) { entries(filter: { kinds: [TOOL_CALL] }) { nodes { ... on ToolCall { startedSubagent { ${fields} } } } } } }`;
  const { data, errors } = await gateway.graphql<{
    session: { entries: { nodes: { startedSubagent: { id: string } }[] } };
  }>(key, query, { id });
  expect(errors).toBeUndefined();
  const subagents = data?.session.entries.nodes.map(({ startedSubagent }) => startedSubagent) ?? [];
  expect(subagents).toEqual(
    names.map((name, index) => {
      const globalId = Buffer.from(`SessionSubagent:${id}:${encodeURIComponent(name)}`).toString('base64');
      return {
        __typename: 'SessionSubagent',
        id: globalId,
        databaseId: name,
        name: `Look at ${name}`,
        toolCall: { databaseId: 3 * index + 1 },
        entries: { totalCount: 2, nodes: [{ databaseId: 3 * index + 3, turn: 0, subagent: { id: globalId } }] },
      };
    }),
  );
  const count = async (ids: readonly string[]) => {
    gateway.statements.length = 0;
    const nodes = `query($ids: [ID!]!) { nodes(ids: $ids) { ... on SessionSubagent { ${fields} } } }`;
    const found = await gateway.graphql<{ nodes: object[] }>(key, nodes, { ids });
    expect(found.data?.nodes).toEqual(subagents.filter((each) => ids.includes(each.id)));
    return gateway.statements.length;
  };
  const ids = subagents.map((each) => each.id);
  await count(ids);
  expect(await count(ids)).toBe(await count(ids.slice(0, 1)));
  const filtered = await pageOf(key, id, { first: 10, filter: { subagentIds: ids.slice(1) } });
  expect(filtered.nodes.map(({ id: entry }) => entry)).toEqual([5, 6, 8, 9]);
});

test('two whole texts of a person without ids are two messages, also when the second says or begins the same', async () => {
  const { key } = await gateway.createKey();
  const id = await createSession(gateway, key);
  const done = said('assistant', 'Done.');
  await append(gateway, key, id, [
    said('user', 'continue'),
    said('user', 'continue'),
    done,
    done,
    said('user', 'continue, now'),
  ]);
  expect((await restEntries(gateway, key, id, 500)).map(({ turn, text }) => [turn, text])).toEqual([
    [1, 'continue'],
    [2, 'continue'],
    [2, 'Done.'],
    [3, 'continue, now'],
  ]);
});

test('a subagent that goes on after the next question is found in the turn of its call', async () => {
  const { key } = await gateway.createKey();
  const id = await createSession(gateway, key);
  const later = (text: string) => {
    const { eventData, ...event } = said('assistant', text);
    return { ...event, eventData: { ...eventData, scope: { kind: 'subagent', parentToolUseId: 'a' } } };
  };
  await append(gateway, key, id, [
    said('user', 'One'),
    call('a', 'running'),
    later('Soon'),
    said('user', 'Two'),
    said('assistant', 'Yes'),
    later('And later'),
  ]);
  const turnsIn = async (filter: object) =>
    (await pageOf(key, id, { filter })).nodes.map(({ id: entry, turn }) => [entry, turn]);
  const ofFirst = [
    [1, 1],
    [2, 1],
    [3, 1],
    [6, 1],
  ];
  expect(await turnsIn({ turnBefore: 2 })).toEqual(ofFirst);
  expect(await turnsIn({ turnFrom: 0, turnBefore: 2 })).toEqual(ofFirst);
  expect(await turnsIn({ turnFrom: 1, turnBefore: 2 })).toEqual(ofFirst);
});

test('an exit code of more than 32 bits is null in GraphQL and a number in REST, and the call has failed', async () => {
  const { key } = await gateway.createKey();
  const id = await createSession(gateway, key);
  const eventData = {
    type: 'x',
    toolName: 'Bash',
    itemId: 'a',
    toolResult: { status: 'completed', exitCode: 3_221_225_477 },
  };
  await append(gateway, key, id, [{ eventType: 'x', provider: 'p', eventData }]);
  expect((await pageOf(key, id, {})).nodes).toMatchObject([{ exitCode: null, isFailed: true }]);
  expect(await restEntries(gateway, key, id, 500)).toMatchObject([{ exitCode: 3_221_225_477 }]);
});

test(
  'an append in a transaction does not wait for a fold of another one, which may wait for what the transaction has locked',
  // An append that waits would do so without end.
  { timeout: 60_000 },
  async () => {
    const { key } = await gateway.createKey();
    const id = await createSession(gateway, key);
    const { unfolded } = gateway.dependencies;
    const { promise: ends, resolve: end } = Promise.withResolvers<void>();
    onTestFinished(() => end());
    unfolded.add(id, 1_000);
    const other = unfolded.finish(id, () => ends);
    const appended = gateway.rest('POST', `/v1/sessions/${id}/events`, {
      key,
      headers: { 'Idempotency-Key': 'one' },
      body: { events: [{ eventType: 'message', eventData: { type: 'message', message: 'Hello' } }] },
    });
    expect(await appended).toMatchObject({ status: 201 });
    end();
    await other;
  },
);
