import { isNew } from '../../core/is-new.ts';
import { isObject } from '../../core/is-object.ts';
import { WORK, WorkSlices } from '../../core/work-budget.ts';
import { type AddedSum, USAGE_FIELDS, type UsageField } from '../sessions/public.ts';
import { isFailure, kindOf } from './event-kind.ts';
import { callInput } from './event-texts.ts';

/** What events add to the totals of their session (`Session.usage`), and to the sums of its organization. */

/** An amount is null when nothing is added. */
export type AddedUsage = Readonly<Record<UsageField, number | null>>;

export interface ReportedUsage {
  readonly total: AddedUsage;
  /** The same by model and tool. */
  readonly sums: readonly AddedSum[];
  /** Which totals of calls the agent has reported itself: they take the place of what is counted of all events. Absent when there are no calls. */
  readonly ownCalls?: OwnCalls;
}

export interface OwnCalls {
  readonly ownToolCalls: boolean;
  readonly ownToolErrors: boolean;
}

type Amounts = Partial<Record<UsageField, number>>;

/** Larger amounts are ignored, so that no sum overflows. */
const MAX_AMOUNT = 1e12;

/** Data without these texts adds nothing, which saves reading most events. A call that has ended can begin anew. */
const MAY_ADD = /"(?:usage|toolResult)"/;
const MAY_BEGIN = /"(?:toolName|input_json_delta)"/;

type Data = Readonly<Record<string, unknown>>;

/** What can be counted. What a file has counts on the day of its time. */
interface Counted {
  readonly eventData: string;
  readonly createdAt?: string | null;
}

/** The sum of what the events report; undefined when they report nothing. @param today for lines of a file: the sums of each day, until this one */
export async function usageOf(events: readonly Counted[], today?: string): Promise<ReportedUsage | undefined> {
  const slices = new WorkSlices();
  const reported = new Report(today);
  for (const { eventData: document, createdAt } of events) {
    if (slices.isOver()) await slices.pause();
    if (!MAY_ADD.test(document) && !(reported.hasEnded && MAY_BEGIN.test(document))) continue;
    reported.begin(createdAt);
    const data = JSON.parse(document) as Data;
    if (isObject(data['usage'])) reported.addUsage(data['usage']);
    // A call ends once, but can report its progress many times.
    const kind = kindOf(data);
    if (kind === 'result') reported.endCall(data, isFailure(data, kind));
    else if (kind === 'call') reported.addOpenCall(data, isFailure(data, kind));
  }
  return reported.result;
}

class Report {
  readonly #total: Amounts = {};
  /** The calls of these events, which count where the agent reports none. */
  readonly #counted: Amounts = {};
  readonly #sums = new Map<string, Pick<AddedSum, 'model' | 'tool' | 'day'> & { readonly amounts: Amounts }>();
  readonly #names = new Set<string>();
  readonly #today: string | undefined;
  #day: string | undefined;
  /** Calls that have ended or failed: a call can report both twice. */
  readonly #ended = new Set<unknown>();
  readonly #failed = new Set<unknown>();

  constructor(today: string | undefined) {
    this.#today = today;
  }

  /** Begins an event. The days beyond the bound count today. */
  begin(createdAt: string | null | undefined): void {
    const day = createdAt?.slice(0, 'yyyy-mm-dd'.length) ?? '';
    const isPast = this.#today !== undefined && day !== '' && day < this.#today;
    this.#day = isPast && this.#sums.size < WORK.summedDays ? day : this.#today;
  }

  /** The sums of a model or a tool. The names beyond the bound count without their name. */
  #sumOf(kind: 'model' | 'tool', name: string | undefined): Amounts {
    const named = name === undefined ? '' : `${kind} ${name}`;
    if (name !== undefined && this.#names.size > WORK.summedNames && !this.#names.has(named))
      return this.#sumOf(kind, undefined);
    if (name !== undefined) this.#names.add(named);
    const key = `${this.#day} ${named}`;
    const known = this.#sums.get(key);
    if (known) return known.amounts;
    const amounts: Amounts = {};
    const day = this.#day;
    this.#sums.set(key, { ...(name !== undefined && { [kind]: name }), ...(day !== undefined && { day }), amounts });
    return amounts;
  }

  addUsage(usage: Readonly<Record<string, unknown>>): void {
    const model = nameOf(usage['model']);
    const costs = isObject(usage['costByModel']) ? Object.entries(usage['costByModel']) : [];
    for (const field of USAGE_FIELDS) {
      const amount = amountOf(field, usage[field]);
      if (amount === undefined) continue;
      add(this.#total, field, amount);
      let rest = amount;
      for (const [other, given] of field === 'costUsd' ? costs : []) {
        const part = Math.min(amountOf('costUsd', given) ?? 0, rest);
        if (part > 0) add(this.#sumOf('model', nameOf(other)), field, part);
        rest -= part;
      }
      if (rest > 0 || rest === amount) add(this.#sumOf('model', model), field, rest);
    }
  }

  get hasEnded(): boolean {
    return this.#ended.size > 0;
  }

  /** Some agents use the ids of calls again. */
  addOpenCall(data: Data, hasFailed: boolean): void {
    if (callInput(data, false).whole !== undefined && this.#ended.delete(data['itemId']))
      this.#failed.delete(data['itemId']);
    if (hasFailed) this.#addCall(data, 0, countOf(this.#failed, data));
  }

  endCall(data: Data, hasFailed: boolean): void {
    this.#addCall(data, countOf(this.#ended, data), hasFailed ? countOf(this.#failed, data) : 0);
  }

  #addCall({ toolName }: Data, toolCalls: number, toolErrors: number): void {
    for (const amounts of [this.#counted, this.#sumOf('tool', nameOf(toolName))]) {
      add(amounts, 'toolCalls', toolCalls);
      add(amounts, 'toolErrors', toolErrors);
    }
  }

  get result(): ReportedUsage | undefined {
    const all = { ...this.#counted, ...this.#total };
    if (Object.keys(all).length === 0) return undefined;
    const hasCalls = all.toolCalls !== undefined || all.toolErrors !== undefined;
    this.#day = this.#today;
    const unnamed = hasCalls ? this.#sumOf('model', undefined) : {};
    for (const field of ['toolCalls', 'toolErrors'] as const) {
      const counted = this.#counted[field];
      // The sums of tools stay, and all sums together are what the agent reports.
      if (this.#total[field] !== undefined && counted) add(unnamed, field, -counted);
    }
    const entries = USAGE_FIELDS.map((field) => [field, all[field] ?? null]);
    // It has all fields.
    const total = Object.fromEntries(entries) as AddedUsage;
    const sums = [...this.#sums.values()].map(({ amounts, ...names }) => ({
      ...names,
      ...amounts,
      ...(amounts === unnamed && { takesBack: true as const }),
    }));
    const { toolCalls, toolErrors } = this.#total;
    const ownCalls = { ownToolCalls: toolCalls !== undefined, ownToolErrors: toolErrors !== undefined };
    return { total, sums, ...(hasCalls && { ownCalls }) };
  }
}

function amountOf(field: UsageField, amount: unknown): number | undefined {
  if (typeof amount !== 'number' || !(amount >= 0 && amount <= MAX_AMOUNT)) return undefined;
  return field === 'costUsd' ? amount : Math.round(amount);
}

/** 1 for a call that is not there yet, and for one without an id. */
const countOf = (calls: Set<unknown>, { itemId }: Data): 0 | 1 =>
  typeof itemId !== 'string' || itemId === '' || isNew(calls, itemId) ? 1 : 0;

function add(amounts: Amounts, field: UsageField, amount: number): void {
  amounts[field] = (amounts[field] ?? 0) + amount;
}

/** The name of a model or a tool, cut: sums are read in lists. */
const nameOf = (name: unknown): string | undefined =>
  typeof name === 'string' && name !== '' ? name.slice(0, MAX_NAME).toWellFormed() : undefined;
const MAX_NAME = 200;
