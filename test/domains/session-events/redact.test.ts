import { afterAll, beforeAll, expect, test } from 'vitest';
import { toGlobalId } from '../../../src/core/graphql/global-ids.ts';
import { indexSessions } from '../../../src/domains/session-events/search-index.ts';
import { type TestGateway, startTestGateway } from '../../support/fixtures/gateway.ts';
import { untilWaitingForLock, whileLocked } from '../../support/fixtures/locks.ts';
import { readByAllPaths } from '../../support/fixtures/read-paths.ts';
import { append, createSession, eventsOf, mutate, pullRequestInput, readAll } from '../../support/fixtures/sessions.ts';
import { recordSession } from '../../support/fixtures/workspace.ts';
import { sampledRuns } from '../../support/sample.ts';

/** Redacting texts of recorded sessions. */

let gateway: TestGateway;
beforeAll(async () => {
  gateway = await startTestGateway();
});
afterAll(() => gateway.close());

const index = async () => {
  while ((await indexSessions(gateway.dependencies.database.em)) > 0);
};
const redact = (key: string, sessionId: string, body: object, headers = {}) =>
  gateway.rest<{ redactedEvents: number; redactedTexts: number; error: string }>(
    'POST',
    `/v1/sessions/${sessionId}/redact`,
    { key, body, headers },
  );

const SECRET = 'swordfish "ü/\n';
/** Events that have the text as it is, in the line of an agent, in a nested line, in a name, and with other escapes. */
const DATA = [
  { type: 'x', itemId: 'm1', accumulatedText: `before ${SECRET} after ${SECRET}`, toolName: 'Read' },
  { type: 'x', event: { event: 'line', message: JSON.stringify({ a: [SECRET], n: 1 }) }, big: 12_345 },
  { type: 'x', event: { event: 'line', message: JSON.stringify({ inner: JSON.stringify({ deep: SECRET }) }) } },
  { type: 'x', [SECRET]: true },
  { type: 'x', accumulatedText: 'harmless' },
];

async function recordSecrets(key: string, organizationId: string): Promise<{ sessionId: string; artifactId: string }> {
  const { sessionId, artifactId } = await recordSession(gateway, key, {
    title: `About ${SECRET}`,
    description: SECRET,
  });
  const events = DATA.map((eventData) => ({ eventType: 'x', provider: 'p', eventData }));
  await append(gateway, key, sessionId, events);
  // As a client can write it, with more digits than a JavaScript number has.
  const escaped = '{"type":"x","t":"\\u0073wordfish \\"\\u00fc\\/\\n","long":12345678901234567890}';
  const { lastId } = await append(gateway, key, sessionId, eventsOf(1));
  await gateway.dependencies.sql.query(
    'update session_event set event_data = $4::json where session_id = $1 and organization_id = $2 and id = $3',
    [sessionId, organizationId, lastId, escaped],
  );
  const input = pullRequestInput(artifactId);
  await mutate(gateway, key, 'recordPullRequest', {
    ...input,
    url: 'https://code.example.com/pull/9',
    diff: { additions: 1, deletions: 0, data: `+password = '${SECRET}'` },
  });
  return { sessionId, artifactId };
}

test('a text is replaced wherever it occurs, and no path of either API has it any more', async () => {
  const { key, organizationId } = await gateway.createKey();
  const { sessionId, artifactId } = await recordSecrets(key, organizationId);
  await index();
  const stored = (by: Record<string, string>) =>
    gateway.graphql(
      key,
      'mutation($id: ID!) { pinSession(input: {sessionId: $id}) { ... on PinSessionPayload { session { title } } } }',
      { id: sessionId },
      by,
    );
  await stored({ 'Idempotency-Key': 'stored' });
  const to = { key, sessionId, artifactId, organizationId, word: 'swordfish' };
  const having = async () =>
    [...(await readByAllPaths(gateway, to))].flatMap(([path, answer]) => (answer.includes('swordfish') ? [path] : []));
  expect((await having()).length).toBeGreaterThan(15);
  const before = await readAll(gateway, key, sessionId);

  const changed = before.filter(({ eventData }) => JSON.stringify(eventData).includes('swordfish'));
  expect(await redact(key, sessionId, { text: SECRET })).toMatchObject({
    status: 200,
    // The texts of the session, and of the pull request, are counted too.
    body: { redactedEvents: changed.length, redactedTexts: changed.length + 3 },
  });
  expect(changed).toHaveLength(5);
  expect((await having()).filter((path) => !path.includes('?text='))).toEqual([]);
  const after = await readAll(gateway, key, sessionId);
  expect(after.map(({ id, eventType, createdAt }) => [id, eventType, createdAt])).toEqual(
    before.map(({ id, eventType, createdAt }) => [id, eventType, createdAt]),
  );
  expect(after.slice(-6).map(({ eventData }) => eventData)).toEqual([
    { type: 'x', itemId: 'm1', accumulatedText: 'before [redacted] after [redacted]', toolName: 'Read' },
    { type: 'x', event: { event: 'line', message: '{"a":["[redacted]"],"n":1}' }, big: 12_345 },
    {
      type: 'x',
      event: { event: 'line', message: JSON.stringify({ inner: JSON.stringify({ deep: '[redacted]' }) }) },
    },
    { type: 'x', '[redacted]': true },
    { type: 'x', accumulatedText: 'harmless' },
    expect.objectContaining({ t: '[redacted]' }),
  ]);
  const { text } = await gateway.rest('GET', `/v1/sessions/${sessionId}/events?limit=100`, { key });
  expect(text).toContain('"long":12345678901234567890');
  // A stored answer that had the title is not replayed, and its request does not run again.
  expect((await stored({ 'Idempotency-Key': 'stored' })).errors?.[0]?.message).toContain('its answer was erased');
  const search = `/v1/session-search?text=${encodeURIComponent('before after')}`;
  expect((await gateway.rest<{ items: object[] }>('GET', search, { key })).body.items).toHaveLength(1);
  // Redacting again finds nothing.
  expect((await redact(key, sessionId, { text: SECRET })).body).toEqual({ redactedEvents: 0, redactedTexts: 0 });
});

test('a session says when it was redacted once all of it is, so that readers load again what they have', async () => {
  const { key } = await gateway.createKey();
  const sessionId = await createSession(gateway, key);
  await append(gateway, key, sessionId, [
    { eventType: 'x', provider: 'p', eventData: { type: 'x', text: 'swordfish' } },
  ]);
  const redactedAt = async () => {
    const query = 'query($id: ID!) { session(id: $id) { redactedAt updatedAt } }';
    const { data } = await gateway.graphql<{ session: object }>(key, query, { id: sessionId });
    return data?.session;
  };
  gateway.setClock(new Date('2026-05-01T00:00:00.000Z'));
  const { sql } = gateway.dependencies;
  const event = 'select from session_event where session_id = ? for update';
  await whileLocked(gateway, event, [sessionId], async (release) => {
    const redacting = redact(key, sessionId, { text: 'swordfish' });
    await untilWaitingForLock(gateway, 1);
    expect(await redactedAt()).toMatchObject({ redactedAt: null });
    // As lines that were read before the redaction began can leave it.
    await sql.query('update session_stream set format_memory = $2 where session_id = $1', [
      sessionId,
      '{"a":"swordfish"}',
    ]);
    gateway.setClock(new Date('2026-05-02T00:00:00.000Z'));
    await release();
    expect((await redacting).body.redactedEvents).toBe(1);
  });
  const at = '2026-05-02T00:00:00.000Z';
  expect(await sql.query('select format_memory from session_stream where session_id = $1', [sessionId])).toEqual([
    { format_memory: '{"a":"[redacted]"}' },
  ]);
  expect(await redactedAt()).toEqual({ redactedAt: at, updatedAt: at });
  gateway.setClock(new Date('2026-05-03T00:00:00.000Z'));
  expect((await redact(key, sessionId, { text: 'swordfish' })).body.redactedTexts).toBe(0);
  expect(await redactedAt()).toMatchObject({ redactedAt: at });
  gateway.setClock(undefined);
});

test('every text of given events is replaced, but types, providers, ids, names of tools and values of closed lists', async () => {
  const { key } = await gateway.createKey();
  const sessionId = await createSession(gateway, key);
  const eventData = {
    type: 'tool',
    itemId: 'call_1',
    toolName: 'mcp__files__read',
    delivery: 'realtime',
    scope: { kind: 'subagent', parentToolUseId: 'toolu_1' },
    toolResult: { status: 'completed', output: 'a name and a password', exitCode: 0 },
    event: { event: 'line', message: '{"id":"secret"}', provider: 'anthropic', messageId: 'msg_1' },
    note_id: 'a sentence is no id',
    list: ['one', 2, null],
  };
  await append(gateway, key, sessionId, [
    { eventType: 'tool', provider: 'anthropic', eventData },
    ...eventsOf(2, { data: { t: 'kept' } }),
  ]);
  await index();
  const ids = [toGlobalId('SessionEvent', `${sessionId}:1`)];
  expect(
    await mutate(gateway, key, 'redactSessionEvents', { sessionId, eventIds: ids }, 'redactedEvents redactedTexts'),
  ).toMatchObject({ redactedEvents: 1, redactedTexts: 5 });
  const [first, second] = await readAll(gateway, key, sessionId);
  expect(first?.eventData).toEqual({
    ...eventData,
    toolResult: { status: 'completed', output: '[redacted]', exitCode: 0 },
    event: { event: '[redacted]', message: '[redacted]', provider: 'anthropic', messageId: 'msg_1' },
    note_id: '[redacted]',
    list: ['[redacted]', 2, null],
  });
  expect(second?.eventData).toMatchObject({ t: 'kept' });
  expect((await redact(key, sessionId, { eventIds: [2, '3'] })).body).toEqual({ redactedEvents: 2, redactedTexts: 2 });
});

test('bad input is refused by name, and changes nothing', async () => {
  const { key } = await gateway.createKey();
  const [sessionId, other] = [await createSession(gateway, key), await createSession(gateway, key)];
  await append(gateway, key, sessionId, eventsOf(1, { data: { t: 'text' } }));
  const given = async (body: object) => {
    const answer = await redact(key, sessionId, body);
    return [answer.status, answer.body.error];
  };
  expect(await given({})).toEqual([400, 'text: give either text or eventIds']);
  expect(await given({ text: 'four', eventIds: [1] })).toEqual([400, 'text: give either text or eventIds']);
  expect(await given({ text: 'abc' })).toEqual([400, 'text: must be at least 4 characters']);
  expect(await given({ text: 'a'.repeat(10_001) })).toEqual([400, 'text: must be at most 10000 characters']);
  expect(await given({ eventIds: [] })).toEqual([400, 'eventIds: must have at least 1 item']);
  expect(await given({ eventIds: ['x'] })).toEqual([400, 'eventIds.0: must be the id of an event']);
  expect(await given({ eventIds: [1, 2] })).toEqual([404, 'eventIds.1: no such event in the session']);
  expect(await given({ eventIds: [`${other}:1`] })).toEqual([404, 'eventIds.0: no such event in the session']);
  expect((await readAll(gateway, key, sessionId))[0]?.eventData).toMatchObject({ t: 'text' });
});

test('a session with more events than one request redacts is refused, before anything is read', async () => {
  const { key, organizationId } = await gateway.createKey();
  const sessionId = await createSession(gateway, key);
  await append(gateway, key, sessionId, eventsOf(1));
  await gateway.dependencies.sql.query(
    `insert into session_event (session_id, id, organization_id, created_at, event_type, provider, event_data) values ($1, 100001, $2, now(), 'x', 'p', '{}')`,
    [sessionId, organizationId],
  );
  expect(await redact(key, sessionId, { text: 'text' })).toMatchObject({
    status: 409,
    body: { error: expect.stringContaining('text: a text can be redacted in at most 100000 events') },
  });
});

test('an answer that was stored for another object, and has sessions in it, is erased too', async () => {
  const { key, organizationId } = await gateway.createKey();
  const sessionId = await createSession(gateway, key, { title: 'title narwhal-61' });
  const query = `mutation($id: ID!) { updateOrganizationRetention(input: {organizationId: $id, sessionDays: null}) {
    ... on UpdateOrganizationRetentionPayload { organization { sessions(first: 2) { nodes { title } } } } } }`;
  const ask = () => gateway.graphql(key, query, { id: organizationId }, { 'Idempotency-Key': 'reaches sessions' });
  expect(JSON.stringify((await ask()).data)).toContain('narwhal-61');
  await redact(key, sessionId, { text: 'narwhal-61' });
  const { data, errors } = await ask();
  expect(JSON.stringify(data)).not.toContain('narwhal-61');
  expect(errors?.[0]?.message).toContain('its answer was erased');
});

test('a text that is part of the event model leaves the events readable', async () => {
  const { key } = await gateway.createKey();
  const sessionId = await createSession(gateway, key);
  const eventData = {
    type: 'type',
    delivery: 'realtime',
    scope: { kind: 'foreground' },
    accumulatedText: 'the type is realtime',
    type_of: 'type',
  };
  await append(gateway, key, sessionId, [{ eventType: 'x', provider: 'p', eventData }]);
  for (const text of ['type', 'realtime', 'foreground']) await redact(key, sessionId, { text });
  const query = `query($id: ID!) { session(id: $id) { events { nodes { eventData { type delivery scope { kind } accumulatedText } } } } }`;
  expect((await gateway.graphql(key, query, { id: sessionId })).data).toEqual({
    session: {
      events: {
        nodes: [
          {
            eventData: {
              type: '[redacted]',
              delivery: 'REALTIME',
              scope: { kind: 'FOREGROUND' },
              accumulatedText: 'the [redacted] is [redacted]',
            },
          },
        ],
      },
    },
  });
});

test.each([
  ['12345678', '{"pin":12345678,"cmd":"login"}'],
  ['"password": "hunter22"', '{"password": "hunter22"}'],
  ['say "hi-there" ok', String.raw`[{"a":"say \"hi-there\" ok"}]`],
  ['say "hi-there" ok', String.raw`{"a":"say \"hi-there\" ok"}` + '\n'],
  ['say "hi-there" ok', String.raw`x {"b":"{\"a\":\"say \\\"hi-there\\\" ok\"}"}`],
])('%s is replaced in the text %s', async (text, accumulatedText) => {
  const { key } = await gateway.createKey();
  const sessionId = await createSession(gateway, key);
  await append(gateway, key, sessionId, [{ eventType: 'x', provider: 'p', eventData: { type: 'x', accumulatedText } }]);
  expect((await redact(key, sessionId, { text })).body.redactedEvents).toBe(1);
  const [event] = await readAll(gateway, key, sessionId);
  expect(JSON.stringify(event?.eventData)).not.toMatch(/12345678|hunter22|hi-there/);
});

test('a text in several parts of the rich text, and titles at their bound', async () => {
  const { key } = await gateway.createKey();
  const parts = ['top', 'secret', '99'].map((text) => ({ type: 'text', text }));
  const richContent = { type: 'doc', content: [{ type: 'paragraph', content: parts }] };
  const sessionId = await createSession(gateway, key, { title: 'abcd'.repeat(250), richContent });
  await redact(key, sessionId, { text: 'topsecret99' });
  await redact(key, sessionId, { text: 'abcd' });
  const query = `query($id: ID!) { session(id: $id) { title description richContent } }`;
  const { data } = await gateway.graphql<{ session: { title: string } }>(key, query, { id: sessionId });
  expect(data?.session).toMatchObject({ description: '[redacted]', richContent: null });
  expect(data?.session.title).toHaveLength(1000);
});

test('totals that an agent counts up stay right', async () => {
  const { key } = await gateway.createKey();
  const sessionId = await createSession(gateway, key);
  const lines = (tokens: number) => `{"type":"turn.completed","usage":{"input_tokens":${tokens},"output_tokens":1}}\n`;
  const record = (tokens: number) =>
    gateway.rest('POST', `/v1/sessions/${sessionId}/events`, {
      key,
      body: lines(tokens),
      headers: { 'Content-Type': 'application/x-ndjson; format=codex' },
    });
  await record(100);
  await redact(key, sessionId, { text: 'never said' });
  await record(150);
  const usage = await gateway.rest<{ inputTokens: number }>('GET', `/v1/sessions/${sessionId}/usage`, { key });
  expect(usage.body.inputTokens).toBe(150);
});

test('beside transitions and deletions nobody waits for each other in a circle', async () => {
  const { key } = await gateway.createKey();
  const statuses: number[] = [];
  for (let round = sampledRuns(5, 1); round > 0; round -= 1) {
    const sessionId = await createSession(gateway, key);
    await gateway.rest('POST', `/v1/sessions/${sessionId}/events`, {
      key,
      body: '{"type":"turn.completed","usage":{"input_tokens":1}}\n',
      headers: { 'Content-Type': 'application/x-ndjson; format=codex' },
    });
    const answers = await Promise.all([
      redact(key, sessionId, { text: 'never said' }),
      gateway.rest('POST', `/v1/sessions/${sessionId}/transition`, { key, body: { state: 'inProgress' } }),
      gateway.rest('DELETE', `/v1/sessions/${sessionId}`, { key }),
    ]);
    for (const { status } of answers) statuses.push(status);
  }
  expect(statuses.filter((status) => status >= 500)).toEqual([]);
});

test('a retry of a batch is the same one after it was redacted, and other events are not', async () => {
  const { key } = await gateway.createKey();
  const sessionId = await createSession(gateway, key);
  const send = (text: string, n = 1) => {
    const eventData = { type: 'x', a: text, [text]: [`${text} and ${text}`], n };
    const body = { batchId: 'retried', events: [{ eventType: 'x', provider: 'p', eventData }] };
    return gateway.rest('POST', `/v1/sessions/${sessionId}/events`, { key, body });
  };
  expect((await send('swordfish')).status).toBe(201);
  await redact(key, sessionId, { text: 'swordfish' });
  expect(await send('swordfish')).toMatchObject({ status: 201, body: { firstId: 1, isReplayed: true } });
  expect((await send('swordfish', 2)).status).toBe(409);
});
