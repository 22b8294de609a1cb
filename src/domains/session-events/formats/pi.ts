import {
  type Convert,
  type Draft,
  type Format,
  type JsonObject,
  type TokenUsage,
  amountOf,
  modelOf,
  contentText,
  errorText,
  integerOf,
  listOf,
  nameOf,
  objectOf,
  partDraft,
  textDraft,
  textOf,
  toolCall,
} from './format.ts';
import type { FormatMemory } from './format-memory.ts';

/** pi with `--mode json`. The shapes are those of `packages/agent/src/types.ts` and `packages/ai/src/types.ts` in badlogic/pi-mono. */

const blockId = (memory: FormatMemory, index: number) => `message-${amountOf(memory.get('messages')) ?? 0}:${index}`;

const messageStart: Convert = (line, memory) => {
  memory.set('messages', (amountOf(memory.get('messages')) ?? 0) + 1);
  memory.set('ended', []);
  return [{ source: speakerOf(objectOf(line['message'])) }];
};

const speakerOf = ({ role }: JsonObject): NonNullable<Draft['source']> =>
  role === 'user' ? 'user' : role === 'toolResult' ? 'tool' : 'assistant';

/** A part of a message, or the end of one of its blocks. */
const messageUpdate: Convert = (line, memory) => {
  const event = objectOf(line['assistantMessageEvent']);
  const name = nameOf(event['type']) ?? 'message_update';
  const index = integerOf(event['contentIndex']) ?? 0;
  const part = textOf(event['delta']) ?? '';
  if (name === 'text_delta' || name === 'thinking_delta')
    return [partDraft(part, { name, itemId: blockId(memory, index), ...phaseOf(name) })];
  const block = objectOf(event['toolCall'] ?? { type: name.replace(/_end$/, ''), text: event['content'] });
  const ended = name.endsWith('_end') ? blockDraft(block, index, memory) : undefined;
  if (!ended) return [{ name, source: 'assistant', delivery: 'realtime' }];
  memory.set('ended', [...listOf(memory.get('ended')), index]);
  return [{ ...ended, name }];
};

const phaseOf = (name: string) => (name.startsWith('thinking') ? { responsePhase: 'commentary' as const } : {});

function blockDraft(block: JsonObject, index: number, memory: FormatMemory): Draft | undefined {
  const type = textOf(block['type']) ?? '';
  const itemId = blockId(memory, index);
  if (type === 'toolCall') return call(block['id'], block['name'], block['arguments'], memory);
  if (type !== 'text' && type !== 'thinking') return undefined;
  const text = textOf(block['thinking']) ?? textOf(block['text']) ?? '';
  return textDraft(text, { itemId, ...phaseOf(type) });
}

/** A call is reported in the message, and again when it starts. */
function call(givenId: unknown, name: unknown, input: unknown, memory: FormatMemory): Draft | undefined {
  const id = nameOf(givenId) ?? '';
  if (memory.recall('tools', id) !== undefined) return undefined;
  memory.remember('tools', id, nameOf(name) ?? 'tool');
  return toolCall(id, nameOf(name) ?? 'tool', input ?? {});
}

/** The whole message. Blocks that were written in parts have ended before. */
const messageEnd: Convert = (line, memory) => {
  const message = objectOf(line['message']);
  const source = speakerOf(message);
  if (source === 'tool') return [{ source }];
  if (source === 'user') return [textDraft(contentText(message['content']), { source, itemId: blockId(memory, 0) })];
  const ended = new Set(listOf(memory.get('ended')));
  const drafts = listOf(message['content']).flatMap((block, index) => {
    const draft = ended.has(index) ? undefined : blockDraft(objectOf(block), index, memory);
    return draft ? [draft] : [];
  });
  const error = errorText(message['errorMessage']);
  if (error !== undefined) drafts.push({ name: 'error', accumulatedText: error });
  const [first = { source }, ...others] = drafts;
  return [
    { ...first, usage: { ...tokensOf(message['usage']), turns: 1, model: modelOf(message['model']) } },
    ...others,
  ];
};

function tokensOf(value: unknown): TokenUsage & { readonly costUsd: number | undefined } {
  const { input, output, cacheRead, cacheWrite, cost } = objectOf(value);
  const written = amountOf(cacheWrite);
  return {
    inputTokens: amountOf(Number(input) + (written ?? 0)),
    outputTokens: amountOf(output),
    cachedInputTokens: amountOf(cacheRead),
    cacheWriteTokens: written,
    costUsd: amountOf(objectOf(cost)['total']),
  };
}

/** A message in the file of a session. */
const message: Convert = (line, memory) => {
  const { role, toolCallId, toolName, content, isError } = objectOf(line['message']);
  memory.set('messages', (amountOf(memory.get('messages')) ?? 0) + 1);
  memory.set('ended', []);
  return role === 'toolResult'
    ? toolEnd(false)({ toolCallId, toolName, isError, result: { content } }, memory)
    : messageEnd(line, memory);
};

const toolStart: Convert = ({ toolCallId: id, toolName: name, args }, memory) => {
  const draft = call(id, name, args, memory);
  return [draft ?? { source: 'assistant' }];
};

const toolEnd =
  (isRunning: boolean): Convert =>
  (line) => {
    const output = contentText(objectOf(line[isRunning ? 'partialResult' : 'result'])['content']);
    const hasFailed = line['isError'] === true;
    return [
      {
        source: 'tool',
        itemId: nameOf(line['toolCallId']) ?? '',
        toolName: nameOf(line['toolName']) ?? 'tool',
        ...(isRunning && { delivery: 'realtime' as const }),
        toolResult: {
          status: isRunning ? 'running' : hasFailed ? 'error' : 'completed',
          output,
          ...(hasFailed && { error: output.trim().split('\n', 1)[0]?.slice(0, 500) || 'the call failed' }),
        },
      },
    ];
  };

const frame: Convert = () => [{}];

export const pi: Format = {
  provider: 'pi',
  types: {
    session: frame,
    agent_start: frame,
    agent_end: frame,
    turn_start: frame,
    turn_end: frame,
    message,
    message_start: messageStart,
    message_update: messageUpdate,
    message_end: messageEnd,
    tool_execution_start: toolStart,
    tool_execution_update: toolEnd(true),
    tool_execution_end: toolEnd(false),
  },
};
