import { isObject } from '../../../core/is-object.ts';

/** What the formats of agents share. A format maps the lines of one agent to events of the documented model. */

export type JsonObject = Readonly<Record<string, unknown>>;

/** The parts of an event that a format reads from a line. The line itself is added by `lineConverter`. */
export interface Draft {
  /** Name of the event in `event.event`; when absent, the type of the line. */
  readonly name?: string;
  /** Who speaks. When absent, the system. */
  readonly source?: 'user' | 'assistant' | 'system' | 'tool';
  readonly scope?: { readonly kind: string; readonly parentToolUseId?: string; readonly taskId?: string };
  readonly delivery?: 'realtime' | 'persist';
  readonly index?: number;
  readonly sequenceNumber?: number;
  readonly itemId?: string;
  readonly accumulatedText?: string;
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

/** Tokens, costs and time that a line reports in addition to those of earlier lines. */
export interface UsageDraft {
  readonly inputTokens?: number | undefined;
  readonly outputTokens?: number | undefined;
  readonly cachedInputTokens?: number | undefined;
  readonly costUsd?: number | undefined;
  readonly turns?: number | undefined;
  readonly durationMs?: number | undefined;
}

/** What a format remembers of earlier lines of the session. It is JSON, because it is stored between two requests. */
export type Memory = JsonObject;

export interface Conversion {
  readonly drafts: readonly Draft[];
  /** When absent, the memory does not change. */
  readonly memory?: Memory;
}

export interface Format {
  /** `provider` of its events. */
  readonly provider: string;
  /** The JSON text of a line, such as that of an event stream; when absent, the line itself. */
  readonly jsonOf?: (line: string) => string;
  /** How the lines of each `type` are mapped. Lines of other types are kept without further fields. */
  readonly types: Readonly<Record<string, (line: JsonObject, memory: Memory) => Conversion>>;
}

/** The value as an object; an empty one if it is anything else. */
export function objectOf(value: unknown): JsonObject {
  return isObject(value) ? value : {};
}

export function listOf(value: unknown): readonly unknown[] {
  return Array.isArray(value) ? value : [];
}

export function textOf(value: unknown): string | undefined {
  return typeof value === 'string' ? value : undefined;
}

/** A text that is not empty. */
export function nameOf(value: unknown): string | undefined {
  return typeof value === 'string' && value !== '' ? value : undefined;
}

/** A number that can be counted; undefined for anything else. */
export function amountOf(value: unknown): number | undefined {
  return typeof value === 'number' && Number.isFinite(value) && value >= 0 ? value : undefined;
}

/** A signed 32-bit integer, which is what events accept. */
export function integerOf(value: unknown): number | undefined {
  return typeof value === 'number' && Number.isInteger(value) && Math.abs(value) < 2 ** 31 ? value : undefined;
}

/** The text of content: a text, a list of blocks with texts, or JSON for anything else. */
export function contentText(content: unknown): string {
  if (typeof content === 'string') return content;
  if (content === undefined || content === null) return '';
  if (!Array.isArray(content)) return textOf(objectOf(content)['text']) ?? JSON.stringify(content);
  return content.map(blockText).join('\n');
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
export function inputText(input: unknown): string {
  return typeof input === 'string' ? input : input === undefined ? '' : JSON.stringify(input);
}

/** The message of an error, which agents send as a text or as objects of several shapes. */
export function errorText(error: unknown): string | undefined {
  if (error === undefined || error === null || error === false) return undefined;
  if (typeof error === 'string') return error;
  const { message, data, name, type, code } = objectOf(error);
  const found = [message, objectOf(data)['message'], name, type, code].find((each) => nameOf(each) !== undefined);
  return typeof found === 'string' ? found : JSON.stringify(error);
}

/** A message of the agent. */
export function textDraft(text: string, draft: Draft = {}): Draft {
  return { source: 'assistant', deltaType: 'text_delta', accumulatedText: text, ...draft };
}

/** The start of a tool call. */
export function toolCall(itemId: string, toolName: string, input: unknown, draft: Draft = {}): Draft {
  return {
    source: 'assistant',
    itemId,
    toolName,
    deltaType: 'input_json_delta',
    accumulatedText: inputText(input),
    toolResult: { status: 'running' },
    ...draft,
  };
}

/** What accumulates of texts that arrive in parts, at most this many characters for each. Longer ones are complete in their lines only. */
const MAX_OPEN_TEXT = 256 * 1024;
const MAX_OPEN_ITEMS = 100;

/** Appends a part to the text of an item, and returns the whole text so far. */
export function accumulate(memory: Memory, itemId: string, part: string): { text?: string; memory: Memory } {
  const texts = objectOf(memory['texts']);
  const before = texts[itemId];
  // null: the text was too long, so that its beginning is no longer known.
  if (before === null) return { memory };
  const text = `${textOf(before) ?? ''}${part}`;
  const kept = text.length > MAX_OPEN_TEXT ? null : text;
  return { text, memory: remember(memory, 'texts', itemId, kept) };
}

/** Remembers a value under a name, and forgets the oldest ones. */
export function remember(memory: Memory, list: string, name: string, value: unknown): Memory {
  const { [name]: _replaced, ...others } = objectOf(memory[list]);
  const entries = [...Object.entries(others).slice(1 - MAX_OPEN_ITEMS), [name, value] as const];
  return { ...memory, [list]: Object.fromEntries(entries) };
}

export function forget(memory: Memory, list: string, name: string): Memory {
  const { [name]: _forgotten, ...others } = objectOf(memory[list]);
  return { ...memory, [list]: others };
}

/** What a total adds to the one that the agent reported before. A smaller total is that of a new run. */
export function addedTo(before: unknown, total: number | undefined): number | undefined {
  if (total === undefined) return undefined;
  const last = amountOf(before) ?? 0;
  return total >= last ? total - last : total;
}
