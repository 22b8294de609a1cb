import {
  CALL_FAILED,
  type Convert,
  type Draft,
  type Format,
  type JsonObject,
  type TokenUsage,
  amountOf,
  modelOf,
  errorText,
  partDraft,
  textDraft,
  nameOf,
  objectOf,
  textOf,
  toolCall,
  toolEnd,
} from './format.ts';
import type { FormatMemory } from './format-memory.ts';

/** Gemini CLI with `--output-format stream-json`. The shapes are those of `packages/core/src/output/types.ts` in google-gemini/gemini-cli. */

const messageId = (number: number) => `message-${number}`;

/** Parts of a message have no id: parts of one role that follow each other are one message. */
const said: Convert = (line, memory) => {
  const source = line['role'] === 'user' ? 'user' : 'assistant';
  const content = textOf(line['content']) ?? '';
  const isDelta = line['delta'] === true;
  const continues = isDelta && memory.get('open') === source;
  const before = continues ? [] : closed(memory);
  const number = (amountOf(memory.get('messages')) ?? 0) + (continues ? 0 : 1);
  memory.set('messages', number);
  if (!isDelta) return [...before, textDraft(content, { source, itemId: messageId(number) })];
  memory.set('open', source);
  return [...before, partDraft(content, { source, itemId: messageId(number) })];
};

/** Anything but its next part ends a message. It is repeated as a whole, because no line of the agent has the whole text. */
function closed(memory: FormatMemory): Draft[] {
  const source = memory.get('open') === 'user' ? 'user' : 'assistant';
  const itemId = messageId(amountOf(memory.get('messages')) ?? 0);
  const text = memory.endText(itemId);
  memory.set('open', undefined);
  return text === undefined ? [] : [textDraft(text, { name: 'message', source, itemId, isRepeated: true })];
}

const toolUse: Convert = (line, memory) => {
  const id = nameOf(line['tool_id']) ?? '';
  const name = nameOf(line['tool_name']) ?? 'tool';
  memory.remember('tools', id, name);
  return [...closed(memory), toolCall(id, name, line['parameters'] ?? {})];
};

const toolResult: Convert = (line, memory) => {
  const itemId = nameOf(line['tool_id']) ?? '';
  const toolName = nameOf(memory.recall('tools', itemId));
  memory.forget('tools', itemId);
  const error = errorText(line['error']);
  const hasFailed = line['status'] === 'error' || error !== undefined;
  return [
    ...closed(memory),
    toolEnd({ itemId, toolName, output: textOf(line['output']) ?? '', error: hasFailed && (error ?? CALL_FAILED) }),
  ];
};

const result: Convert = (line, memory) => {
  const stats = objectOf(line['stats']);
  const error = errorText(line['error']);
  const [first, ...others] = tokensByModel(stats, modelOf(memory.get('model')));
  return [
    ...closed(memory),
    {
      ...(error !== undefined && { name: 'error', accumulatedText: error }),
      usage: { ...first, turns: 1, durationMs: amountOf(stats['duration_ms']) },
    },
    ...others.map((usage) => ({ usage })),
  ];
};

const MAX_MODELS = 20;

/** The tokens of each model, or of all, where the models are not named. */
function tokensByModel(stats: JsonObject, model: string | undefined) {
  const models = Object.entries(objectOf(stats['models'])).slice(0, MAX_MODELS);
  if (models.length === 0) return [{ ...tokensOf(stats), model }];
  return models.map(([name, each]) => ({ ...tokensOf(objectOf(each)), model: modelOf(name) }));
}

/** What is in the total and neither sent nor said are thoughts. */
function tokensOf(stats: JsonObject): TokenUsage {
  const [input, output, total] = ['input_tokens', 'output_tokens', 'total_tokens'].map((name) => amountOf(stats[name]));
  return {
    inputTokens: input,
    outputTokens: output === undefined ? undefined : Math.max(output, (total ?? 0) - (input ?? 0)),
    cachedInputTokens: amountOf(stats['cached']),
  };
}

const failed: Convert = (line, memory) => [
  ...closed(memory),
  {
    name: line['severity'] === 'warning' ? 'warning' : 'error',
    accumulatedText: errorText(line['message']) ?? errorText(line['error']) ?? '',
  },
];

export const gemini: Format = {
  provider: 'google',
  repeatsEnd: true,
  types: {
    init: ({ model }, memory) => {
      memory.set('model', modelOf(model));
      return [...closed(memory), {}];
    },
    message: said,
    tool_use: toolUse,
    tool_result: toolResult,
    error: failed,
    result,
  },
};
