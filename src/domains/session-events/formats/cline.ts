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
  nameOf,
  objectOf,
  partDraft,
  textDraft,
  textOf,
  toolCall,
} from './format.ts';
import type { FormatMemory } from './format-memory.ts';
import { countTokens, remainingTokens } from './token-count.ts';

/** Cline CLI with `--json`. The shapes are those that version 3.0.65 wrote. */

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
  const results = Array.isArray(output) ? listOf(output).map(objectOf) : [];
  const { content, isError } = objectOf(output);
  const error = errorText(event['error']) ?? errorText(results.find((each) => each['success'] === false)?.['error']);
  const hasFailed = error !== undefined || isError === true || results.some((each) => each['success'] === false);
  return [
    {
      ...toolDraft(event),
      toolResult: {
        status: hasFailed ? 'error' : 'completed',
        output: contentText(
          results.length > 0 ? results.map((each) => contentText(each['result'])).join('\n') : (content ?? output),
        ),
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

export const cline: Format = {
  provider: 'cline',
  types: { agent_event: agentEvent, run_result: runResult, hook_event: () => [{}] },
};
