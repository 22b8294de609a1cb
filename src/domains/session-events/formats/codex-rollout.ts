import {
  CALL_FAILED,
  type Convert,
  type Draft,
  type Format,
  type JsonObject,
  amountOf,
  contentText,
  entryOf,
  errorText,
  listOf,
  modelOf,
  nameOf,
  noteOf,
  objectOf,
  textDraft,
  textOf,
  toolCall,
  toolEnd,
} from './format.ts';
import type { FormatMemory } from './format-memory.ts';
import { increaseOf } from './token-count.ts';

/**
 * The files that Codex keeps of its sessions: `sessions/<year>/<month>/<day>/rollout-*.jsonl`. The shapes are those of
 * `codex-rs/protocol/src/protocol.rs` and `models.rs` in openai/codex; the numbers in comments are those of `transcripts.md`.
 */

/** Texts that the program puts into the place of the person (12). */
const INJECTED =
  /^\s*(?:<(?:environment_context|user_instructions|INSTRUCTIONS|permissions instructions|skills_instructions|skill|turn_aborted|user_shell_command|subagent_notification|collaboration_mode|apps_instructions|personality_spec|model_switch)>|# AGENTS\.md instructions)/;

function isInjected(item: JsonObject, text: string, index: number): boolean {
  if (item['role'] !== 'user') return item['role'] !== 'assistant';
  // Newer versions name the kind of each part.
  const kind = textOf(
    listOf(objectOf(item['internal_chat_message_metadata_passthrough'])['content_item_kinds'])[index],
  );
  if (kind !== undefined && kind !== 'unknown') return !kind.startsWith('user.');
  return INJECTED.test(text);
}

/** Ids of messages are missing in older versions. */
function itemIdOf(item: JsonObject, memory: FormatMemory): string {
  const number = (amountOf(memory.get('items')) ?? 0) + 1;
  memory.set('items', number);
  return nameOf(item['id']) ?? `item-${number}`;
}

type Item = (item: JsonObject, memory: FormatMemory) => readonly Draft[];

const message: Item = (item, memory) => {
  const id = itemIdOf(item, memory);
  const isOfAgent = item['role'] === 'assistant';
  return listOf(item['content']).map((part, index) => {
    const text = contentText([part]);
    const itemId = index === 0 ? id : `${id}:${index}`;
    if (isInjected(item, text, index)) return noteOf({ itemId, accumulatedText: text });
    const isComment = item['phase'] === 'commentary';
    return textDraft(text, {
      itemId,
      source: isOfAgent ? 'assistant' : 'user',
      ...(isOfAgent && isComment && { responsePhase: 'commentary' as const }),
    });
  });
};

const reasoning: Item = (item, memory) => {
  const itemId = itemIdOf(item, memory);
  const texts = [...listOf(item['summary']), ...listOf(item['content'])].map((part) => contentText([part]));
  return texts.length === 0 ? [{}] : [textDraft(texts.join('\n\n'), { itemId, responsePhase: 'commentary' })];
};

const call =
  (input: (item: JsonObject) => unknown, named?: string): Item =>
  (item, memory) => {
    const id = nameOf(item['call_id']) ?? itemIdOf(item, memory);
    const namespace = nameOf(item['namespace']);
    const name = nameOf(item['name']) ?? named ?? 'tool';
    const toolName = namespace === undefined ? name : `${namespace}${namespace.endsWith('__') ? '' : '__'}${name}`;
    memory.remember('tools', id, toolName);
    return [toolCall(id, toolName, input(item))];
  };

/** Before the output of a command stand lines about it (13). */
const EXIT_CODE = /^(?:Process exited with code|Exit code:) (-?\d{1,10})$/m;
const HEAD = 400;

const output: Item = (item, memory) => {
  const itemId = nameOf(item['call_id']) ?? '';
  const toolName = nameOf(memory.recall('tools', itemId));
  const given = jsonOutput(item['output']);
  const { content, success, metadata, output: text } = objectOf(given);
  const shown = contentText(Array.isArray(given) ? given : (text ?? content ?? given));
  const found = amountOf(objectOf(metadata)['exit_code']) ?? EXIT_CODE.exec(shown.slice(0, HEAD))?.[1];
  const exitCode = found === undefined ? undefined : Number(found);
  const hasFailed = success === false || (exitCode !== undefined && exitCode !== 0);
  rememberAgent(objectOf(jsonOutput(shown)), itemId, memory);
  const error = exitCode === undefined ? CALL_FAILED : `the command ended with code ${exitCode}`;
  return [toolEnd({ itemId, toolName, output: shown, exitCode, error: hasFailed && error })];
};

/** The call that has started a subagent is known by the thread of the subagent, or by its name (16). */
function rememberAgent(found: JsonObject, itemId: string, memory: FormatMemory): void {
  for (const name of ['agent_id', 'task_name', 'new_thread_id', 'agent_thread_id', 'agent_path']) {
    const agent = nameOf(found[name]);
    if (agent !== undefined && itemId !== '') memory.remember('calls', `agent ${agent}`, itemId);
  }
}

/** The first line of the file of a subagent has its name. */
const sessionMeta: Convert = ({ payload }, memory) => {
  const { subagent } = objectOf(objectOf(payload)['source']);
  const path = textOf(objectOf(objectOf(subagent)['thread_spawn'])['agent_path']);
  const thread = nameOf(memory.get('subagent'));
  const itemId = path === undefined ? undefined : nameOf(memory.recall('calls', `agent ${path}`));
  if (thread !== undefined && itemId !== undefined) memory.remember('calls', `agent ${thread}`, itemId);
  return [{}];
};

/** Custom tools write JSON with an output and an exit code. */
function jsonOutput(value: unknown): unknown {
  if (typeof value !== 'string' || !/^\{"(?:output|agent_id|task_name)":/.test(value)) return value;
  try {
    return JSON.parse(value);
  } catch {
    return value;
  }
}

const ITEMS: Readonly<Record<string, Item>> = {
  message,
  reasoning,
  function_call: call(({ arguments: input }) => input),
  custom_tool_call: call(({ input }) => input),
  local_shell_call: call(({ action }) => action, 'shell'),
  // It has its result in the same line.
  web_search_call: (item, memory) => {
    const [begun = {}] = call(({ action }) => action, 'web_search')(item, memory);
    return [begun, toolEnd({ itemId: begun.itemId, toolName: 'web_search', output: '' })];
  },
  tool_search_call: call(({ arguments: input, query }) => input ?? query, 'tool_search'),
  function_call_output: output,
  custom_tool_call_output: output,
  tool_search_output: output,
  compaction: () => [{ name: 'compacted' }],
};

const convertItem = (item: JsonObject, memory: FormatMemory): readonly Draft[] => {
  const type = textOf(item['type']) ?? '';
  return entryOf(ITEMS, type)?.(item, memory) ?? [{}];
};

const tokensOf = (usage: JsonObject) => ({
  inputTokens: amountOf(usage['input_tokens']),
  outputTokens: amountOf(usage['output_tokens']),
  cachedInputTokens: amountOf(usage['cached_input_tokens']),
  cacheWriteTokens: amountOf(usage['cache_write_input_tokens']),
});

/**
 * What the last call has used. The total of the thread so far, which is written anew at compactions and has the past of a fork, only says whether
 * the line repeats the one before (14). Lines of events repeat what the items have, so that they add only these and errors.
 */
const tokenCount: Item = ({ info }, memory) => {
  const { total_token_usage: total, last_token_usage: last } = objectOf(info);
  const totals = tokensOf(objectOf(total));
  if (totals.inputTokens === undefined) return [{}];
  // Each thread has its totals.
  const subagent = nameOf(memory.get('subagent'));
  const thread = `totals ${subagent}`;
  const before = subagent === undefined ? memory.get('totals') : memory.recall('usage', thread);
  const grown = increaseOf(objectOf(before), totals);
  if (subagent === undefined) memory.set('totals', totals);
  else memory.remember('usage', thread, totals);
  const isRepeated = Object.values(grown).every((amount) => !amount);
  const ofLast = tokensOf(objectOf(last));
  const added = isRepeated || ofLast.inputTokens === undefined ? grown : ofLast;
  return [{ usage: { ...added, model: modelOf(memory.recall('usage', modelKey(memory))) } }];
};

/** The model of a thread is that of its turn. */
const modelKey = (memory: FormatMemory) => `model ${nameOf(memory.get('subagent')) ?? ''}`;

const turnContext: Convert = ({ payload }, memory) => {
  const model = modelOf(objectOf(payload)['model']);
  if (model !== undefined) memory.remember('usage', modelKey(memory), model);
  return [{}];
};

const spawned: Item = (payload, memory) => {
  rememberAgent(payload, nameOf(payload['call_id']) ?? nameOf(payload['event_id']) ?? '', memory);
  return [{}];
};

const failed: Item = (payload) => [{ name: 'error', accumulatedText: errorText(payload['message']) ?? '' }];

const EVENTS: Readonly<Record<string, Item>> = {
  token_count: tokenCount,
  task_complete: ({ duration_ms: durationMs }) => [{ usage: { turns: 1, durationMs: amountOf(durationMs) } }],
  error: failed,
  stream_error: failed,
  warning: ({ message: text }) => [{ name: 'warning', accumulatedText: textOf(text) ?? '' }],
  turn_aborted: ({ reason }) => [{ name: 'turn_aborted', accumulatedText: textOf(reason) ?? '', usage: { turns: 1 } }],
  entered_review_mode: () => [{}],
  collab_agent_spawn_end: spawned,
  sub_agent_activity: spawned,
};

const event: Convert = ({ payload }, memory) => {
  const found = objectOf(payload);
  const type = textOf(found['type']) ?? '';
  const name = type === '' ? 'event_msg' : type;
  const drafts = entryOf(EVENTS, type)?.(found, memory) ?? [{}];
  return drafts.map((draft) => ({ name, ...draft }));
};

export const codexRollout: Format = {
  provider: 'openai',
  types: {
    response_item: ({ payload }, memory) => convertItem(objectOf(payload), memory),
    event_msg: event,
    session_meta: sessionMeta,
    turn_context: turnContext,
    compacted: ({ payload }) => [{ name: 'compacted', accumulatedText: textOf(objectOf(payload)['message']) ?? '' }],
  },
  // The first versions wrote the items without an envelope (11). All else is the state of the program.
  others: convertItem,
};
