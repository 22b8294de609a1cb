import { beforeEach, expect, test } from 'vitest';
import { useTestGateway } from '../../support/fixtures/gateway.ts';
import { recordingOf } from '../../support/fixtures/recordings.ts';
import { createSession } from '../../support/fixtures/sessions.ts';
import { sampled } from '../../support/sample.ts';

/** The totals of real agents, and those of runs that are resumed, or that were ended before their last total. */

const gateway = useTestGateway();
let key: string;
const beNew = async () => void ({ key } = await gateway.createKey());
beforeEach(beNew);

async function send(id: string, format: string, lines: readonly (object | string)[]): Promise<void> {
  const { status } = await gateway.rest('POST', `/v1/sessions/${id}/events`, {
    key,
    body: lines.map((line) => (typeof line === 'string' ? line : JSON.stringify(line))).join('\n'),
    headers: { 'Content-Type': `application/x-ndjson; format=${format}` },
  });
  expect(status).toBe(201);
}

async function usageOf(id: string) {
  const { body } = await gateway.rest<Record<string, number | null>>('GET', `/v1/sessions/${id}/usage`, { key });
  return body;
}

/** The totals of a session with these requests, of an account that has recorded nothing: a message counts once for an account. */
async function totals(format: string, ...requests: (object | string)[][]) {
  await beNew();
  const id = await createSession(gateway, key);
  for (const lines of requests) await send(id, format, lines);
  return usageOf(id);
}

sampled(test, 3).each([
  [
    'claude',
    'claude',
    { inputTokens: 1210, outputTokens: 220, cachedInputTokens: 550, cacheWriteTokens: 110, turns: 13, toolCalls: 12 },
  ],
  ['qwen', 'claude', { inputTokens: 500, outputTokens: 100, cachedInputTokens: 250, costUsd: null, turns: 5 }],
  ['codex', 'codex', { inputTokens: 500, outputTokens: 100, cachedInputTokens: 250, cacheWriteTokens: 0, turns: 1 }],
  ['opencode', 'opencode', { inputTokens: 400, outputTokens: 160, cachedInputTokens: 400, turns: 8, toolErrors: 3 }],
  ['cline', 'cline', { inputTokens: 300, outputTokens: 60, cachedInputTokens: 150, cacheWriteTokens: 0, turns: 3 }],
  ['pi', 'pi', { inputTokens: 250, outputTokens: 100, cachedInputTokens: 250, turns: 5 }],
  ['copilot', 'copilot', { inputTokens: null, turns: 5, durationMs: 900 }],
] as const)('%s: the totals of a real run, also when its agent is not named', async (name, format, expected) => {
  const lines = recordingOf(name);
  const [named, found] = [await totals(format, lines), await totals('auto', ...lines.map((line) => [line]))];
  expect([named, found]).toEqual([expect.objectContaining(expected), named]);
});

const message = (id: string, usage: object, more: object = {}) => ({
  type: 'assistant',
  message: { id, content: [{ type: 'text', text: id }], usage },
  ...more,
});

test('claude: a run without a last total has the sum of its messages, each once, with those of subagents', async () => {
  const run = await totals('claude', [
    message('m1', { input_tokens: 100, output_tokens: 1 }),
    message('m1', { input_tokens: 100, output_tokens: 20 }),
    message('m2', { input_tokens: 5, cache_creation_input_tokens: 50, output_tokens: 30 }, { parent_tool_use_id: 't' }),
  ]);
  expect(run).toMatchObject({ inputTokens: 155, outputTokens: 50, cacheWriteTokens: 50, costUsd: null });
});

const models = (inputTokens: number, outputTokens: number) => ({ modelUsage: { m: { inputTokens, outputTokens } } });
const ended = (usd: number, tokens: object, more: object = {}) => ({
  type: 'result',
  session_id: 's',
  result: '',
  total_cost_usd: usd,
  usage: tokens,
  ...more,
});
const begun = { type: 'system', subtype: 'init', session_id: 's' };

test('claude: totals of the run so far add what has come to them, with subagents that no message shows', async () => {
  const run = await totals(
    'claude',
    [begun, message('m1', { input_tokens: 10, output_tokens: 1 }), ended(0.1, { input_tokens: 10 }, models(60, 30))],
    [message('m2', { input_tokens: 10, output_tokens: 1 }), ended(0.3, { input_tokens: 10 }, models(75, 40))],
  );
  expect(run).toMatchObject({ inputTokens: 75, outputTokens: 40 });
  expect(run['costUsd']).toBeCloseTo(0.3, 9);
});

test('claude: another process counts from zero, unless it is of a version that goes on counting', async () => {
  const next = (more: object) => totals('claude', [begun, ended(0.1, {}, more)], [begun, ended(0.3, {}, more)]);
  expect((await next({}))['costUsd']).toBeCloseTo(0.4, 9);
  expect((await next({ result_index: 0 }))['costUsd']).toBeCloseTo(0.3, 9);
  // The same process begins each turn so.
  expect((await next({ duration_api_ms: 5 }))['costUsd']).toBeCloseTo(0.3, 9);
});

test('the first total of a run that was resumed in a new session has its past, and is not counted', async () => {
  const claude = await totals(
    'claude; resumed=true',
    [begun, message('m1', { input_tokens: 10 }), ended(5, { input_tokens: 10, output_tokens: 4 }, models(9000, 700))],
    [ended(5.5, { input_tokens: 20 }, models(9020, 800))],
  );
  expect(claude).toMatchObject({ inputTokens: 30, outputTokens: 104, costUsd: 0.5 });
  const turn = (input: number) => ({
    type: 'turn.completed',
    usage: { input_tokens: input, output_tokens: input / 10 },
  });
  const thread = { type: 'thread.started', thread_id: 't' };
  const codex = await totals('codex; resumed=true', [thread, turn(1000)], [turn(1300)]);
  expect(codex).toMatchObject({ inputTokens: 300, outputTokens: 30, turns: 2 });
  // In a session that has recorded the run before, nothing is missing.
  const id = await createSession(gateway, key);
  await send(id, 'codex', [thread, turn(1000)]);
  await send(id, 'codex; resumed=true', [thread, turn(1300)]);
  expect(await usageOf(id)).toMatchObject({ inputTokens: 1300, turns: 2 });
});

test('400: another value of resumed', async () => {
  const id = await createSession(gateway, key);
  const headers = { 'Content-Type': 'application/x-ndjson; format=claude; resumed=maybe' };
  const { status, text } = await gateway.rest('POST', `/v1/sessions/${id}/events`, { key, body: '{}', headers });
  expect([status, text]).toEqual([400, expect.stringContaining('resumed')]);
});

test('the transcripts of agents without a format of their own have their texts under those who wrote them', async () => {
  const id = await createSession(gateway, key);
  await send(id, 'auto', ['Looking at it', { role: 'user', content: 'Why?' }, { type: 'say', text: 'Because.' }]);
  const story = (of: string) =>
    gateway
      .fetch(`/v1/sessions/${of}/export?format=markdown`, { headers: { Authorization: `Bearer ${key}` } })
      .then((response) => response.text());
  const text = await story(id);
  expect(text.replace(/[^]*?\n## /, '## ')).toMatchInlineSnapshot(`
    "## Agent

    > Looking at it

    ## User

    > Why?

    ## Agent

    > Because.

    "
  `);
  for (const name of ['copilot', 'cline', 'pi'] as const) {
    const recorded = await createSession(gateway, key);
    await send(recorded, name, recordingOf(name));
    const shown = await story(recorded);
    expect([name, shown.split('I will look at the files.').length, shown.split('changed it to 0.19').length]).toEqual([
      name,
      2,
      2,
    ]);
  }
});
