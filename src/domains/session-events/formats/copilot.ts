import {
  CALL_FAILED,
  type Convert,
  type Draft,
  type Format,
  type JsonObject,
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

/** Copilot CLI with `--output-format json`. The shapes are those of the session events of github/copilot-sdk. */

type Read = (data: JsonObject, memory: FormatMemory) => readonly Draft[];

/** What an event has is in `data`. Events of a subagent name the call that started it. */
const ofData =
  (read: Read): Convert =>
  (line, memory) => {
    const data = objectOf(line['data']);
    const parentToolUseId = nameOf(data['parentToolCallId']);
    const drafts = read(data, memory);
    if (parentToolUseId === undefined) return drafts;
    return drafts.map((draft) => ({ ...draft, scope: { kind: 'subagent', parentToolUseId } }));
  };

const frame: Read = () => [{}];
/** It would separate the parts of a message from their end: the whole input follows. */
const own: Read = () => [{ source: 'assistant', delivery: 'realtime' }];

const itemOf = (id: unknown) => {
  const itemId = nameOf(id);
  return itemId === undefined ? {} : { itemId };
};

const part =
  (id: string, draft: Draft = {}): Read =>
  (data) => [partDraft(textOf(data['deltaContent']) ?? '', { ...itemOf(data[id]), ...draft })];

const message: Read = (data, memory) => {
  if (modelOf(data['model']) !== undefined) memory.set('model', modelOf(data['model']));
  const text = textOf(data['content']) ?? '';
  const calls = listOf(data['toolRequests']).map((each) => {
    const { toolCallId, name, arguments: input } = objectOf(each);
    return call(toolCallId, name, input, memory);
  });
  const said = text === '' ? [] : [textDraft(text, itemOf(data['messageId']))];
  return [...said, ...calls.flatMap((each) => (each ? [each] : []))];
};

/** A call is reported in the message, and again when it starts. */
function call(givenId: unknown, name: unknown, input: unknown, memory: FormatMemory): Draft | undefined {
  const id = nameOf(givenId) ?? '';
  if (memory.recall('tools', id) !== undefined) return undefined;
  memory.remember('tools', id, nameOf(name) ?? 'tool');
  return toolCall(id, nameOf(name) ?? 'tool', input ?? {});
}

const toolStart: Read = ({ toolCallId, toolName, mcpToolName, arguments: input }, memory) => {
  const draft = call(toolCallId, toolName ?? mcpToolName, input, memory);
  return [draft ?? { source: 'assistant' }];
};

function result(data: JsonObject, memory: FormatMemory, draft: NonNullable<Draft['toolResult']>): Draft {
  const itemId = nameOf(data['toolCallId']) ?? '';
  const toolName = nameOf(memory.recall('tools', itemId));
  return { source: 'tool', itemId, ...(toolName !== undefined && { toolName }), toolResult: draft };
}

const toolProgress: Read = (data, memory) => [
  {
    ...result(data, memory, { status: 'running', output: textOf(data['partialOutput']) ?? '' }),
    delivery: 'realtime',
  },
];

const toolComplete: Read = (data, memory) => {
  const { content, detailedContent } = objectOf(data['result']);
  const error = errorText(data['error']);
  const exitCode = integerOf(objectOf(data['shellExecution'])['exitCode']);
  const ended = exitCode ? `the command ended with code ${exitCode}` : undefined;
  const hasFailed = data['success'] === false || error !== undefined || ended !== undefined;
  return [
    result(data, memory, {
      status: hasFailed ? 'error' : 'completed',
      output: contentText(content ?? detailedContent),
      ...(exitCode !== undefined && { exitCode }),
      ...(hasFailed && { error: error ?? ended ?? CALL_FAILED }),
    }),
  ];
};

/** What a call of the model has used; in the files of the agent, its record. */
const usage: Read = (data, memory) => {
  memory.set('hasUsage', true);
  return [{ usage: usageIn({ model: memory.get('model'), ...data, ...objectOf(data['usage']) }) }];
};

const usageIn = (data: JsonObject) => ({
  inputTokens: amountOf(data['inputTokens']),
  outputTokens: amountOf(data['outputTokens']),
  cachedInputTokens: amountOf(data['cacheReadTokens']),
  cacheWriteTokens: amountOf(data['cacheWriteTokens']),
  model: modelOf(data['model']),
});

const MAX_MODELS = 20;

/** The totals at the end, where no call has reported its own. */
const shutdown: Read = ({ modelMetrics }, memory) => {
  const models = memory.get('hasUsage') === true ? [] : Object.entries(objectOf(modelMetrics)).slice(0, MAX_MODELS);
  const drafts = models.map(([model, metrics]) => ({
    usage: usageIn({ ...objectOf(objectOf(metrics)['usage']), model }),
  }));
  return drafts.length > 0 ? drafts : [{}];
};

const note: Read = (data) => [{ accumulatedText: textOf(data['message']) ?? '' }];

const ended: Convert = (line) => {
  const { sessionDurationMs } = objectOf(line['usage']);
  return [{ usage: { durationMs: amountOf(sessionDurationMs) } }];
};

const DATA: Readonly<Record<string, Read>> = {
  'user.message': (data) => [
    textDraft(textOf(data['content']) ?? '', { source: 'user', ...itemOf(data['messageId']) }),
  ],
  'assistant.message': message,
  'assistant.message_start': frame,
  'assistant.message_delta': part('messageId'),
  'assistant.reasoning': (data) => [
    textDraft(textOf(data['content']) ?? '', { ...itemOf(data['reasoningId']), responsePhase: 'commentary' }),
  ],
  'assistant.reasoning_delta': part('reasoningId', { responsePhase: 'commentary' }),
  'assistant.tool_call_delta': own,
  'assistant.turn_start': frame,
  'assistant.turn_end': (_, memory) => [{ usage: { turns: 1, model: modelOf(memory.get('model')) } }],
  'assistant.usage': usage,
  'session.usage_record': usage,
  'session.shutdown': shutdown,
  'system.message': frame,
  'tool.execution_start': toolStart,
  'tool.execution_partial_result': toolProgress,
  'tool.execution_complete': toolComplete,
  'tool.shell_output': () => [{ source: 'tool', delivery: 'realtime' }],
  'session.error': (data) => [{ name: 'error', accumulatedText: errorText(data) ?? '' }],
  'session.info': note,
  'session.warning': note,
};

export const copilot: Format = {
  provider: 'copilot',
  types: { ...Object.fromEntries(Object.entries(DATA).map(([type, read]) => [type, ofData(read)])), result: ended },
};
