import { isObject } from '../../../core/is-object.ts';
import { claude } from './claude.ts';
import { codex } from './codex.ts';
import type { Draft, Format, JsonObject, Memory } from './format.ts';
import { gemini } from './gemini.ts';
import { openaiResponses } from './openai-responses.ts';
import { opencode } from './opencode.ts';

/** Converts lines of agents to events. Every line becomes at least one event, and no line is refused. */

export const FORMATS = {
  claude,
  codex,
  gemini,
  opencode,
  'openai-responses': openaiResponses,
} as const satisfies Readonly<Record<string, Format>>;
export type FormatName = keyof typeof FORMATS;
export const FORMAT_NAMES = Object.keys(FORMATS) as readonly FormatName[] as readonly [FormatName, ...FormatName[]];

/** An event before its validation. */
export interface ConvertedEvent {
  readonly eventType: string;
  readonly messageId: string | null;
  readonly provider: string;
  readonly createdAt: string | null;
  readonly eventData: object;
}

export interface ConvertedLine {
  readonly events: readonly ConvertedEvent[];
  readonly memory: Memory;
}

/** Longer lines are only in their first events, and each part has at most this many characters. */
const MAX_PART = 60_000;
/** Longer texts of a line are cut: the line itself is complete. */
const MAX_TEXT = 120_000;
const MAX_NAME = 100;

/** Converts one line, which is kept as it came. `memory` is what the format remembers of earlier lines. */
export function convertLine(name: FormatName, line: string, memory: Memory): ConvertedLine {
  const format: Format = FORMATS[name];
  const json = parsed(format.jsonOf?.(line) ?? line);
  if (!json) return { events: eventsOf(format, 'line', {}, line, [{ name: 'line', accumulatedText: line }]), memory };
  const type = typeof json['type'] === 'string' && json['type'] !== '' ? json['type'] : 'line';
  const convert = Object.hasOwn(format.types, type) ? format.types[type] : undefined;
  const { drafts, memory: next = memory } = convert?.(json, memory) ?? { drafts: [] };
  return { events: eventsOf(format, type, json, line, drafts.length > 0 ? drafts : [{}]), memory: next };
}

function parsed(text: string): JsonObject | undefined {
  try {
    const value: unknown = JSON.parse(text);
    return isObject(value) ? value : undefined;
  } catch {
    return undefined;
  }
}

function eventsOf(
  format: Format,
  type: string,
  json: JsonObject,
  line: string,
  drafts: readonly Draft[],
): ConvertedEvent[] {
  const parts = partsOf(line);
  const isLong = parts.length > 1;
  const count = Math.max(parts.length, drafts.length);
  return Array.from({ length: count }, (_, index): ConvertedEvent => {
    const {
      name = type,
      source = 'system',
      scope = { kind: 'foreground' },
      ...draft
    } = drafts[index] ?? { source: undefined };
    const part = isLong ? parts[index] : line;
    return {
      eventType: type.slice(0, MAX_NAME),
      messageId: messageIdOf(json),
      provider: format.provider,
      createdAt: timeOf(json),
      eventData: {
        type: type.slice(0, MAX_NAME),
        scope,
        source,
        providerEvent: true,
        delivery: 'persist',
        ...bounded(draft),
        ...(part !== undefined && {
          event: { event: index < drafts.length ? name : 'line_part', message: part, provider: format.provider },
        }),
        // Several events of one line are numbered, so that the line can be put together again.
        ...(count > 1 && { line: { event: index + 1, events: count, ...(isLong && { parts: parts.length }) } }),
      },
    };
  });
}

/** The parts of a line, which never separate the two halves of a character. */
function partsOf(line: string): string[] {
  const parts: string[] = [];
  for (let start = 0; start < line.length || parts.length === 0;) {
    const end = Math.min(line.length, start + MAX_PART);
    const code = line.charCodeAt(end - 1);
    const stop = end < line.length && code >= 0xd8_00 && code <= 0xdb_ff ? end - 1 : end;
    parts.push(line.slice(start, stop));
    start = stop;
  }
  return parts;
}

function bounded({ accumulatedText, toolResult, usage, ...draft }: Draft): object {
  return {
    ...draft,
    ...(accumulatedText !== undefined && { accumulatedText: cut(accumulatedText) }),
    ...(toolResult && {
      toolResult: { ...toolResult, ...(toolResult.output !== undefined && { output: cut(toolResult.output) }) },
    }),
    ...(usage && { usage: Object.fromEntries(Object.entries(usage).filter(([, amount]) => amount !== undefined)) }),
  };
}

function cut(text: string): string {
  if (text.length <= MAX_TEXT) return text;
  return `${text
    .slice(0, MAX_TEXT)
    .toWellFormed()
    .replace(/\uFFFD$/, '')}\n[… ${text.length - MAX_TEXT} more characters in the line]`;
}

const UUID = /^[0-9a-f]{8}-[0-9a-f]{4}-[1-8][0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/i;

function messageIdOf({ uuid }: JsonObject): string | null {
  return typeof uuid === 'string' && UUID.test(uuid) ? uuid.toLowerCase() : null;
}

const MIN_TIME = Date.UTC(1970);
const MAX_TIME = Date.UTC(9999, 0);

/** The time that the agent wrote into the line, as text or in milliseconds. */
function timeOf({ timestamp }: JsonObject): string | null {
  if (
    typeof timestamp !== 'number' &&
    (typeof timestamp !== 'string' || !/^\d{4}-\d\d-\d\dT.*(?:Z|[+-]\d\d:?\d\d)$/.test(timestamp))
  )
    return null;
  const time = new Date(timestamp).getTime();
  return time >= MIN_TIME && time < MAX_TIME ? new Date(time).toISOString() : null;
}
