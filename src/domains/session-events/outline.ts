import { isNew } from '../../core/is-new.ts';
import { WORK, WorkSlices } from '../../core/work-budget.ts';
import { contentOf } from './entry-content.ts';
import { type EntryChange, EntryFold } from './entry-fold.ts';
import { subagentOf } from './event-texts.ts';
import { objectOf } from './formats/format.ts';
import type { SessionEventRow } from './queries.ts';

/** Sums what the entries of a part of a session say: consecutive events for a plot, the turns and subagents, and the tools. */

/** Consecutive events, summed. */
export interface OutlineMark {
  readonly firstId: number;
  readonly createdAt: string;
  messages: number;
  toolCalls: number;
  failures: number;
  failureId: number | null;
  inputTokens: number;
  outputTokens: number;
  costUsd: number;
}

export const ENTRY_KINDS = ['turn', 'subagent'] as const;

export interface OutlineEntry {
  readonly eventId: number;
  readonly createdAt: string;
  readonly kind: (typeof ENTRY_KINDS)[number];
  readonly text: string;
  readonly subagentId: string | null;
  readonly parentId: string | null;
  lastId: number;
  endedAt: string;
  toolCalls: number;
  failures: number;
  failureId: number | null;
}

export interface OutlineTool {
  readonly name: string;
  calls: number;
  failures: number;
  durationMs: number;
  readonly firstId: number;
  failureId: number | null;
}

export interface OutlineParts {
  readonly marks: readonly OutlineMark[];
  readonly entries: readonly OutlineEntry[];
  readonly tools: readonly OutlineTool[];
  readonly models: readonly string[];
}

type Data = Readonly<Record<string, unknown>>;

/** Fields of the input of a tool that say what a subagent is for. */
const PURPOSES = ['description', 'title', 'name', 'prompt', 'message', 'task'];

type Happened = Pick<SessionEventRow, 'id' | 'createdAt'>;

/** A tool call that has begun. Its input is not kept: a part can have many. */
interface Call extends Happened {
  readonly name: string;
  /** What its input says that it is for. */
  readonly purpose: string;
  /** The subagent that called. */
  readonly parentId: string | null;
}

export interface OutlineSize {
  readonly marks: number;
  readonly entries: number;
}

export class OutlineBuilder {
  readonly #size: OutlineSize;
  #eventsPerMark: number;
  #marks: OutlineMark[] = [];
  readonly #entries: OutlineEntry[] = [];
  readonly #tools = new Map<string, OutlineTool>();
  readonly #models = new Set<string>();
  readonly #fold = new EntryFold();
  readonly #calls = new Map<string, Call>();
  readonly #ended = new Set<number>();
  readonly #failed = new Set<number>();
  readonly #subagents = new Map<string, OutlineEntry>();
  #turn: OutlineEntry | undefined;
  #count = 0;

  /** @param expected how many events there are at least */
  constructor(size: OutlineSize, expected: number) {
    this.#size = size;
    this.#eventsPerMark = Math.max(1, Math.ceil(expected / size.marks));
  }

  get parts(): OutlineParts {
    const entries = this.#entries.toSorted((one, other) => one.eventId - other.eventId);
    return { marks: this.#marks, entries, tools: [...this.#tools.values()], models: [...this.#models] };
  }

  async add(events: readonly SessionEventRow[]): Promise<void> {
    const work = new WorkSlices();
    for (const event of events) {
      if (work.isOver()) await work.pause();
      if (event.isSuperseded !== true) this.#add(event);
    }
  }

  #add(event: SessionEventRow): void {
    const data = objectOf(JSON.parse(event.eventData));
    const mark = this.#markOf(event);
    addUsage(mark, objectOf(data['usage']));
    this.#addModel(objectOf(data['usage'])['model']);
    const subagent = this.#subagentOf(event, data);
    const entry = this.#fold.add({ ...event, data });
    const { kind, callId } = entry?.begin ?? {};
    if (kind === 'userMessage' || kind === 'agentMessage') this.#addMessage(mark, event, { entry, data });
    if (kind === 'toolCall' && callId != null && entry?.endedAt === null) this.#addCall(entry, callId, data);
    const hasFailed = entry?.failed !== undefined && isNew(this.#failed, entry.id);
    const hasEnded = kind === 'toolCall' && entry?.endedAt != null && isNew(this.#ended, entry.id);
    if (hasEnded) this.#addResult(event, entry);
    const happened = {
      toolCalls: hasEnded ? 1 : 0,
      failures: hasFailed ? 1 : 0,
      failureId: hasFailed ? event.id : null,
    };
    addHappened(mark, happened);
    for (const listed of [this.#turn, subagent]) if (listed) extend(listed, event, happened);
    // The end of the call that started a subagent.
    const started = callId == null ? undefined : this.#subagents.get(callId);
    if (started && started !== subagent) extend(started, event, { ...happened, toolCalls: 0 });
  }

  #markOf({ id, createdAt }: SessionEventRow): OutlineMark {
    const last = this.#marks.at(-1);
    this.#count += 1;
    if (last && (this.#count - 1) % this.#eventsPerMark !== 0) return last;
    if (this.#marks.length >= this.#size.marks) this.#halve();
    const sums = { messages: 0, toolCalls: 0, failures: 0, inputTokens: 0, outputTokens: 0, costUsd: 0 };
    const mark: OutlineMark = { firstId: id, createdAt, failureId: null, ...sums };
    this.#marks.push(mark);
    return mark;
  }

  /** Makes one mark of each two. */
  #halve(): void {
    this.#eventsPerMark *= 2;
    this.#marks = this.#marks.filter((mark, index) => {
      const before = index % 2 === 1 ? this.#marks[index - 1] : undefined;
      if (!before) return true;
      before.messages += mark.messages;
      addHappened(before, mark);
      addUsage(before, mark);
      return false;
    });
  }

  #addModel(name: unknown): void {
    const model = shortText(name, MAX_NAME);
    if (model !== '' && this.#models.size < WORK.outlineNames) this.#models.add(model);
  }

  #addCall({ id, begin, toolName = '' }: EntryChange, callId: string, data: Data): void {
    const began = this.#calls.get(callId);
    const { createdAt, purpose: known = '' } = began?.id === id ? began : { createdAt: begin?.startedAt ?? '' };
    const purpose = purposeOf(textOf(data['accumulatedText'])) || known;
    this.#calls.set(callId, { id, createdAt, name: toolName, purpose, parentId: begin?.subagentId ?? null });
  }

  #addResult(event: SessionEventRow, { id, begin, toolName = '', failed }: EntryChange): void {
    const tool = this.#toolOf(shortText(toolName, MAX_NAME), id);
    tool.calls += 1;
    tool.durationMs += Math.max(0, Date.parse(event.createdAt) - Date.parse(begin?.startedAt ?? event.createdAt));
    if (!failed) return;
    tool.failures += 1;
    tool.failureId ??= event.id;
  }

  /** The names beyond the bound count without their name. */
  #toolOf(name: string, firstId: number): OutlineTool {
    const key = this.#tools.has(name) || this.#tools.size < WORK.outlineNames ? name : '';
    const known = this.#tools.get(key);
    if (known) return known;
    const tool = { name: key, calls: 0, failures: 0, durationMs: 0, firstId, failureId: null };
    this.#tools.set(key, tool);
    return tool;
  }

  #addMessage(
    mark: OutlineMark,
    event: SessionEventRow,
    { entry, data }: { readonly entry: EntryChange | undefined; readonly data: Data },
  ): void {
    if (entry?.id !== event.id || !entry.begin) return;
    mark.messages += 1;
    const { kind, subagentId } = entry.begin;
    if (kind !== 'userMessage' || subagentId !== null) return;
    const text = shortText(contentOf(kind, [data]).text, MAX_TEXT);
    // Beyond the bound, what happens counts to the last listed turn.
    this.#turn = this.#addEntry(event, { kind: 'turn', text, subagentId, parentId: null }) ?? this.#turn;
  }

  /** The subagent that an event belongs to. It is named after the call that started it, if that is in the same part. */
  #subagentOf(event: SessionEventRow, data: Data): OutlineEntry | undefined {
    const subagentId = subagentOf(data);
    if (subagentId === null) return undefined;
    const known = this.#subagents.get(subagentId);
    if (known) return known;
    const call = this.#calls.get(subagentId);
    const text = call ? call.purpose || call.name : shortText(data['accumulatedText'], MAX_TEXT);
    const names = { kind: 'subagent', text, subagentId, parentId: call?.parentId ?? null } as const;
    const entry = this.#addEntry(call ?? event, names);
    if (entry) this.#subagents.set(subagentId, entry);
    return entry;
  }

  #addEntry(
    { id, createdAt }: Happened,
    names: Pick<OutlineEntry, 'kind' | 'text' | 'subagentId' | 'parentId'>,
  ): OutlineEntry | undefined {
    if (this.#entries.length >= this.#size.entries) return undefined;
    const end = { lastId: id, endedAt: createdAt, toolCalls: 0, failures: 0, failureId: null };
    const entry: OutlineEntry = { eventId: id, createdAt, ...names, ...end };
    this.#entries.push(entry);
    return entry;
  }
}

type Happenings = Pick<OutlineMark, 'toolCalls' | 'failures' | 'failureId'>;

function addHappened(sums: Happenings, { toolCalls, failures, failureId }: Readonly<Happenings>): void {
  sums.toolCalls += toolCalls;
  sums.failures += failures;
  sums.failureId ??= failureId;
}

function addUsage(mark: OutlineMark, usage: object): void {
  const amounts: Data = { ...usage };
  for (const field of ['inputTokens', 'outputTokens', 'costUsd'] as const) mark[field] += amountOf(amounts[field]);
}

function extend(entry: OutlineEntry, { id, createdAt }: Happened, happened: Readonly<Happenings>): void {
  entry.lastId = id;
  entry.endedAt = createdAt;
  addHappened(entry, happened);
}

const MAX_NAME = 200;
const MAX_TEXT = 120;

function textOf(value: unknown): string {
  return typeof value === 'string' ? value : '';
}

/** The first characters of a text, in one line. A copy, because a part of a string keeps the whole in memory. */
function shortText(value: unknown, length: number): string {
  const text = textOf(value)
    .slice(0, 2 * length)
    .replaceAll(/\s+/g, ' ')
    .trim();
  return Buffer.from(text.slice(0, length).toWellFormed()).toString();
}

function amountOf(value: unknown): number {
  return typeof value === 'number' && value > 0 && value <= MAX_AMOUNT ? value : 0;
}
const MAX_AMOUNT = 1e12;

/** A field of the input of a tool that says what a subagent is for, with the beginning of its text. */
const PURPOSE = new RegExp(`"(${PURPOSES.join('|')})"\\s*:\\s*"((?:[^"\\\\]|\\\\.){1,240})`, 'g');
const MAX_END = 2000;

/**
 * What the input of a call says that it is for; empty when it does not. Only its ends are searched and nothing is parsed, because most calls
 * start no subagent.
 */
export function purposeOf(input: string): string {
  const ends = input.length > 2 * MAX_END ? input.slice(0, MAX_END) + input.slice(-MAX_END) : input;
  const found = [...ends.matchAll(PURPOSE)];
  const [, , text] = PURPOSES.map((name) => found.find(([, field]) => field === name)).find(Boolean) ?? [];
  if (text === undefined) return '';
  try {
    return shortText(JSON.parse(`"${text}"`), MAX_TEXT);
  } catch {
    return '';
  }
}
