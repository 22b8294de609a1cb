import {
  CALL_FAILED,
  type Convert,
  type Draft,
  type Format,
  type JsonObject,
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
import type { FormatMemory } from './format-memory.ts';

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
  const hasFailed = state['status'] === 'error' || (exitCode !== undefined && exitCode !== 0);
  const status = hasFailed ? 'error' : state['status'] === 'completed' ? 'completed' : 'running';
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
        ...(hasFailed && {
          error: error ?? (exitCode ? `the command ended with code ${exitCode}` : CALL_FAILED),
        }),
      },
    },
  ];
};

const stepFinish: Convert = (line) => {
  const { tokens, cost } = objectOf(line['part']);
  const { input, output, reasoning, cache, total } = objectOf(tokens);
  return [
    {
      usage: {
        inputTokens: amountOf(Number(input) + (amountOf(objectOf(cache)['write']) ?? 0)),
        // Versions that name the total do not count what is reasoning as output.
        outputTokens: amountOf(Number(output) + (total === undefined ? 0 : (amountOf(reasoning) ?? 0))),
        cachedInputTokens: amountOf(objectOf(cache)['read']),
        cacheWriteTokens: amountOf(objectOf(cache)['write']),
        costUsd: amountOf(cost),
        turns: 1,
      },
    },
  ];
};

/** While a step of the agent runs, lines of other sessions are those of its subagents. */
function scopeOf({ type, sessionID }: JsonObject, memory: FormatMemory): Draft['scope'] {
  const session = nameOf(sessionID) ?? '';
  const { id: main, isOpen } = objectOf(memory.get('step'));
  if (isOpen === true && session !== main) return { kind: 'subagent', taskId: session };
  if (type === 'step_start') memory.set('step', { id: session, isOpen: true });
  else if (type === 'step_finish') memory.set('step', { id: session, isOpen: false });
  return undefined;
}

const withScope =
  (convert: Convert): Convert =>
  (line, memory) => {
    const scope = scopeOf(line, memory);
    const drafts = convert(line, memory);
    return scope ? drafts.map((draft) => ({ ...draft, scope })) : drafts;
  };

const TYPES: Readonly<Record<string, Convert>> = {
  step_start: () => [{}],
  text: said(),
  reasoning: said('commentary'),
  tool_use: toolUse,
  step_finish: stepFinish,
  error: ({ error }) => [{ accumulatedText: errorText(error) ?? '' }],
};

export const opencode: Format = {
  provider: 'opencode',
  types: Object.fromEntries(Object.entries(TYPES).map(([type, convert]) => [type, withScope(convert)])),
};
