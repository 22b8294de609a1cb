import { randomUUID } from 'node:crypto';
import { beforeAll, expect, test } from 'vitest';
import { AGENT_LINES } from '../../support/fixtures/agent-lines.ts';
import { useTestGateway } from '../../support/fixtures/gateway.ts';
import { append, createSession } from '../../support/fixtures/sessions.ts';

/** The totals of sessions, which grow with each append. */

const gateway = useTestGateway();
let key: string;
beforeAll(async () => {
  ({ key } = await gateway.createKey());
});

const NONE = {
  inputTokens: null,
  outputTokens: null,
  cachedInputTokens: null,
  cacheWriteTokens: null,
  costUsd: null,
  turns: null,
  toolCalls: null,
  toolErrors: null,
  durationMs: null,
};
const FIELDS = Object.keys(NONE).join(' ');

async function usageOf(id: string): Promise<unknown> {
  const { status, body } = await gateway.rest('GET', `/v1/sessions/${id}/usage`, { key });
  const { data } = await gateway.graphql<{ session: { usage: unknown } }>(
    key,
    `query($id: ID!) { session(id: $id) { usage { ${FIELDS} } } }`,
    { id },
  );
  expect([status, data?.session.usage]).toEqual([200, body]);
  return body;
}

const event = (data: object) => ({ eventType: 'x', provider: 'p', eventData: { type: 'x', ...data } });
const send = (id: string, format: string, lines: readonly string[]) =>
  gateway.rest('POST', `/v1/sessions/${id}/events`, {
    key,
    body: lines.join('\n'),
    headers: { 'Content-Type': `application/x-ndjson; format=${format}` },
  });

test('a total is null until an event reports it, and then the sum; what is no amount is ignored', async () => {
  const id = await createSession(gateway, key);
  expect(await usageOf(id)).toEqual(NONE);
  await append(gateway, key, id, [
    event({ usage: { inputTokens: 10, costUsd: 0.5, turns: 0 } }),
    event({ usage: { inputTokens: -1, outputTokens: '9', costUsd: 1e300, turns: null } }),
    event({ usage: 'free' }),
    event({ toolResult: { status: 'running' } }),
    event({ toolResult: { status: 'completed' } }),
    event({ toolResult: { status: 'error' } }),
  ]);
  const first = { ...NONE, inputTokens: 10, costUsd: 0.5, turns: 0, toolCalls: 2, toolErrors: 1 };
  expect(await usageOf(id)).toEqual(first);
  await append(gateway, key, id, [event({ usage: { inputTokens: 5, durationMs: 7, costUsd: 0.25 } })]);
  expect(await usageOf(id)).toEqual({ ...first, inputTokens: 15, durationMs: 7, costUsd: 0.75 });
});

test('calls and errors are those that the agent reports, else counted; a failed call counts before it has ended', async () => {
  const { key: own } = await gateway.createKey();
  const counted = [
    event({ itemId: 'a', toolName: 'Bash', toolResult: { status: 'running', exitCode: 2 } }),
    event({ itemId: 'a', toolName: 'Bash', toolResult: { status: 'error' } }),
    event({ itemId: 'b', toolName: 'Bash', toolResult: { status: 'completed' } }),
  ];
  const [first, second] = [await createSession(gateway, own), await createSession(gateway, own)];
  const read = async (path: string) => (await gateway.rest<object>('GET', path, { key: own })).body;
  await append(gateway, own, first, counted.slice(0, 1));
  expect(await read(`/v1/sessions/${first}/usage`)).toEqual({ ...NONE, toolCalls: 0, toolErrors: 1 });
  await append(gateway, own, second, [...counted, event({ usage: { toolCalls: 5, toolErrors: 0 } })]);
  expect(await read(`/v1/sessions/${second}/usage`)).toEqual({ ...NONE, toolCalls: 5, toolErrors: 0 });
  const day = (offset: number) => new Date(Date.now() + offset * 86_400_000).toISOString().slice(0, 10);
  const report = `/v1/usage-report?from=${day(-1)}&until=${day(2)}&groupBy=TOOL`;
  expect(await read(report)).toMatchObject({ totals: { toolCalls: 5, toolErrors: 1 } });
});

test('what the agent reports takes the place of all that was counted, in appends before and after it too', async () => {
  const { key: own } = await gateway.createKey();
  const id = await createSession(gateway, own);
  const ended = (itemId: string, status: string) =>
    event({ itemId, toolName: 'Bash', toolResult: { status }, usage: { inputTokens: 1 } });
  const day = (offset: number) => new Date(Date.now() + offset * 86_400_000).toISOString().slice(0, 10);
  const read = async (path: string) => (await gateway.rest<object>('GET', path, { key: own })).body;
  const totalsAfter = async (...events: object[]) => {
    await append(gateway, own, id, events);
    const { inputTokens, toolCalls, toolErrors } = { ...NONE, ...(await read(`/v1/sessions/${id}/usage`)) };
    // The sums of the organization are those of its only session.
    for (const group of ['TOOL', 'MODEL', 'DAY'])
      expect(await read(`/v1/usage-report?from=${day(-1)}&until=${day(2)}&groupBy=${group}`)).toMatchObject({
        totals: { inputTokens, toolCalls, toolErrors },
      });
    return [toolCalls, toolErrors];
  };
  expect(await totalsAfter(ended('a', 'error'), ended('b', 'completed'))).toEqual([2, 1]);
  expect(await totalsAfter(ended('c', 'error'))).toEqual([3, 2]);
  // Of the agent, which knows of more calls. Its errors are still counted.
  expect(await totalsAfter(ended('d', 'error'), event({ usage: { toolCalls: 9 } }))).toEqual([9, 3]);
  expect(await totalsAfter(ended('e', 'error'))).toEqual([9, 4]);
  expect(await totalsAfter(event({ usage: { toolCalls: 2, toolErrors: 1 } }), ended('f', 'error'))).toEqual([11, 1]);
  expect(await totalsAfter(ended('g', 'error'))).toEqual([11, 1]);
  expect(await totalsAfter(event({ usage: { toolErrors: 1 } }))).toEqual([11, 2]);
  expect(await read(`/v1/usage-report?from=${day(-1)}&until=${day(2)}&groupBy=TOOL`)).toMatchObject({
    rows: expect.arrayContaining([expect.objectContaining({ key: 'Bash', toolCalls: 7, toolErrors: 6 })]),
  });
});

test('a batch that is sent again adds nothing', async () => {
  const id = await createSession(gateway, key);
  const events = [event({ usage: { turns: 1 } })];
  await append(gateway, key, id, events, 'b');
  await append(gateway, key, id, events, 'b');
  expect(await usageOf(id)).toEqual({ ...NONE, turns: 1 });
});

test.each<[format: keyof typeof AGENT_LINES, expected: object]>([
  [
    'claude',
    {
      inputTokens: 12,
      outputTokens: 340,
      cachedInputTokens: 9000,
      cacheWriteTokens: null,
      costUsd: 0.25,
      turns: 3,
      toolCalls: 2,
      toolErrors: 1,
      durationMs: 5400,
    },
  ],
  [
    'codex',
    { ...NONE, inputTokens: 150, outputTokens: 30, cachedInputTokens: 90, turns: 3, toolCalls: 3, toolErrors: 1 },
  ],
  [
    'gemini',
    {
      ...NONE,
      inputTokens: 50,
      outputTokens: 20,
      cachedInputTokens: 10,
      turns: 1,
      toolCalls: 1,
      toolErrors: 1,
      durationMs: 4000,
    },
  ],
  [
    'opencode',
    {
      ...NONE,
      inputTokens: 30,
      outputTokens: 8,
      cachedInputTokens: 5,
      cacheWriteTokens: 0,
      costUsd: 0.01,
      turns: 1,
      toolCalls: 2,
      toolErrors: 1,
    },
  ],
  [
    'openai-responses',
    { ...NONE, inputTokens: 9, outputTokens: 6, cachedInputTokens: 4, turns: 1, toolCalls: 1, toolErrors: 0 },
  ],
])('%s: the totals are those that the agent reports, whatever the lines of a request', async (format, expected) => {
  const [together, oneByOne] = [await createSession(gateway, key), await createSession(gateway, key)];
  await send(together, format, AGENT_LINES[format]);
  for (const line of AGENT_LINES[format]) await send(oneByOne, format, [line]);
  expect([await usageOf(together), await usageOf(oneByOne)]).toEqual([expected, expected]);
});

test('404: a missing session and one of others are indistinguishable; 403 for a key that only records', async () => {
  const owner = await gateway.createKey();
  const other = await createSession(gateway, owner.key);
  for (const id of [other, randomUUID()])
    expect((await gateway.rest('GET', `/v1/sessions/${id}/usage`, { key })).text).toBe(
      '{"error":"session not found","details":{"type":"Session"}}',
    );
  const { email, organization } = owner;
  const recorder = await gateway.createKey({ email, organization, scopes: ['sessions.record'] });
  expect((await gateway.rest('GET', `/v1/sessions/${other}/usage`, { key: recorder.key })).status).toBe(403);
});
