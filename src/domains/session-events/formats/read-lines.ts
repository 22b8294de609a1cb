import { isObject } from '../../../core/is-object.ts';
import { countMembers } from '../../../core/text/json-scanner.ts';
import { WORK } from '../../../core/work-budget.ts';
import { MAX_EVENT_BYTES } from '../event-data.ts';
import { claude } from './claude.ts';
import { claudeTranscript } from './claude-transcript.ts';
import { cline } from './cline.ts';
import { codexRollout } from './codex-rollout.ts';
import { codex } from './codex.ts';
import { copilot } from './copilot.ts';
import { type Draft, type Format, type JsonObject, nameOf } from './format.ts';
import { type FormatMemory, MAX_TEXT } from './format-memory.ts';
import { geminiChat } from './gemini-chat.ts';
import { gemini } from './gemini.ts';
import { jsonl, plainText } from './jsonl.ts';
import { FORMAT_NAMES, type FormatName } from './names.ts';
import { neutral } from './neutral.ts';
import { openaiResponses } from './openai-responses.ts';
import { opencode } from './opencode.ts';
import { opencodeStorage } from './opencode-storage.ts';
import { pi } from './pi.ts';
import { qwenChat } from './qwen-chat.ts';
import { formatOfLine } from './recognition.ts';

/** Reads lines of agents, and makes events of what a format finds in them. */

/** Lines of agents that are not known. */
const auto: Format = { provider: 'agent', types: {} };

export const FORMATS = {
  claude,
  codex,
  gemini,
  opencode,
  'openai-responses': openaiResponses,
  copilot,
  cline,
  pi,
  'claude-transcript': claudeTranscript,
  'codex-rollout': codexRollout,
  'gemini-chat': geminiChat,
  'opencode-storage': opencodeStorage,
  'qwen-chat': qwenChat,
  text: plainText,
  jsonl,
  auto,
} as const satisfies Readonly<Record<FormatName, Format>>;

/** An event before its validation. */
export interface ConvertedEvent {
  readonly eventType: string;
  readonly messageId: string | null;
  readonly provider: string;
  readonly createdAt: string | null;
  readonly eventData: object;
}

const MAX_NAME = 100;
const MAX_LEVELS = 500;

/** The line as a JSON object; undefined if it is none, or has more members or levels than are read. */
export function parseLine(name: FormatName, line: string): JsonObject | undefined {
  const format: Format = FORMATS[name];
  const plain = line.startsWith('\uFEFF') ? line.slice(1) : line;
  const text = format.jsonOf?.(plain) ?? plain;
  if (!/^\s*\{/.test(text)) return undefined;
  try {
    // A shorter line has fewer members, and is parsed quickly, however deep it is.
    if (text.length > WORK.lineMembers) countMembers(text, { levels: MAX_LEVELS, members: WORK.lineMembers });
    const value: unknown = JSON.parse(text);
    return isObject(value) ? value : undefined;
  } catch {
    return undefined;
  }
}

/** What a format finds in a line; undefined if it cannot read it. */
export function draftsOf(name: FormatName, json: JsonObject, memory: FormatMemory): readonly Draft[] | undefined {
  const { types, others, otherLines }: Format = FORMATS[name === 'auto' ? recognized(json, memory) : name];
  const type = typeOf(json);
  const convert = Object.hasOwn(types, type) ? types[type] : others;
  try {
    const drafts = convert?.(json, memory) ?? [];
    const found = drafts.length > 0 ? drafts : neutral(json, memory);
    if (otherLines && found.every((draft) => Object.keys(draft).length === 0)) return undefined;
    const scope = subagentOf(memory);
    return scope ? found.map((draft) => ({ scope, ...draft })) : found;
  } catch {
    // Whatever it is, it is kept.
    return undefined;
  }
}

/** The subagent whose lines a request has, below the call that started it. */
function subagentOf(memory: FormatMemory): Draft['scope'] {
  const id = nameOf(memory.get('subagent'));
  if (id === undefined) return undefined;
  const call = nameOf(memory.recall('calls', `agent ${id}`));
  return { kind: 'subagent', ...(call === undefined ? { taskId: id } : { parentToolUseId: call }) };
}

/** The format of lines whose agent was not named: that of the first line which has a type of one. */
function recognized(json: JsonObject, memory: FormatMemory): FormatName {
  const known = memory.get('format');
  const name = known === undefined ? formatOfLine(json) : FORMAT_NAMES.find((each) => each === known);
  memory.set('format', name);
  return name ?? 'auto';
}

const typeOf = ({ type }: JsonObject) => (typeof type === 'string' && type !== '' ? type.slice(0, MAX_NAME) : 'line');

export interface LineContent {
  readonly format: FormatName;
  /** The parts of the line, which are in its first events. */
  readonly parts: readonly string[];
  readonly encoding?: 'base64';
  readonly json?: JsonObject | undefined;
  readonly type: string;
}

/** A line that a format has read. */
export const readContent = (format: FormatName, parts: readonly string[], json: JsonObject): LineContent => ({
  format,
  parts,
  json,
  type: typeOf(json),
});

/** A line that is kept without being read. Its encoding is given where JSON would have to escape most characters. */
export const keptContent = (
  format: FormatName,
  parts: readonly string[],
  json?: JsonObject,
  encoding?: 'base64',
): LineContent => ({ format, parts, json, type: 'line', ...(encoding && { encoding }) });

export const eventCount = ({ parts }: LineContent, drafts: readonly Draft[]) => Math.max(parts.length, drafts.length);

/** The events of a line. The first has the line itself, unless it is in parts. */
export function* eventsOf(content: LineContent, drafts: readonly Draft[]): Generator<ConvertedEvent, void, undefined> {
  const { format, parts, encoding, json = {}, type } = content;
  const { provider }: Format = FORMATS[format];
  const isLong = parts.length > 1;
  const count = eventCount(content, drafts);
  const messageId = messageIdOf(json);
  for (let index = 0; index < count; index += 1) {
    const found = drafts[index];
    const {
      name = type,
      source = 'system',
      scope = { kind: 'foreground' },
      isRepeated: _repeated,
      time = json['timestamp'],
      ...draft
    } = found ?? {};
    const message = parts[index];
    yield {
      eventType: type,
      messageId,
      provider,
      createdAt: timeOf(time),
      eventData: {
        type,
        scope,
        ...(found && { source }),
        providerEvent: true,
        delivery: 'persist',
        ...bounded(
          draft,
          message === undefined || message.length <= MAX_SHORT ? undefined : ROOM_BYTES - jsonBytes(message),
        ),
        ...((message !== undefined || found?.name !== undefined) && {
          event: { event: found ? name.slice(0, MAX_NAME) : 'line_part', message: message ?? '', provider },
        }),
        // Several events of one line are numbered, so that the line can be put together again.
        ...((count > 1 || encoding) && {
          line: {
            event: index + 1,
            events: count,
            ...(isLong && { parts: parts.length }),
            ...(encoding && { encoding }),
          },
        }),
      },
    };
  }
}

/** What an event has beside its part of the line and the texts of its draft, at most. */
const FRAME_BYTES = 4096;
const ROOM_BYTES = MAX_EVENT_BYTES - FRAME_BYTES;
/** Such a line fits, whatever has been found in it. */
const MAX_SHORT = 40_000;
/** A character of a line has at most so many bytes in JSON. */
const MAX_CHARACTER = 6;

/** As few parts of a line as fit into its events, which also have what the format has found. */
export function partsOf(line: string, drafts: readonly Draft[] = []): string[] {
  if (line.length <= MAX_SHORT || endOfPart(line, 0, ROOM_BYTES) === line.length) return [line];
  const parts: string[] = [];
  for (let start = 0; start < line.length || parts.length === 0;) {
    const draft = drafts[parts.length];
    const own = draft ? Buffer.byteLength(JSON.stringify(bounded(draft))) : 0;
    const stop = endOfPart(line, start, ROOM_BYTES - own);
    parts.push(start === 0 && stop === line.length ? line : line.slice(start, stop));
    start = stop;
  }
  return parts;
}

/** Where the part ends that has at most so many bytes in JSON. It never separates the two halves of a character. */
function endOfPart(line: string, start: number, bytes: number): number {
  if ((line.length - start) * MAX_CHARACTER <= bytes) return line.length;
  let left = bytes;
  for (let at = start; at < line.length; at += 1) {
    // Of a pair, the code point is more than one unit.
    const code = line.codePointAt(at) ?? 0;
    left -= bytesOf(code);
    if (left < 0) return at;
    if (code > 0xff_ff) at += 1;
  }
  return line.length;
}

/** The bytes of a code point in JSON. */
function bytesOf(code: number): number {
  if (code < 0x20 || (code >= 0xd8_00 && code <= 0xdf_ff)) return MAX_CHARACTER;
  if (code === 0x22 || code === 0x5c) return 2;
  if (code < 0x80) return 1;
  return code < 0x8_00 ? 2 : code <= 0xff_ff ? 3 : 4;
}

const jsonBytes = (text: string) => Buffer.byteLength(JSON.stringify(text));

/** @param room the bytes that the line has left; its texts are cut there, too */
const bounded = ({ accumulatedText, delta, toolResult, usage, ...draft }: Draft, room?: number): object => ({
  ...draft,
  ...(delta !== undefined && { delta: cut(delta, room) }),
  ...(accumulatedText !== undefined && { accumulatedText: cut(accumulatedText, room) }),
  ...(toolResult && {
    toolResult: { ...toolResult, ...(toolResult.output !== undefined && { output: cut(toolResult.output, room) }) },
  }),
  ...(usage && { usage: Object.fromEntries(Object.entries(usage).filter(([, amount]) => amount !== undefined)) }),
});

/** Longer texts of a line are cut: the line itself is complete. */
function cut(text: string, room?: number): string {
  const fitting = room === undefined ? text.length : endOfPart(text, 0, Math.max(0, room - NOTE_BYTES));
  const end = Math.min(fitting, MAX_TEXT);
  if (text.length <= end) return text;
  return `${text
    .slice(0, end)
    .toWellFormed()
    .replace(/\uFFFD$/, '')}\n[… ${text.length - end} more characters in the line]`;
}
const NOTE_BYTES = 100;

const UUID = /^[0-9a-f]{8}-[0-9a-f]{4}-[1-8][0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/i;

const messageIdOf = ({ uuid }: JsonObject): string | null =>
  typeof uuid === 'string' && UUID.test(uuid) ? uuid.toLowerCase() : null;

const MIN_TIME = Date.UTC(1970);
const MAX_TIME = Date.UTC(9999, 0);

/** The time that the agent wrote into the line, as text or in milliseconds. */
function timeOf(timestamp: unknown): string | null {
  if (
    typeof timestamp !== 'number' &&
    (typeof timestamp !== 'string' || !/^\d{4}-\d\d-\d\dT.*(?:Z|[+-]\d\d:?\d\d)$/.test(timestamp))
  )
    return null;
  const time = new Date(timestamp).getTime();
  return time >= MIN_TIME && time < MAX_TIME ? new Date(time).toISOString() : null;
}
