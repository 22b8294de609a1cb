import { isObject } from '../../core/is-object.ts';
import { objectOf } from './formats/format.ts';

/** What one event is. Search, totals, outline, Markdown and the filter `isError` ask here, so that they agree. */

/** The data of an event, which need not have been validated. */
type Data = Readonly<Record<string, unknown>>;

/**
 * - `message`, `thinking`: text of a person or an agent, or a part of it.
 * - `call`: a call of a tool that has not ended. `result`: its end.
 * - `note`: other text, or a failure that the provider reports. `frame`: says nothing to a person.
 */
export type EventKind = 'message' | 'thinking' | 'call' | 'result' | 'note' | 'frame';

const SPEAKING: ReadonlySet<unknown> = new Set(['user', 'assistant', 'agent', 'model']);

export function kindOf(data: Data): EventKind {
  if (isOfTool(data)) return hasEnded(data) ? 'result' : 'call';
  if (data['deltaType'] === 'text_delta' || (hasText(data['accumulatedText']) && SPEAKING.has(data['source'])))
    return data['responsePhase'] === 'commentary' ? 'thinking' : 'message';
  if (isOfProgram(data)) return 'message';
  return hasText(data['accumulatedText']) || plainLine(data) !== undefined || reportsFailure(data) ? 'note' : 'frame';
}

/** Messages and completed calls do not fail, however the provider names its event. Pass the kind where it is known. */
export function isFailure(data: Data, kind = kindOf(data)): boolean {
  if (kind === 'call' || kind === 'result') {
    const { status, exitCode } = objectOf(data['toolResult']);
    return status === 'error' || (exitCode != null && Number(exitCode) !== 0);
  }
  return kind === 'note' && reportsFailure(data);
}

/** Providers add values of the status: a call with another status is open. */
function hasEnded(data: Data): boolean {
  const { status } = objectOf(data['toolResult']);
  return status === 'completed' || status === 'error';
}

const isOfTool = (data: Data): boolean =>
  hasText(data['toolName']) || isObject(data['toolResult']) || data['deltaType'] === 'input_json_delta';

const FAILURE = /error|fail/i;

/** By the name of the provider's event, or else by the type. */
function reportsFailure(data: Data): boolean {
  const { event } = objectOf(data['event']);
  const name = hasText(event) ? event : data['type'];
  return typeof name === 'string' && FAILURE.test(name);
}

/** The message of an event, unless it is JSON, as most lines of agents are. */
export function plainMessage(data: Data): string | undefined {
  const { event, message } = objectOf(data['event']);
  const isLine = data['providerEvent'] === true && event !== 'line';
  return isLine || typeof message !== 'string' || /^\s*[[{]/.test(message) ? undefined : message;
}

/** The text of a line that is no JSON. */
export const plainLine = (data: Data): string | undefined =>
  objectOf(data['event'])['event'] === 'line' ? plainMessage(data) : undefined;

/** Whether an event is a line that a program without a format of its own has written. */
export const isOfProgram = (data: Data): boolean =>
  objectOf(data['event'])['provider'] === 'agent' && !hasText(data['accumulatedText']) && plainLine(data) !== undefined;

/** Whether an event has a further part of a long line, and nothing else. */
export const isLinePart = (data: Data): boolean => objectOf(data['event'])['event'] === 'line_part';

/** The agent that acts, among those of a session: the call that started it, its task, or its kind. */
export function agentOf(data: Data): string | undefined {
  const { kind, parentToolUseId, taskId } = objectOf(data['scope']);
  return [parentToolUseId, taskId, kind].find((id) => typeof id === 'string');
}

/** What an event adds to the text of its item. */
export const deltaOf = (data: Data): string => (typeof data['delta'] === 'string' ? data['delta'] : '');

const hasText = (value: unknown): value is string => typeof value === 'string' && value !== '';
