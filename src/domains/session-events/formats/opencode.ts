import {
  type Convert,
  type Format,
  amountOf,
  contentText,
  errorText,
  integerOf,
  textDraft,
  nameOf,
  objectOf,
  textOf,
  toolCall,
} from './format.ts';

/** `opencode run --format json`. The shapes are those of `packages/opencode/src/cli/cmd/run.ts` in anomalyco/opencode. */

const said =
  (phase?: 'commentary'): Convert =>
  (line) => {
    const part = objectOf(line['part']);
    const itemId = nameOf(part['id']);
    return [
      textDraft(textOf(part['text']) ?? '', {
        ...(itemId !== undefined && { itemId }),
        ...(phase && { responsePhase: phase }),
      }),
    ];
  };

/** A tool call has one line, at its end. */
const toolUse: Convert = (line) => {
  const part = objectOf(line['part']);
  const state = objectOf(part['state']);
  const itemId = nameOf(part['callID']) ?? nameOf(part['id']) ?? '';
  const toolName = nameOf(part['tool']) ?? 'tool';
  const error = errorText(state['error']);
  const exitCode = integerOf(objectOf(state['metadata'])['exit']);
  const status = state['status'] === 'error' ? 'error' : state['status'] === 'completed' ? 'completed' : 'running';
  return [
    toolCall(itemId, toolName, state['input'] ?? {}),
    {
      source: 'tool',
      itemId,
      toolName,
      toolResult: {
        status,
        output: contentText(state['output']),
        ...(exitCode !== undefined && { exitCode }),
        ...(status === 'error' && { error: error ?? 'the call failed' }),
      },
    },
  ];
};

const stepFinish: Convert = (line) => {
  const { tokens, cost } = objectOf(line['part']);
  const { input, output, cache } = objectOf(tokens);
  return [
    {
      usage: {
        inputTokens: amountOf(input),
        outputTokens: amountOf(output),
        cachedInputTokens: amountOf(objectOf(cache)['read']),
        costUsd: amountOf(cost),
        turns: 1,
      },
    },
  ];
};

export const opencode: Format = {
  provider: 'opencode',
  types: {
    text: said(),
    reasoning: said('commentary'),
    tool_use: toolUse,
    step_finish: stepFinish,
    error: ({ error }) => [{ accumulatedText: errorText(error) ?? '' }],
  },
};
