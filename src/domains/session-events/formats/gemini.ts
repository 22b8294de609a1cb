import {
  type Conversion,
  type Format,
  type JsonObject,
  type Memory,
  accumulate,
  amountOf,
  errorText,
  forget,
  textDraft,
  nameOf,
  objectOf,
  remember,
  textOf,
  toolCall,
} from './format.ts';

/** Gemini CLI with `--output-format stream-json`. The shapes are those of `packages/core/src/output/types.ts` in google-gemini/gemini-cli. */

/** Parts of a message have no id: parts of one role that follow each other are one message. */
function said(line: JsonObject, memory: Memory): Conversion {
  const source = line['role'] === 'user' ? 'user' : 'assistant';
  const content = textOf(line['content']) ?? '';
  const isDelta = line['delta'] === true;
  const count = amountOf(memory['messages']) ?? 0;
  const continues = isDelta && memory['open'] === source;
  const number = continues ? count : count + 1;
  const itemId = `message-${number}`;
  const { text, memory: next } = accumulate(memory, itemId, content);
  return {
    drafts: [
      textDraft(text ?? '', {
        source,
        itemId,
        ...(isDelta && { delivery: 'realtime' }),
        ...(text === undefined && { accumulatedText: undefined }),
      }),
    ],
    memory: { ...(isDelta ? next : forget(next, 'texts', itemId)), messages: number, open: isDelta ? source : null },
  };
}

/** Anything but a message ends the message before. */
const closed = (memory: Memory): Memory => ({ ...memory, open: null, texts: {} });

function toolUse(line: JsonObject, memory: Memory): Conversion {
  const id = nameOf(line['tool_id']) ?? '';
  const name = nameOf(line['tool_name']) ?? 'tool';
  return {
    drafts: [toolCall(id, name, line['parameters'] ?? {})],
    memory: remember(closed(memory), 'tools', id, name),
  };
}

function toolResult(line: JsonObject, memory: Memory): Conversion {
  const id = nameOf(line['tool_id']) ?? '';
  const toolName = nameOf(objectOf(memory['tools'])[id]);
  const error = errorText(line['error']);
  const hasFailed = line['status'] === 'error' || error !== undefined;
  return {
    drafts: [
      {
        source: 'tool',
        itemId: id,
        ...(toolName !== undefined && { toolName }),
        toolResult: {
          status: hasFailed ? 'error' : 'completed',
          output: textOf(line['output']) ?? '',
          ...(hasFailed && { error: error ?? 'the call failed' }),
        },
      },
    ],
    memory: forget(closed(memory), 'tools', id),
  };
}

function result(line: JsonObject, memory: Memory): Conversion {
  const stats = objectOf(line['stats']);
  const error = errorText(line['error']);
  return {
    drafts: [
      {
        ...(error !== undefined && { name: 'error', accumulatedText: error }),
        usage: {
          inputTokens: amountOf(stats['input_tokens']),
          outputTokens: amountOf(stats['output_tokens']),
          cachedInputTokens: amountOf(stats['cached']),
          turns: 1,
          durationMs: amountOf(stats['duration_ms']),
        },
      },
    ],
    memory: closed(memory),
  };
}

export const gemini: Format = {
  provider: 'google',
  types: {
    init: (_, memory) => ({ drafts: [{}], memory: closed(memory) }),
    message: said,
    tool_use: toolUse,
    tool_result: toolResult,
    error: (line, memory) => ({
      drafts: [
        {
          name: line['severity'] === 'warning' ? 'warning' : 'error',
          accumulatedText: errorText(line['message']) ?? errorText(line['error']) ?? '',
        },
      ],
      memory: closed(memory),
    }),
    result,
  },
};
