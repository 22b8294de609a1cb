import { requireAccess } from '../../core/access.ts';
import type { LoadBatch } from '../../core/graphql/batches.ts';
import type { SessionId } from '../../core/ids.ts';
import { isObject } from '../../core/is-object.ts';
import type { OperationContext } from '../../core/operation.ts';
import { WORK, WorkSlices } from '../../core/work-budget.ts';
import { READ_SESSIONS } from '../sessions/public.ts';
import { MAX_PAGE } from './input.ts';
import { type SessionEventRow, type SessionEventSlice, slicesOf } from './queries.ts';

/**
 * What happens in a session, part by part: sums of consecutive events for a plot, the turns and subagents, and the tools. A part is one page of
 * events, so that its time and memory have the bounds of a page.
 */

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
}

export interface OutlineTool {
  readonly name: string;
  calls: number;
  failures: number;
  durationMs: number;
  readonly firstId: number;
  failureId: number | null;
}

export interface SessionOutline {
  readonly marks: readonly OutlineMark[];
  readonly entries: readonly OutlineEntry[];
  readonly tools: readonly OutlineTool[];
  readonly models: readonly string[];
  readonly lastId: number;
  readonly hasMore: boolean;
}

/** The part of each session after an event. */
export function outlinesOf(context: OperationContext, after: number): LoadBatch<SessionId, SessionOutline> {
  requireAccess(context.actor, READ_SESSIONS);
  const slices = slicesOf(context, {}, { after, limit: MAX_PAGE }, ['id', 'createdAt', 'eventData']);
  return async (sessionIds) => {
    const outlines = new Map<SessionId, SessionOutline>();
    for (const [id, slice] of await slices(sessionIds)) outlines.set(id, await outlineOf(slice, after));
    return outlines;
  };
}

async function outlineOf({ events, isFull }: SessionEventSlice, after: number): Promise<SessionOutline> {
  const work = new WorkSlices();
  const outline = new Outline(Math.max(1, Math.ceil(events.length / WORK.outlineMarks)));
  for (const event of events) {
    if (work.isOver()) await work.pause();
    outline.add(event);
  }
  return { ...outline.parts, lastId: events.at(-1)?.id ?? after, hasMore: isFull };
}

type Data = Readonly<Record<string, unknown>>;

const SPEAKING = new Set(['user', 'assistant', 'agent', 'model']);
const FAILURE = /error|fail/i;
/** Fields of the input of a tool that say what a subagent is for. */
const PURPOSES = ['description', 'title', 'name', 'prompt', 'message', 'task'];

interface Call {
  readonly event: SessionEventRow;
  readonly name: string;
  readonly input: unknown;
}

class Outline {
  readonly #eventsPerMark: number;
  readonly #marks: OutlineMark[] = [];
  readonly #entries: OutlineEntry[] = [];
  readonly #tools = new Map<string, OutlineTool>();
  readonly #models = new Set<string>();
  readonly #calls = new Map<string, Call>();
  readonly #messages = new Set<string>();
  readonly #subagents = new Set<string>();
  #count = 0;

  constructor(eventsPerMark: number) {
    this.#eventsPerMark = eventsPerMark;
  }

  get parts(): Pick<SessionOutline, 'marks' | 'entries' | 'tools' | 'models'> {
    const entries = this.#entries.toSorted((one, other) => one.eventId - other.eventId);
    return { marks: this.#marks, entries, tools: [...this.#tools.values()], models: [...this.#models] };
  }

  add(event: SessionEventRow): void {
    const data = objectOf(JSON.parse(event.eventData));
    const mark = this.#markOf(event);
    const result = objectOf(data['toolResult']);
    const isFailure = result['status'] === 'error' || FAILURE.test(nameOf(data));
    if (isFailure) {
      mark.failures += 1;
      mark.failureId ??= event.id;
    }
    this.#addUsage(mark, objectOf(data['usage']));
    this.#addSubagent(event, data);
    if (isTool(data)) this.#addTool(mark, event, data, result);
    else if (isMessage(data) && !isFailure) this.#addMessage(mark, event, data);
  }

  #markOf({ id, createdAt }: SessionEventRow): OutlineMark {
    const last = this.#marks.at(-1);
    if (last && this.#count++ % this.#eventsPerMark !== 0) return last;
    const sums = { messages: 0, toolCalls: 0, failures: 0, inputTokens: 0, outputTokens: 0, costUsd: 0 };
    const mark: OutlineMark = { firstId: id, createdAt, failureId: null, ...sums };
    this.#count = 1;
    this.#marks.push(mark);
    return mark;
  }

  #addUsage(mark: OutlineMark, usage: Data): void {
    for (const field of ['inputTokens', 'outputTokens', 'costUsd'] as const) mark[field] += amountOf(usage[field]);
    const model = shortText(usage['model'], MAX_NAME);
    if (model !== '' && this.#models.size < WORK.outlineNames) this.#models.add(model);
  }

  /** A call ends once, but can report its progress many times. */
  #addTool(mark: OutlineMark, event: SessionEventRow, data: Data, { status }: Data): void {
    const itemId = textOf(data['itemId']);
    const began = this.#calls.get(itemId);
    const name = shortText(data['toolName'], MAX_NAME) || (began?.name ?? '');
    if (status !== 'completed' && status !== 'error') {
      const input = data['accumulatedText'] ?? began?.input;
      if (itemId !== '') this.#calls.set(itemId, { event: began?.event ?? event, name, input });
      return;
    }
    mark.toolCalls += 1;
    const tool = this.#toolOf(name, began?.event ?? event);
    tool.calls += 1;
    if (began) tool.durationMs += Math.max(0, Date.parse(event.createdAt) - Date.parse(began.event.createdAt));
    if (status !== 'error') return;
    tool.failures += 1;
    tool.failureId ??= event.id;
  }

  /** The names beyond the bound count without their name. */
  #toolOf(name: string, { id }: SessionEventRow): OutlineTool {
    const key = this.#tools.has(name) || this.#tools.size < WORK.outlineNames ? name : '';
    const known = this.#tools.get(key);
    if (known) return known;
    const tool = { name: key, calls: 0, failures: 0, durationMs: 0, firstId: id, failureId: null };
    this.#tools.set(key, tool);
    return tool;
  }

  #addMessage(mark: OutlineMark, event: SessionEventRow, data: Data): void {
    const key = `${event.messageId ?? ''} ${textOf(data['itemId'])} ${amountOf(data['index'])}`;
    if (key !== '  0' && this.#messages.has(key)) return;
    this.#messages.add(key);
    mark.messages += 1;
    const text = shortText(data['accumulatedText'], MAX_TEXT);
    if (data['source'] === 'user' && !isDelegated(objectOf(data['scope']))) this.#addEntry(event, 'turn', text);
  }

  /** A subagent is named after the call that started it, if that is in the same part. */
  #addSubagent(event: SessionEventRow, data: Data): void {
    const scope = objectOf(data['scope']);
    const parent = textOf(scope['parentToolUseId']) || textOf(scope['taskId']);
    if (!isDelegated(scope) || this.#subagents.has(parent) || this.#subagents.size >= WORK.outlineEntries) return;
    this.#subagents.add(parent);
    const call = this.#calls.get(parent);
    const text = call ? purposeOf(call) : shortText(data['accumulatedText'], MAX_TEXT);
    this.#addEntry(call?.event ?? event, 'subagent', text);
  }

  #addEntry({ id, createdAt }: SessionEventRow, kind: OutlineEntry['kind'], text: string): void {
    if (this.#entries.length < WORK.outlineEntries) this.#entries.push({ eventId: id, createdAt, kind, text });
  }
}

const MAX_NAME = 200;
const MAX_TEXT = 120;

function objectOf(value: unknown): Data {
  return isObject(value) ? value : {};
}

function textOf(value: unknown): string {
  return typeof value === 'string' ? value : '';
}

/** The first characters of a text, in one line. */
function shortText(value: unknown, length: number): string {
  return textOf(value)
    .slice(0, 2 * length)
    .replaceAll(/\s+/g, ' ')
    .trim()
    .slice(0, length)
    .toWellFormed();
}

function amountOf(value: unknown): number {
  return typeof value === 'number' && value > 0 && value <= MAX_AMOUNT ? value : 0;
}
const MAX_AMOUNT = 1e12;

/** The name of the provider's event, or else the type. */
function nameOf(data: Data): string {
  return textOf(objectOf(data['event'])['event']) || textOf(data['type']);
}

function isTool(data: Data): boolean {
  return textOf(data['toolName']) !== '' || isObject(data['toolResult']) || data['deltaType'] === 'input_json_delta';
}

/** Thinking is no message. */
function isMessage(data: Data): boolean {
  if (data['responsePhase'] === 'commentary') return false;
  return (
    data['deltaType'] === 'text_delta' ||
    (textOf(data['accumulatedText']) !== '' && SPEAKING.has(textOf(data['source'])))
  );
}

function isDelegated({ kind }: Data): boolean {
  return kind === 'subagent' || kind === 'background';
}

function purposeOf({ name, input }: Call): string {
  try {
    const fields = objectOf(JSON.parse(textOf(input)));
    return (
      shortText(
        PURPOSES.map((field) => fields[field]).find((value) => textOf(value) !== ''),
        MAX_TEXT,
      ) || name
    );
  } catch {
    return name;
  }
}
