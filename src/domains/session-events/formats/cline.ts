import {
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
  partDraft,
  textDraft,
  textOf,
  toolCall,
} from './format.ts';
import type { FormatMemory } from './format-memory.ts';
import { addedByMessage, countTokens, remainingTokens } from './token-count.ts';

/** Cline CLI with `--json`, and the files of its sessions. The shapes are those that version 3.0.65 wrote. */

type Read = (event: JsonObject, memory: FormatMemory) => readonly Draft[];

/** The text that is being written: texts have no id. */
function textItem(memory: FormatMemory, kind: string): { readonly itemId: string } {
  const open = textOf(memory.get('open'));
  if (open?.startsWith(`${kind}-`)) return { itemId: open };
  const number = (amountOf(memory.get('messages')) ?? 0) + 1;
  memory.set('messages', number);
  memory.set('open', `${kind}-${number}`);
  return { itemId: `${kind}-${number}` };
}

const isTool = ({ contentType }: JsonObject) => contentType === 'tool';
const phaseOf = (kind: string) => (kind === 'text' ? {} : { responsePhase: 'commentary' as const });
const kindOf = ({ contentType }: JsonObject) => textOf(contentType)?.slice(0, 50) ?? 'text';
const written = (event: JsonObject) => textOf(event['text']) ?? textOf(event['reasoning']) ?? '';

const contentStart: Read = (event, memory) => {
  if (isTool(event)) {
    const id = nameOf(event['toolCallId']) ?? '';
    const name = nameOf(event['toolName']) ?? 'tool';
    memory.remember('tools', id, name);
    return [toolCall(id, name, event['input'] ?? {})];
  }
  const kind = kindOf(event);
  return [partDraft(written(event), { ...textItem(memory, kind), ...phaseOf(kind) })];
};

const contentUpdate: Read = (event, memory) => {
  if (!isTool(event)) return contentStart(event, memory);
  const output = textOf(objectOf(event['update'])['chunk']) ?? '';
  return [{ ...toolDraft(event), delivery: 'realtime', toolResult: { status: 'running', output } }];
};

const toolDraft = (event: JsonObject): Draft => ({
  source: 'tool',
  itemId: nameOf(event['toolCallId']) ?? '',
  toolName: nameOf(event['toolName']) ?? 'tool',
});

const contentEnd: Read = (event, memory) => {
  if (!isTool(event)) {
    const kind = kindOf(event);
    const item = textItem(memory, kind);
    memory.set('open', undefined);
    return [textDraft(written(event), { ...item, ...phaseOf(kind) })];
  }
  const { output } = event;
  const results = Array.isArray(output)
    ? listOf(output)
        .map(objectOf)
        .filter((each) => 'result' in each)
    : [];
  const { content, isError = event['isError'] } = objectOf(output);
  const error = errorText(event['error']) ?? errorText(results.find((each) => each['success'] === false)?.['error']);
  const [, code] = /^Command exited with code (-?\d{1,10})$/.exec(error ?? '') ?? [];
  const hasFailed = error !== undefined || isError === true || results.some((each) => each['success'] === false);
  return [
    {
      ...toolDraft(event),
      toolResult: {
        status: hasFailed ? 'error' : 'completed',
        output: contentText(
          results.length > 0 ? results.map((each) => contentText(each['result'])).join('\n') : (content ?? output),
        ),
        ...(code !== undefined && { exitCode: Number(code) }),
        ...(hasFailed && { error: error ?? 'the call failed' }),
      },
    },
  ];
};

const tokensOf = ({ inputTokens, outputTokens, cacheReadTokens, cacheWriteTokens, cost, totalCost }: JsonObject) => ({
  inputTokens: amountOf(inputTokens),
  outputTokens: amountOf(outputTokens),
  cachedInputTokens: amountOf(cacheReadTokens),
  cacheWriteTokens: amountOf(cacheWriteTokens),
  costUsd: amountOf(cost) ?? amountOf(totalCost),
});

const usage: Read = (event, memory) => {
  const added = tokensOf(event);
  countTokens(memory, added);
  return [{ usage: { ...added, turns: 1 } }];
};

const EVENTS: Readonly<Record<string, Read>> = {
  content_start: contentStart,
  content_update: contentUpdate,
  content_end: contentEnd,
  usage,
  error: ({ error, message }) => [{ name: 'error', accumulatedText: errorText(error ?? message) ?? '' }],
};

const agentEvent: Convert = (line, memory) => {
  const event = objectOf(line['event']);
  const name = nameOf(event['type']) ?? 'agent_event';
  const read = entryOf(EVENTS, name);
  return (read?.(event, memory) ?? [{}]).map((draft) => ({ ...draft, name: draft.name ?? name }));
};

/** The total of the run, with that of its subagents. Most of it was reported before. */
const runResult: Convert = (line, memory) => {
  const total = tokensOf(objectOf(line['aggregateUsage'] ?? line['usage']));
  const error = errorText(line['error']);
  return [
    {
      ...(error !== undefined && { name: 'error', accumulatedText: error }),
      usage: { ...remainingTokens(memory, total), durationMs: amountOf(line['durationMs']) },
    },
  ];
};

/** A block of a message in the file of a session. */
function blockDraft(block: JsonObject, itemId: string, isOfUser: boolean, memory: FormatMemory): readonly Draft[] {
  const type = textOf(block['type']) ?? '';
  const source = isOfUser ? ('user' as const) : ('assistant' as const);
  if (type === 'tool_use')
    return contentStart({ ...block, ...TOOL, toolCallId: block['id'], toolName: block['name'] }, memory);
  if (type !== 'tool_result') {
    const text = (textOf(block['thinking']) ?? contentText([block])).replace(INPUT, '$1');
    const draft = textDraft(text, { source, itemId, ...phaseOf(type === 'thinking' ? type : 'text') });
    return [isOfUser && text.startsWith('<') ? noteOf(draft) : draft];
  }
  const id = nameOf(block['tool_use_id']) ?? '';
  if (memory.recall('said', id) !== undefined) return [{ name: 'repeated' }];
  memory.remember('said', id, true);
  const toolName = nameOf(block['name']) ?? nameOf(memory.recall('tools', id));
  return contentEnd(
    { ...TOOL, toolCallId: id, toolName, output: block['content'], isError: block['is_error'] },
    memory,
  );
}
const TOOL = { contentType: 'tool' };
/** What a person has written is within a tag that has the mode. */
const INPUT = /^<user_input[^>]*>([\s\S]*)<\/user_input>\s*$/;

/** The files of sessions have the session, and messages, which are written anew. */
const others: Convert = (line, memory) => {
  const { role, content, metrics, ts: time } = line;
  if (line['started_at'] !== undefined) return [{ name: 'title', accumulatedText: textOf(line['title']) ?? '' }];
  if (line['ts'] === undefined || (role !== 'user' && role !== 'assistant')) return [];
  const id = nameOf(line['id']) ?? String(amountOf(time) ?? '');
  const blocks = typeof content === 'string' ? [{ type: 'text', text: content }] : listOf(content);
  const drafts = blocks.flatMap((block, index) =>
    blockDraft(objectOf(block), `${id}:${index}`, role === 'user', memory),
  );
  const [first = {}, ...more] = drafts.map((draft) => (typeof time === 'number' ? { ...draft, time } : draft));
  if (role !== 'assistant') return [first, ...more];
  const model = modelOf(objectOf(line['modelInfo'])['id']);
  const isFirst = memory.recall('usage', id) === undefined;
  const added = { ...addedByMessage(memory, id, tokensOf(objectOf(metrics))), model, ...(isFirst && { turns: 1 }) };
  return [{ ...first, usage: added }, ...more];
};

export const cline: Format = {
  provider: 'cline',
  types: { agent_event: agentEvent, run_result: runResult, hook_event: () => [{}] },
  others,
};
