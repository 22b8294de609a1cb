import { createHash } from 'node:crypto';
import {
  type Convert,
  type Draft,
  type Format,
  type JsonObject,
  type TokenUsage,
  type UsageDraft,
  amountOf,
  contentText,
  entryOf,
  errorText,
  integerOf,
  listOf,
  MAX_MODEL_NAME,
  mediaText,
  modelOf,
  partDraft,
  textDraft,
  nameOf,
  objectOf,
  textOf,
  toolCall,
  toolEnd,
} from './format.ts';
import type { FormatMemory } from './format-memory.ts';
import { addedByMessage, countTokens, increaseOf, remainingTokens } from './token-count.ts';

/**
 * Claude Code with `--output-format stream-json`, and messages of the Claude Agent SDK. The shapes are those of
 * `claude_agent_sdk/types.py` in anthropics/claude-agent-sdk-python, and of the Messages API for content blocks.
 */

type Scope = NonNullable<Draft['scope']>;

function scopeOf({ parent_tool_use_id: parent, isSidechain, agentId }: JsonObject): Scope {
  const parentToolUseId = nameOf(parent);
  const taskId = nameOf(agentId);
  if (isSidechain === true && parentToolUseId === undefined)
    return { kind: 'subagent', ...(taskId !== undefined && { taskId }) };
  return parentToolUseId === undefined ? { kind: 'foreground' } : { kind: 'subagent', parentToolUseId };
}

/** The message that is being written, for each agent: its id, and how many of its blocks were complete. */
function openMessage(memory: FormatMemory, { parentToolUseId = '' }: Scope): { id: string; blocks: number } {
  const open = objectOf(memory.recall('messages', parentToolUseId));
  return { id: textOf(open['id']) ?? '', blocks: amountOf(open['blocks']) ?? 0 };
}

interface Block {
  readonly block: JsonObject;
  readonly itemId: string;
  readonly scope: Scope;
  readonly memory: FormatMemory;
}

function call({ block, itemId, scope, memory }: Block): Draft {
  const id = nameOf(block['id']) ?? itemId;
  const name = nameOf(block['name']) ?? 'tool';
  memory.remember('tools', id, name);
  return toolCall(id, name, block['input'], { scope });
}

function result({ block, scope, memory }: Block): Draft {
  const id = nameOf(block['tool_use_id']);
  const output = contentText(block['content']);
  const isError = block['is_error'] === true;
  const exitCode = isError ? exitCodeIn(output) : undefined;
  const toolName = id === undefined ? undefined : nameOf(memory.recall('tools', id));
  if (id !== undefined) memory.forget('tools', id);
  return toolEnd({ itemId: id, toolName, output, exitCode, error: isError && firstLine(output) }, { scope });
}

/** A command that failed says so in the first line of its output. */
function exitCodeIn(output: string): number | undefined {
  const [, code] = /^Exit code (\d{1,3})$/m.exec(output.slice(0, 20)) ?? [];
  return code === undefined ? undefined : Number(code);
}

const MAX_ERROR = 500;
const firstLine = (text: string) => (text.trim().split('\n', 1)[0] ?? '').slice(0, MAX_ERROR);

function assistantText({ block, itemId, scope, memory }: Block): Draft {
  const text = textOf(block['text']) ?? '';
  if (scope.kind === 'foreground') memory.remember('said', digestOf(text), true);
  return textDraft(text, { itemId, scope });
}

/** By this the final result, which repeats a message, is compared with the messages. */
const digestOf = (text: string) => createHash('sha256').update(text.slice(0, MAX_COMPARED)).digest('base64url');
const MAX_COMPARED = 2000;

const thinking = ({ block, itemId, scope }: Block): Draft =>
  textDraft(textOf(block['thinking']) ?? '', { itemId, scope, responsePhase: 'commentary' });

const BLOCKS: Readonly<Record<string, (block: Block) => Draft>> = {
  text: assistantText,
  thinking,
  redacted_thinking: ({ scope, itemId }) =>
    textDraft('[redacted thinking]', { itemId, scope, responsePhase: 'commentary' }),
  tool_use: call,
  server_tool_use: call,
  mcp_tool_use: call,
  tool_result: result,
  mcp_tool_result: result,
  web_search_tool_result: result,
  web_fetch_tool_result: result,
  code_execution_tool_result: result,
  bash_code_execution_tool_result: result,
  text_editor_code_execution_tool_result: result,
  advisor_tool_result: result,
};

const assistant: Convert = (line, memory) => {
  const scope = scopeOf(line);
  const { id: given, content } = objectOf(line['message']);
  const id = nameOf(given) ?? nameOf(line['uuid']) ?? '';
  const open = openMessage(memory, scope);
  // Each line has the next block of the message.
  const first = open.id === id ? open.blocks : 0;
  const blocks = typeof content === 'string' ? [{ type: 'text', text: content }] : listOf(content);
  const drafts = blocks.flatMap((each, index) => {
    const block = objectOf(each);
    const type = textOf(block['type']) ?? '';
    const convert = entryOf(BLOCKS, type);
    return convert ? [convert({ block, itemId: `${id}:${first + index}`, scope, memory })] : [];
  });
  const error = errorText(line['error']);
  if (error !== undefined) drafts.push({ name: 'error', scope, accumulatedText: error });
  memory.remember('messages', scope.parentToolUseId ?? '', { id, blocks: first + blocks.length });
  const { usage, model } = objectOf(line['message']);
  if (scope.kind === 'foreground' && modelOf(model) !== undefined) memory.set('model', modelOf(model));
  return withUsage(drafts, usage, { id, scope, memory, model: modelOf(model) });
};

function tokensOf(usage: JsonObject): TokenUsage {
  const written = amountOf(usage['cache_creation_input_tokens']);
  const input = amountOf(usage['input_tokens']);
  return {
    inputTokens: input === undefined ? written : input + (written ?? 0),
    outputTokens: amountOf(usage['output_tokens']),
    cachedInputTokens: amountOf(usage['cache_read_input_tokens']),
    cacheWriteTokens: written,
  };
}

interface Reported {
  readonly id: string;
  readonly scope: Scope;
  readonly memory: FormatMemory;
  readonly model?: string | undefined;
}

/** Adds what a message reports. The totals that follow add the rest; without them, as when the agent was ended, this is the sum. */
function withUsage(drafts: readonly Draft[], usage: unknown, { id, scope, memory, model }: Reported): readonly Draft[] {
  if (id === '' || id.length > MAX_RUN) return drafts;
  const added = addedByMessage(memory, id, tokensOf(objectOf(usage)));
  if (!Object.values(added).some(Boolean)) return drafts;
  countTokens(memory, added);
  if (scope.kind === 'foreground') countTokens(memory, added, 'counted of main');
  countTokens(memory, added, 'counted of state');
  if (memory.elsewhere.has(id)) {
    countTokens(memory, added, `elsewhere ${model ?? ''}`);
    return drafts;
  }
  memory.counted.add(id);
  const [first = { source: 'assistant', scope }, ...others] = drafts;
  return [{ ...first, usage: { ...added, model } }, ...others];
}

const user: Convert = (line, memory) => {
  const scope = scopeOf(line);
  const { content } = objectOf(line['message']);
  const itemId = nameOf(line['uuid']);
  const said = (text: string, index: number): Draft =>
    textDraft(text, { source: 'user', scope, ...(itemId !== undefined && { itemId: `${itemId}:${index}` }) });
  if (typeof content === 'string') return [said(content, 0)];
  return listOf(content).flatMap((each, index) => {
    const block = objectOf(each);
    const text = block['type'] === 'text' ? textOf(block['text']) : mediaText(block);
    if (text !== undefined) return [said(text, index)];
    return textOf(block['type'])?.endsWith('tool_result') ? [result({ block, itemId: '', scope, memory })] : [];
  });
};

/** Parts of a message, with `--include-partial-messages`. The complete blocks follow in lines of their own. */
const streamEvent: Convert = (line, memory) => {
  const scope = scopeOf(line);
  const event = objectOf(line['event']);
  const name = nameOf(event['type']) ?? 'stream_event';
  const frame: Draft = { name, source: 'assistant', scope, delivery: 'realtime' };
  if (name === 'message_start') {
    const { id: given, model } = objectOf(event['message']);
    const id = textOf(given) ?? '';
    if (scope.kind === 'foreground' && modelOf(model) !== undefined) memory.set('model', modelOf(model));
    memory.remember('messages', scope.parentToolUseId ?? '', { id, blocks: 0 });
    return [frame];
  }
  const { id } = openMessage(memory, scope);
  const index = integerOf(event['index']);
  const place = `${id}:${index ?? 0}`;
  const draft = { ...frame, ...(index !== undefined && { index }) };
  if (name === 'content_block_start') return [blockStart(objectOf(event['content_block']), place, draft, memory)];
  const model = scope.kind === 'foreground' ? modelOf(memory.get('model')) : undefined;
  if (name === 'message_delta') return withUsage([draft], event['usage'], { id, scope, memory, model });
  return [name === 'content_block_delta' ? blockDelta(objectOf(event['delta']), place, draft, memory) : draft];
};

function blockStart(block: JsonObject, place: string, draft: Draft, memory: FormatMemory): Draft {
  const id = nameOf(block['id']);
  const toolName = nameOf(block['name']);
  if (id === undefined || toolName === undefined) return draft;
  memory.remember('tools', id, toolName);
  memory.remember('calls', place, id);
  return { ...draft, itemId: id, toolName, toolResult: { status: 'running' } };
}

/** The field of a delta with its text, and what it adds to. */
const DELTAS: Readonly<Record<string, readonly [field: string, draft: Draft]>> = {
  text_delta: ['text', { deltaType: 'text_delta' }],
  thinking_delta: ['thinking', { deltaType: 'text_delta', responsePhase: 'commentary' }],
  input_json_delta: ['partial_json', { deltaType: 'input_json_delta' }],
};

function blockDelta(delta: JsonObject, place: string, draft: Draft, memory: FormatMemory): Draft {
  const type = textOf(delta['type']) ?? '';
  const [field, fields] = entryOf(DELTAS, type) ?? [];
  const part = field === undefined ? undefined : textOf(delta[field]);
  if (part === undefined) return draft;
  const itemId = nameOf(memory.recall('calls', place)) ?? place;
  const toolName = fields?.deltaType === 'input_json_delta' ? nameOf(memory.recall('tools', itemId)) : undefined;
  return partDraft(part, { ...draft, ...fields, itemId, ...(toolName !== undefined && { toolName }) });
}

/** Messages of the agent's program: of a task, a summary of the conversation, a hook. */
const system: Convert = (line, memory) => {
  if (line['subtype'] === 'init') {
    memory.set('isBegun', true);
    memory.set('isOfQwen', line['qwen_code_version'] === undefined ? undefined : true);
  }
  const taskId = nameOf(line['task_id']);
  const parentToolUseId = nameOf(line['tool_use_id']);
  const text = [line['summary'], line['description'], line['message'], line['content'], line['error']].find(
    (each) => nameOf(each) !== undefined,
  );
  return [
    {
      name: nameOf(line['subtype']) ?? 'system',
      ...(taskId !== undefined && {
        scope: { kind: 'background', taskId, ...(parentToolUseId !== undefined && { parentToolUseId }) },
      }),
      ...(typeof text === 'string' && { accumulatedText: text }),
    },
  ];
};

/** The end of a turn. */
const turnResult: Convert = (line, memory) => {
  const text = textOf(line['result']) ?? errorsOf(line);
  const isRepeated = text !== undefined && memory.recall('said', digestOf(text)) !== undefined;
  const isError = line['is_error'] === true;
  return [
    {
      source: isError ? 'system' : 'assistant',
      name: isError ? 'error' : 'result',
      ...(text !== undefined && !isRepeated && { accumulatedText: text }),
      ...(text !== undefined &&
        !isRepeated &&
        !isError && { deltaType: 'text_delta' as const, responsePhase: 'final_answer' as const }),
      ...(typeof line['uuid'] === 'string' && { itemId: line['uuid'] }),
      usage: {
        ...turnUsage(line, memory),
        turns: amountOf(line['num_turns']),
        durationMs: amountOf(line['duration_ms']),
        model: modelOf(memory.get('model')),
      },
    },
  ];
};

/** So much of the id of a run is compared. */
const MAX_RUN = 200;

/**
 * What a turn adds. `total_cost_usd` and `modelUsage`, which has the subagents, are the totals of the run so far; `usage` is that of the main
 * agent in the turn, and all that counts in the first turn of a resumed run, whose totals have its past. Of Qwen Code `usage` is a total, too.
 */
function turnUsage(line: JsonObject, memory: FormatMemory): UsageDraft {
  const run = (textOf(line['session_id']) ?? '').slice(0, MAX_RUN);
  const models = Object.values(objectOf(line['modelUsage'])).map(objectOf);
  const totals = { ...modelTotals(models), costUsd: amountOf(line['total_cost_usd']) };
  const isKnown = objectOf(memory.get('totals'))['run'] === run;
  const countsFromZero = isNewProcess(line, memory);
  const known = objectOf(isKnown && !countsFromZero ? memory.get('totals') : undefined);
  const costs = costsOf(objectOf(line['modelUsage']));
  const isBaseline = memory.get('resumed') === true && !isKnown;
  const usage = tokensOf(objectOf(line['usage']));
  const isTotal = memory.get('isOfQwen') === true;
  const before = isBaseline ? usage : objectOf(isKnown ? objectOf(memory.get('totals'))['usage'] : undefined);
  const turn = isTotal ? increaseOf(before, usage) : usage;
  memory.set('totals', { run, ...totals, costs, apiMs: amountOf(line['duration_api_ms']), ...(isTotal && { usage }) });
  const { costUsd, ...added } = increaseOf(known, totals);
  const isWhole = models.length > 0 && !isBaseline;
  const ofMain = remainingTokens(memory, turn, 'counted of main');
  const rest = remainingTokens(memory, added);
  return {
    ...(isWhole ? rest : ofMain),
    costUsd: isBaseline ? undefined : costUsd,
    ...(!isBaseline && Object.keys(costs).length > 0 && { costByModel: addedCosts(objectOf(known['costs']), costs) }),
  };
}

export function costsOf(models: JsonObject): Readonly<Record<string, number>> {
  const costs = new Map<string, number>();
  for (const [name, usage] of Object.entries(models)) {
    const [model, cost] = [modelOf(name), amountOf(objectOf(usage)['costUSD'])];
    if (model !== undefined && cost && name.length <= MAX_MODEL_NAME && (costs.size < MAX_MODELS || costs.has(model)))
      costs.set(model, (costs.get(model) ?? 0) + cost);
  }
  return Object.fromEntries(costs);
}
const MAX_MODELS = 20;

/** What cumulative costs add to those that were reported before. */
export const addedCosts = (
  before: JsonObject,
  costs: Readonly<Record<string, number>>,
): Readonly<Record<string, number>> =>
  Object.fromEntries(
    Object.entries(costs).map(([model, now]) => {
      const last = amountOf(before[model]) ?? 0;
      return [model, now >= last ? now - last : now];
    }),
  );

export function modelTotals(models: readonly JsonObject[]): TokenUsage {
  const sum = (...names: readonly string[]) =>
    models.reduce((total, model) => names.reduce((all, name) => all + (amountOf(model[name]) ?? 0), total), 0);
  return {
    inputTokens: sum('inputTokens', 'cacheCreationInputTokens'),
    outputTokens: sum('outputTokens'),
    cachedInputTokens: sum('cacheReadInputTokens'),
    cacheWriteTokens: sum('cacheCreationInputTokens'),
  };
}

/** Whether another process goes on with the run. Those of versions that do not number their results count from zero. */
function isNewProcess(line: JsonObject, memory: FormatMemory): boolean {
  const isBegun = memory.get('isBegun') === true;
  memory.set('isBegun', undefined);
  const [before, now] = [amountOf(objectOf(memory.get('totals'))['apiMs']), amountOf(line['duration_api_ms'])];
  const goesOn = before !== undefined && now !== undefined && now >= before;
  return isBegun && line['result_index'] === undefined && !goesOn;
}

function errorsOf(line: JsonObject): string | undefined {
  const errors = listOf(line['errors']).filter((each) => typeof each === 'string');
  return errors.join('\n') || undefined;
}

export const claude: Format = {
  provider: 'anthropic',
  types: { assistant, user, stream_event: streamEvent, system, result: turnResult },
};
