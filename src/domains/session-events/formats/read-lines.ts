import { isObject } from '../../../core/is-object.ts';
import { countMembers } from '../../../core/text/json-scanner.ts';
import { WORK } from '../../../core/work-budget.ts';
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

/** Longer lines are in several events, and each part has at most this many characters. */
export const MAX_PART = 60_000;
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
        ...bounded(draft),
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

/** The parts of a line, which never separate the two halves of a character. */
export function partsOf(line: string): string[] {
  const parts: string[] = [];
  for (let start = 0; start < line.length || parts.length === 0;) {
    const stop = endOfPart(line, start + MAX_PART);
    parts.push(line.slice(start, stop));
    start = stop;
  }
  return parts;
}

/** Parts that are nearly as large as an event can be, for a request with so many lines that each can have few events. */
export function largeParts(line: string): string[] {
  if (line.length <= MAX_PART || Buffer.byteLength(JSON.stringify(line)) <= MAX_LARGE_BYTES) return [line];
  const middle = endOfPart(line, Math.ceil(line.length / 2));
  return [...largeParts(line.slice(0, middle)), ...largeParts(line.slice(middle))];
}
const MAX_LARGE_BYTES = 1_000_000;

function endOfPart(line: string, end: number): number {
  if (end >= line.length) return line.length;
  const code = line.charCodeAt(end - 1);
  return code >= 0xd8_00 && code <= 0xdb_ff ? end - 1 : end;
}

const bounded = ({ accumulatedText, delta, toolResult, usage, ...draft }: Draft): object => ({
  ...draft,
  ...(delta !== undefined && { delta: cut(delta) }),
  ...(accumulatedText !== undefined && { accumulatedText: cut(accumulatedText) }),
  ...(toolResult && {
    toolResult: { ...toolResult, ...(toolResult.output !== undefined && { output: cut(toolResult.output) }) },
  }),
  ...(usage && { usage: Object.fromEntries(Object.entries(usage).filter(([, amount]) => amount !== undefined)) }),
});

/** Longer texts of a line are cut: the line itself is complete. */
function cut(text: string): string {
  if (text.length <= MAX_TEXT) return text;
  return `${text
    .slice(0, MAX_TEXT)
    .toWellFormed()
    .replace(/\uFFFD$/, '')}\n[… ${text.length - MAX_TEXT} more characters in the line]`;
}

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
