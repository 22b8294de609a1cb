import { ValidationError, invalid } from '../../core/errors.ts';
import { parseInput } from '../../core/input/validation.ts';
import { WORK, WorkSlices } from '../../core/work-budget.ts';
import { type RecordedEvent, recordedEvent } from './event-data.ts';
import type { GivenLines } from './received-lines.ts';
import type { Draft, Format } from './formats/format.ts';
import type { FormatMemory } from './formats/format-memory.ts';
import {
  FORMATS,
  type LineContent,
  draftsOf,
  eventCount,
  eventsOf,
  keptContent,
  parseLine,
  partsOf,
  readContent,
} from './formats/read-lines.ts';
import type { FormatName } from './formats/names.ts';

/**
 * Converts lines of agents to validated events. Every line becomes at least one event, and no line is refused: one that cannot be read,
 * or would become more than its share, is kept as it is.
 */

/** The lines of a body, with their numbers from 0. Blank lines are apart, but count. */
export async function linesOf(text: string): Promise<GivenLines> {
  const slices = new WorkSlices();
  const [lines, numbers]: [string[], number[]] = [[], []];
  const blanks: [number, string][] = [];
  const returns = new Set<number>();
  let count = 0;
  for (let start = 0, end = 0; start < text.length; start = end + 1, count += 1) {
    if (slices.isOver()) await slices.pause();
    end = text.indexOf('\n', start);
    if (end === -1) end = text.length;
    const line = text.slice(start, end);
    if (line.trim() === '') {
      if (line !== '' && blanks.length < WORK.lines) blanks.push([count, line]);
      continue;
    }
    if (line.endsWith('\r')) returns.add(count);
    lines.push(withoutReturn(line));
    numbers.push(count);
    if (lines.length > WORK.lines)
      throw invalid(
        '',
        `the body must have at most ${WORK.lines} lines; send the others in another request`,
        'TOO_MANY',
        WORK.lines,
      );
  }
  return { lines, numbers, count, blanks, returns };
}

export const withoutReturn = (line: string) => (line.endsWith('\r') ? line.slice(0, -1) : line);

/** Converts the lines of a request in their order. @param onLine gets the index of the first event of each line */
export async function convertLines(
  format: FormatName,
  lines: readonly string[],
  memory: FormatMemory,
  onLine?: (first: number) => void,
): Promise<RecordedEvent[]> {
  const converter = new LineConverter(format, memory);
  const events: RecordedEvent[] = [];
  let needed = lines.length;
  for (const line of lines) {
    // Each line that follows has at least one event.
    needed -= 1;
    onLine?.(events.length);
    for (const event of await converter.convert(line, WORK.lineEvents - events.length - needed)) events.push(event);
  }
  return events;
}

interface Built {
  readonly events: RecordedEvent[];
  /** What is left of the share of the line, in bytes. */
  readonly left: number;
}

/** Converts the lines of one session, one after the other. */
export class LineConverter {
  readonly #format: FormatName;
  readonly #memory: FormatMemory;
  readonly #slices = new WorkSlices();

  constructor(format: FormatName, memory: FormatMemory) {
    this.#format = format;
    this.#memory = memory;
  }

  async convert(line: string, maxEvents: number = WORK.lineEvents): Promise<RecordedEvent[]> {
    const json = parseLine(this.#format, line);
    if (this.#slices.isOver()) await this.#slices.pause();
    const drafts = json && draftsOf(this.#format, json, this.#memory);
    const share = sentBytes(line) * WORK.storedPerByte;
    const read =
      json &&
      drafts &&
      (await this.#read(readContent(this.#format, partsOf(line, drafts), json), drafts, share, maxEvents));
    if (read) return read;
    const usage = drafts?.find((draft) => draft.usage)?.usage;
    const { otherLines: source }: Format = FORMATS[this.#format];
    // A line that is no JSON is a text of the program.
    const isPlain = !/^\s*(?:data:\s*)?[[{]/.test(line);
    const kept: Draft[] = [{ ...(isPlain && { source: 'assistant' as const }), ...(usage && { usage }) }];
    const isText = line.length <= MAX_CONTROLS || !isMostlyControl(line);
    const shown = source && !isPlain ? [{ ...kept[0], source, accumulatedText: line }] : kept;
    const buildAs = (drafted: Draft[]) =>
      this.#build(keptContent(this.#format, partsOf(line, drafted), json), drafted, share);
    const built =
      (isText ? ((await buildAs(shown)) ?? (await buildAs(kept))) : undefined) ??
      (await this.#build(
        keptContent(this.#format, partsOf(Buffer.from(line).toString('base64'), kept), json, 'base64'),
        kept,
        Infinity,
      ));
    if (!built) throw new Error('a line that is kept as it is must be valid');
    return built.events;
  }

  /** The events of a line that was read; undefined if they are more than its share. */
  async #read(
    content: LineContent,
    drafts: readonly Draft[],
    share: number,
    maxEvents: number,
  ): Promise<RecordedEvent[] | undefined> {
    if (eventCount(content, drafts) > maxEvents) return undefined;
    const memory = this.#memory;
    // What the parts have left of their shares, with which their text is repeated.
    const saved = Number(memory.get('saved') ?? 0);
    const whole = drafts.map((draft) => withText(draft, memory));
    const repeated = await this.#repeat(content, drafts, whole, share + saved);
    const own = drafts.filter(({ isRepeated }) => !isRepeated);
    const built = repeated ?? (await this.#build(content, own, share));
    if (!built) return undefined;
    const hasPart = drafts.some(({ delta }) => delta !== undefined);
    const left = repeated || !hasPart ? (repeated?.left ?? saved) : saved + built.left;
    memory.set('saved', memory.hasTexts ? Math.min(left, WORK.formatMemoryBytes) : undefined);
    return built.events;
  }

  /** The events with the texts that are due, if there are any and room for them. */
  async #repeat(
    content: LineContent,
    drafts: readonly Draft[],
    whole: readonly Draft[],
    room: number,
  ): Promise<Built | undefined> {
    const due = whole.filter((draft, index) => draft.isRepeated ?? draft !== drafts[index]);
    if (due.length === 0) return undefined;
    const { repeatsEnd }: Format = FORMATS[this.#format];
    const atEnd = due.map(({ delta, accumulatedText = '' }) =>
      repeatsEnd && delta !== undefined ? accumulatedText : '',
    );
    const reserved = atEnd.reduce((sum, text) => sum + Buffer.byteLength(text), 0);
    const built = await this.#build(content, whole, room - reserved);
    if (!built) return undefined;
    for (const { itemId = '' } of due) this.#memory.textIsStored(itemId);
    return { ...built, left: built.left + reserved };
  }

  /** Undefined when the events are not valid, or take more bytes than the given ones and those of each event. */
  async #build(content: LineContent, drafts: readonly Draft[], bytes: number): Promise<Built | undefined> {
    const events: RecordedEvent[] = [];
    let left = bytes + eventCount(content, drafts) * WORK.storedPerEvent;
    for (const event of eventsOf(content, drafts)) {
      if (this.#slices.isOver()) await this.#slices.pause();
      const recorded = validated(event);
      if (!recorded) return undefined;
      left -= Buffer.byteLength(recorded.eventData);
      if (left < 0) return undefined;
      events.push(recorded);
    }
    return { events, left };
  }
}

/** Adds the text so far to a part where it is due. A whole text ends the parts. */
function withText(draft: Draft, memory: FormatMemory): Draft {
  const { itemId, delta, accumulatedText, isRepeated } = draft;
  if (itemId === undefined) return draft;
  if (delta === undefined) {
    if (accumulatedText !== undefined && !isRepeated) memory.endText(itemId);
    return draft;
  }
  const text = memory.addPart(itemId, delta);
  return text === undefined ? draft : { ...draft, accumulatedText: text };
}

function validated(event: object): RecordedEvent | undefined {
  try {
    return parseInput(recordedEvent, event);
  } catch (error) {
    if (error instanceof ValidationError) return undefined;
    throw error;
  }
}

/** A shorter line is kept as a text, whatever is in it. */
const MAX_CONTROLS = 60_000;

/** Whether JSON would escape most characters of a text, with six bytes for each. */
function isMostlyControl(text: string): boolean {
  let controls = 0;
  for (let at = 0; at < text.length; at += 1) if (text.charCodeAt(at) < 0x20) controls += 1;
  return 2 * controls > text.length;
}

/** The bytes of a line as it was sent. A byte that is no UTF-8 has become a replacement character of three bytes. */
function sentBytes(line: string): number {
  let bytes = Buffer.byteLength(line);
  for (let at = line.indexOf('\uFFFD'); at !== -1; at = line.indexOf('\uFFFD', at + 1)) bytes -= 2;
  return bytes;
}
