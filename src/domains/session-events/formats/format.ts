import { isObject } from '../../../core/is-object.ts';
import { WORK } from '../../../core/work-budget.ts';
import type { FormatMemory } from './format-memory.ts';

/** What the formats of agents share. A format maps the lines of one agent to events of the documented model. */

export type JsonObject = Readonly<Record<string, unknown>>;

/** The parts of an event that a format reads from a line. The line itself is added by the converter. */
export interface Draft {
  /** Name of the event in `event.event`; when absent, the type of the line. */
  readonly name?: string;
  /** When it was, as the agent wrote it; when absent, the time of the line. */
  readonly time?: unknown;
  /** Who speaks. When absent, the system. */
  readonly source?: 'user' | 'assistant' | 'system' | 'tool';
  readonly scope?: { readonly kind: string; readonly parentToolUseId?: string; readonly taskId?: string };
  readonly delivery?: 'realtime' | 'persist';
  readonly index?: number;
  readonly sequenceNumber?: number;
  readonly itemId?: string;
  readonly accumulatedText?: string;
  /** What a part adds to the text of its item. The converter adds the text so far from time to time. */
  readonly delta?: string;
  /** Set when the text only repeats earlier parts: it is left out if it would take too much room. */
  readonly isRepeated?: true;
  readonly deltaType?: 'text_delta' | 'input_json_delta';
  readonly responsePhase?: 'commentary' | 'final_answer';
  readonly toolName?: string;
  readonly toolResult?: {
    readonly status: 'running' | 'completed' | 'error';
    readonly output?: string;
    readonly exitCode?: number;
    readonly error?: string;
  };
  readonly usage?: UsageDraft;
}

export interface TokenUsage {
  /** With those that were written to a cache. */
  readonly inputTokens?: number | undefined;
  readonly outputTokens?: number | undefined;
  readonly cachedInputTokens?: number | undefined;
  readonly cacheWriteTokens?: number | undefined;
}

/** Tokens, costs and time that a line reports in addition to those of earlier lines. */
export interface UsageDraft extends TokenUsage {
  readonly costUsd?: number | undefined;
  readonly turns?: number | undefined;
  readonly durationMs?: number | undefined;
  /** The model that has used it. */
  readonly model?: string | undefined;
  /** The cost of several models, which together are at most `costUsd`. The rest is that of `model`. */
  readonly costByModel?: Readonly<Record<string, number>> | undefined;
}

export interface Format {
  /** `provider` of its events. */
  readonly provider: string;
  /** Set when no line has the whole text of a message that came in parts, so that it is repeated at its end. */
  readonly repeatsEnd?: true;
  /** Who says a line in which nothing is found; when absent, it is only kept. */
  readonly otherLines?: 'assistant' | 'system';
  /** The JSON text of a line, such as that of an event stream; when absent, the line itself. */
  readonly jsonOf?: (line: string) => string;
  /** How the lines of each `type` are mapped. */
  readonly types: Readonly<Record<string, Convert>>;
  /** How lines of other types are mapped; when absent, their common members are read. */
  readonly others?: Convert;
}

/** Reads a line. `memory` has what was remembered of earlier lines, and is changed. */
export type Convert = (line: JsonObject, memory: FormatMemory) => readonly Draft[];

/** What a table has for a name that an agent wrote, which can also be the name of something that every object inherits. */
export const entryOf = <Value>(table: Readonly<Record<string, Value>>, name: string): Value | undefined =>
  Object.hasOwn(table, name) ? table[name] : undefined;

/** The value as an object; an empty one if it is anything else. */
export const objectOf = (value: unknown): JsonObject => (isObject(value) ? value : {});

/** @throws RangeError for a list with more items than a line can have events; the line is then kept as a text */
export function listOf(value: unknown): readonly unknown[] {
  if (!Array.isArray(value)) return [];
  if (value.length > WORK.lineEvents) throw new RangeError(`a list has more than ${WORK.lineEvents} items`);
  return value;
}

export const textOf = (value: unknown): string | undefined => (typeof value === 'string' ? value : undefined);

/** A text that is not empty. */
export const nameOf = (value: unknown): string | undefined =>
  typeof value === 'string' && value !== '' ? value : undefined;

/** The name of a model, cut. With a larger context, Claude Code writes it with `[1m]`. */
export const modelOf = (value: unknown): string | undefined =>
  nameOf(value)
    ?.replace(/\[1m\]$/, '')
    .slice(0, MAX_MODEL_NAME)
    .toWellFormed();
export const MAX_MODEL_NAME = 200;

/** A number that can be counted; undefined for anything else. */
export const amountOf = (value: unknown): number | undefined =>
  typeof value === 'number' && Number.isFinite(value) && value >= 0 ? value : undefined;

/** A signed 32-bit integer, which is what events accept. */
export const integerOf = (value: unknown): number | undefined =>
  typeof value === 'number' && Number.isInteger(value) && Math.abs(value) < 2 ** 31 ? value : undefined;

/** The text of content: a text, a list of blocks with texts, or JSON for anything else. */
export function contentText(content: unknown): string {
  if (typeof content === 'string') return content;
  if (content === undefined || content === null) return '';
  if (!Array.isArray(content)) return textOf(objectOf(content)['text']) ?? JSON.stringify(content);
  return listOf(content).map(blockText).join('\n');
}

function blockText(block: unknown): string {
  if (typeof block === 'string') return block;
  const { type, text } = objectOf(block);
  return textOf(text) ?? mediaText(objectOf(block)) ?? `[${nameOf(type) ?? 'content'}]`;
}

/** Images and files are shown by their name or media type. Their bytes stay in the line. */
export function mediaText(block: JsonObject): string | undefined {
  const { type, title, name, filename, mimeType, mime } = block;
  if (type !== 'image' && type !== 'document' && type !== 'file' && type !== 'input_image') return undefined;
  const { media_type: mediaType, url } = objectOf(block['source']);
  const label = [title, name, filename, mediaType, mimeType, mime, url].find((each) => nameOf(each) !== undefined);
  return `[${type}${typeof label === 'string' ? ` ${label}` : ''}]`;
}

/** The input of a tool as JSON text. */
export const inputText = (input: unknown): string =>
  typeof input === 'string' ? input : input === undefined ? '' : JSON.stringify(input);

/** The message of an error, which agents send as a text or as objects of several shapes. */
export function errorText(error: unknown): string | undefined {
  if (error === undefined || error === null || error === false) return undefined;
  if (typeof error === 'string') return error;
  const { message, data, name, type, code } = objectOf(error);
  const found = [message, objectOf(data)['message'], name, type, code].find((each) => nameOf(each) !== undefined);
  return typeof found === 'string' ? found : JSON.stringify(error);
}

/** A message of the agent. */
export const textDraft = (text: string, draft: Draft = {}): Draft => ({
  source: 'assistant',
  deltaType: 'text_delta',
  accumulatedText: text,
  ...draft,
});

/** The start of a tool call. */
export const toolCall = (itemId: string, toolName: string, input: unknown, draft: Draft = {}): Draft => ({
  source: 'assistant',
  itemId,
  toolName,
  deltaType: 'input_json_delta',
  accumulatedText: inputText(input),
  toolResult: { status: 'running' },
  ...draft,
});

interface ToolEnd {
  readonly itemId: string | undefined;
  readonly toolName: string | undefined;
  readonly output: string;
  readonly exitCode?: number | undefined;
  /** Why the call failed; absent if it succeeded. */
  readonly error?: string | false | undefined;
}

/** The end of a tool call. */
export const toolEnd = ({ itemId, toolName, output, exitCode, error = false }: ToolEnd, draft: Draft = {}): Draft => ({
  source: 'tool',
  ...(itemId !== undefined && { itemId }),
  ...(toolName !== undefined && { toolName }),
  toolResult: {
    status: error === false ? 'completed' : 'error',
    output,
    ...(exitCode !== undefined && { exitCode }),
    ...(error !== false && { error }),
  },
  ...draft,
});

/** The reason of a failed call that names none. */
export const CALL_FAILED = 'the call failed';

/** A part of a text that arrives in several lines. */
export const partDraft = (delta: string, draft: Draft = {}): Draft => ({
  source: 'assistant',
  deltaType: 'text_delta',
  delivery: 'realtime',
  delta,
  ...draft,
});

/** A text that the program of the agent has added, which nobody has said. */
export const noteOf = ({ scope, itemId, accumulatedText = '' }: Draft): Draft => ({
  name: 'note',
  source: 'system',
  ...(scope && { scope }),
  ...(itemId !== undefined && { itemId }),
  accumulatedText,
});
