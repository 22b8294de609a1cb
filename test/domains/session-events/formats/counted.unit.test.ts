import { expect, test } from 'vitest';
import { convertLines } from '../../../../src/domains/session-events/line-converter.ts';
import { FormatMemory } from '../../../../src/domains/session-events/formats/format-memory.ts';
import type { FormatName } from '../../../../src/domains/session-events/formats/names.ts';
import { usageOf } from '../../../../src/domains/session-events/totals.ts';

/** What agents report counts once: the shapes are those that agents wrote, and that public reports name. */

async function countedIn(format: FormatName, lines: readonly object[], isResumed = false) {
  const texts = lines.map((line) => JSON.stringify(line));
  const memory = new FormatMemory();
  memory.set('resumed', isResumed ? true : undefined);
  const events = await convertLines(format, texts, memory);
  const { total, sums = [] } = (await usageOf(events)) ?? {};
  const given = Object.entries(total ?? {}).filter(([, amount]) => amount !== null);
  const models = sums.flatMap(({ model, ...amounts }) => (model === undefined ? [] : [[model, amounts]]));
  return { ...Object.fromEntries(given), models: Object.fromEntries(models) as object };
}

const tokens = (input: number, output: number) => ({
  input_tokens: input,
  cached_input_tokens: 0,
  output_tokens: output,
});
const count = (total: object, last: object) => ({
  type: 'event_msg',
  payload: { type: 'token_count', info: { total_token_usage: total, last_token_usage: last } },
});

test('codex: the last call is added; totals that shrink, repeat, or have the past of a fork do not count', async () => {
  const turn = (model: string) => ({ type: 'turn_context', payload: { model } });
  const shrunk = [
    turn('gpt-5-codex'),
    count(tokens(1000, 10), tokens(1000, 10)),
    count(tokens(1000, 10), tokens(1000, 10)),
    count(tokens(900, 20), tokens(50, 10)),
    turn('gpt-5-mini'),
    count(tokens(960, 30), tokens(60, 10)),
  ];
  expect(await countedIn('codex-rollout', shrunk)).toEqual({
    inputTokens: 1110,
    outputTokens: 30,
    cachedInputTokens: 0,
    models: {
      'gpt-5-codex': { inputTokens: 1050, outputTokens: 20, cachedInputTokens: 0 },
      'gpt-5-mini': { inputTokens: 60, outputTokens: 10, cachedInputTokens: 0 },
    },
  });
  const fork = [
    { type: 'session_meta', payload: { id: 'b', forked_from_id: 'a' } },
    count(tokens(910, 70), tokens(130, 10)),
  ];
  expect(await countedIn('codex-rollout', fork)).toMatchObject({ inputTokens: 130, outputTokens: 10 });
});

test('claude: a model has one name, also where its costs are named with [1m]', async () => {
  const usage = { input_tokens: 100, output_tokens: 10 };
  const lines = [
    { type: 'system', subtype: 'init', session_id: 's', model: 'claude-opus-4-8[1m]' },
    { type: 'assistant', session_id: 's', message: { id: 'm', model: 'claude-opus-4-8', content: [], usage } },
    {
      type: 'result',
      session_id: 's',
      total_cost_usd: 0.01,
      usage,
      modelUsage: { 'claude-opus-4-8[1m]': { inputTokens: 100, outputTokens: 10, costUSD: 0.01 } },
    },
  ];
  expect(await countedIn('claude', lines)).toMatchObject({
    inputTokens: 100,
    models: { 'claude-opus-4-8': { inputTokens: 100, outputTokens: 10, costUsd: 0.01 } },
  });
});

test('claude: the usage of Qwen Code is that of its session so far, of which what a resumed run has of the past does not count', async () => {
  const usage = (calls: number) => ({ input_tokens: 100 * calls, output_tokens: 10 * calls });
  const turn = (calls: number, id: string) => [
    { type: 'system', subtype: 'init', session_id: 's', qwen_code_version: '0.24.4' },
    { type: 'assistant', session_id: 's', message: { id, model: 'q', content: [], usage: usage(1) } },
    { type: 'result', session_id: 's', usage: usage(calls) },
  ];
  // A call of the program is in no message.
  const lines = [...turn(2, 'a'), ...turn(3, 'b')];
  expect(await countedIn('claude', lines)).toMatchObject({ inputTokens: 300, outputTokens: 30 });
  expect(await countedIn('claude', turn(3, 'c'), true)).toMatchObject({ inputTokens: 100, outputTokens: 10 });
});

test('opencode: reasoning is output where it is not among it, and the model of a call is that of its message', async () => {
  const used = { total: 140, input: 100, output: 6, reasoning: 4, cache: { read: 30, write: 0 } };
  const part = { type: 'step-finish', tokens: used };
  const counted = { inputTokens: 100, outputTokens: 10, cachedInputTokens: 30 };
  expect(await countedIn('opencode', [{ type: 'step_finish', part }])).toMatchObject(counted);
  const message = { id: 'm', sessionID: 's', role: 'assistant', modelID: 'x' };
  expect(await countedIn('opencode-storage', [message, { id: 'p', messageID: 'm', ...part }])).toMatchObject({
    models: { x: counted },
  });
});

test('cline: messages of a session file, which are written anew', async () => {
  const metrics = { inputTokens: 130, outputTokens: 10, cacheReadTokens: 30 };
  const call = { type: 'tool_use', id: 'c', name: 'run_commands', input: {} };
  const message = { id: 'm', role: 'assistant', content: [{ type: 'text', text: 'I look.' }, call], ts: 1796143269744 };
  const counted = { ...message, modelInfo: { id: 'x' }, metrics };
  const output = [{ query: 'exit 3', result: 'three', error: 'Command exited with code 3', success: false }];
  const result = {
    id: 'r',
    role: 'user',
    content: [{ type: 'tool_result', tool_use_id: 'c', content: output }],
    ts: 2,
  };
  const said = { id: 'u', role: 'user', content: '<user_input mode="act">Look</user_input>', ts: 1796143268784 };
  expect(await countedIn('cline', [said, message, counted, counted, result, result])).toEqual({
    inputTokens: 130,
    outputTokens: 10,
    cachedInputTokens: 30,
    turns: 1,
    toolCalls: 1,
    toolErrors: 1,
    models: { x: { inputTokens: 130, outputTokens: 10, cachedInputTokens: 30 } },
  });
  const [read] = await convertLines('cline', [JSON.stringify(said)], new FormatMemory());
  expect([read?.createdAt, JSON.parse(read?.eventData ?? '')]).toMatchObject([
    '2026-12-01T16:41:08.784Z',
    { source: 'user', accumulatedText: 'Look' },
  ]);
});

test('claude-transcript: cost-state has the costs, and the tokens that no message has; the last one counts', async () => {
  const said = (id: string) => ({
    type: 'assistant',
    uuid: id,
    message: { id, model: 'claude-x', content: [], usage: { input_tokens: 100, output_tokens: 10 } },
  });
  const state = (input: number, cost: number) => ({
    type: 'cost-state',
    totalCostUSD: cost,
    modelUsage: { 'claude-x': { inputTokens: input, outputTokens: input / 10, costUSD: cost } },
  });
  const lines = [
    said('a'),
    said('b'),
    state(300, 0.03),
    said('c'),
    state(400, 0.04),
    state(400, 0.04),
    state(10, 0.001),
  ];
  const counted = await countedIn('claude-transcript', lines);
  expect(counted).toMatchObject({ inputTokens: 400, outputTokens: 40 });
  expect(counted).toHaveProperty('costUsd', 0.04);
});

test('gemini: each model has its tokens, and thoughts are output', async () => {
  const stats = {
    total_tokens: 840,
    input_tokens: 780,
    output_tokens: 36,
    cached: 180,
    models: {
      lite: { total_tokens: 140, input_tokens: 130, output_tokens: 6, cached: 30 },
      flash: { total_tokens: 700, input_tokens: 650, output_tokens: 30, cached: 150 },
    },
  };
  const lines = [
    { type: 'init', session_id: 'g', model: 'auto' },
    { type: 'result', status: 'success', stats },
  ];
  expect(await countedIn('gemini', lines)).toEqual({
    inputTokens: 780,
    outputTokens: 60,
    cachedInputTokens: 180,
    turns: 1,
    models: {
      lite: { inputTokens: 130, outputTokens: 10, cachedInputTokens: 30, turns: 1 },
      flash: { inputTokens: 650, outputTokens: 50, cachedInputTokens: 150 },
    },
  });
  const chat = {
    type: 'gemini',
    id: 'm',
    content: 'x',
    tokens: { input: 130, output: 6, thoughts: 4 },
    model: 'flash',
  };
  expect(await countedIn('gemini-chat', [chat, chat])).toMatchObject({
    inputTokens: 130,
    outputTokens: 10,
    models: { flash: { inputTokens: 130 } },
  });
});

test('copilot: a command that ended with another code is an error; records of calls count, or else the totals at the end', async () => {
  const completed = {
    type: 'tool.execution_complete',
    data: { toolCallId: 'c', shellExecution: { exitCode: 3 }, success: true, result: { content: 'three' } },
  };
  expect(await countedIn('copilot', [completed])).toMatchObject({ toolCalls: 1, toolErrors: 1 });
  const record = {
    type: 'session.usage_record',
    data: { usage: { model: 'gpt-5', inputTokens: 100, outputTokens: 10, cacheReadTokens: 30 } },
  };
  const shutdown = {
    type: 'session.shutdown',
    data: { modelMetrics: { 'gpt-5': { usage: { inputTokens: 200, outputTokens: 20 } } } },
  };
  const prompt = { type: 'system.message', data: { role: 'system', content: 'You are' } };
  const [read] = await convertLines('copilot', [JSON.stringify(prompt)], new FormatMemory());
  expect(read?.eventData).not.toContain('accumulatedText');
  expect(await countedIn('copilot', [record, record, shutdown])).toMatchObject({
    inputTokens: 200,
    models: { 'gpt-5': { outputTokens: 20 } },
  });
  expect(await countedIn('copilot', [shutdown])).toMatchObject({ inputTokens: 200, outputTokens: 20 });
});

test('pi: the messages of a session file, and a run whose last message ended with an error', async () => {
  const call = { type: 'toolCall', id: 'c', name: 'bash', arguments: { command: 'exit 3' } };
  const lines = [
    { type: 'session', version: 3, id: 's', cwd: '/shop' },
    { type: 'message', message: { role: 'user', content: [{ type: 'text', text: 'Look' }] } },
    {
      type: 'message',
      message: {
        role: 'assistant',
        model: 'm',
        content: [call],
        usage: { input: 100, output: 10, cost: { total: 0.1 } },
      },
    },
    {
      type: 'message',
      message: {
        role: 'toolResult',
        toolCallId: 'c',
        toolName: 'bash',
        content: [{ type: 'text', text: 'three' }],
        isError: true,
      },
    },
  ];
  expect(await countedIn('pi', lines)).toMatchObject({
    inputTokens: 100,
    costUsd: 0.1,
    turns: 1,
    toolCalls: 1,
    toolErrors: 1,
  });
});
