import { type AddedSum, USAGE_FIELDS, type UsageField } from '../sessions/public.ts';
import type { FormatMemory } from './formats/format-memory.ts';
import type { StoredMemory } from './read-memory.ts';
import type { ReportedUsage } from './totals.ts';

/**
 * A run that is recorded by its command and by the transcript of its agent. The conversation is that of the transcript as far as it is there: the
 * events of the command up to its last line are superseded. Both report totals, of which the larger count.
 */

export type Way = 'command' | 'transcript';
type Amounts = Partial<Record<UsageField, number>>;

/** What is known of both ways, in the memory of the lines of the command. */
interface Recorded extends Record<Way, Amounts> {
  /** The first event of the command. */
  readonly from: number;
  /** The time of the last line of the transcript. */
  readonly until?: string;
  /** What counts on a day without a model, because the command names none. */
  readonly unnamed?: Readonly<Record<string, Amounts>>;
}

const NAME = 'recorded';

const recordedIn = (memory: FormatMemory) => memory.get(NAME) as Recorded | undefined;

export class RecordedTwice {
  readonly way: Way;
  readonly memory: FormatMemory;
  #recorded: Recorded;

  private constructor(way: Way, memory: FormatMemory, recorded: Recorded) {
    this.way = way;
    this.memory = memory;
    this.#recorded = recorded;
  }

  /** Undefined as long as a session has no lines of a command. @param isResumed whether the run goes on with what the transcript has */
  static of(way: Way, { ofCommand, totals, lastId }: StoredMemory, memory: FormatMemory, isResumed: boolean) {
    if (!ofCommand && way === 'transcript') return undefined;
    const stored = ofCommand ?? memory;
    const transcript: Amounts = {};
    for (const field of USAGE_FIELDS) if (totals?.[field] != null) transcript[field] = totals[field];
    const begun = { command: isResumed ? { ...transcript } : {}, transcript, from: lastId + 1 };
    return new RecordedTwice(way, stored, recordedIn(stored) ?? begun);
  }

  get from(): number {
    return this.#recorded.from;
  }

  get until(): string | null {
    return this.#recorded.until ?? null;
  }

  /** Notes the time of the last line of the transcript. */
  extendTo(latest: string | null): void {
    if (this.way === 'transcript' && latest !== null && latest > (this.until ?? ''))
      this.#recorded = { ...this.#recorded, until: latest };
  }

  /** What usage adds beyond what the other way has reported already. */
  added({ total: reported, sums }: ReportedUsage, today: string): ReportedUsage {
    const counted = { command: { ...this.#recorded.command }, transcript: { ...this.#recorded.transcript } };
    const left: Amounts = {};
    for (const field of USAGE_FIELDS) {
      const amount = reported[field];
      if (amount === null) continue;
      const before = larger(counted, field);
      counted[this.way][field] = (counted[this.way][field] ?? 0) + amount;
      left[field] = larger(counted, field) - before;
    }
    const own = USAGE_FIELDS.map((field) => [field, left[field] ?? null]);
    const unnamed = { ...this.#recorded.unnamed };
    const counting = new Map<string, AddedSum>();
    for (const sum of sums)
      for (const each of this.#counting(sum, left, (unnamed[sum.day ?? today] ??= {}))) {
        const key = JSON.stringify([each.model, each.tool, each.day]);
        counting.set(key, plus(counting.get(key), each));
      }
    this.#recorded = { ...this.#recorded, ...counted, unnamed: Object.fromEntries(latestOf(unnamed)) };
    return {
      // It has all fields.
      total: Object.fromEntries(own) as ReportedUsage['total'],
      sums: [...counting.values()].filter((sum) => USAGE_FIELDS.some((name) => sum[name])),
    };
  }

  /** A sum with no more than what is left. What the command has reported without a model moves to that of the transcript. */
  #counting(sum: AddedSum, left: Amounts, unnamed: Amounts): readonly AddedSum[] {
    const part = within(sum, left);
    if (sum.tool !== undefined || (sum.model === undefined && this.way === 'transcript')) return [part];
    for (const field of sum.model === undefined ? USAGE_FIELDS : [])
      unnamed[field] = (unnamed[field] ?? 0) + (part[field] ?? 0);
    if (this.way === 'command') return [part];
    const [moved, away]: [Amounts, Amounts] = [{}, {}];
    for (const field of USAGE_FIELDS) {
      const amount = Math.min((sum[field] ?? 0) - (part[field] ?? 0), unnamed[field] ?? 0);
      if (amount <= 0) continue;
      unnamed[field] = (unnamed[field] ?? 0) - amount;
      moved[field] = amount;
      away[field] = -amount;
    }
    const { day } = sum;
    return [plus(part, moved), day === undefined ? away : { ...away, day }];
  }

  toJson(): string {
    this.memory.set(NAME, this.#recorded);
    return this.memory.toJson();
  }
}

const larger = ({ command, transcript }: Record<Way, Amounts>, field: UsageField) =>
  Math.max(command[field] ?? 0, transcript[field] ?? 0);

const plus = (one: AddedSum = {}, other: AddedSum): AddedSum => ({
  ...one,
  ...other,
  ...Object.fromEntries(
    USAGE_FIELDS.filter((field) => one[field] != null || other[field] != null).map((field) => [
      field,
      (one[field] ?? 0) + (other[field] ?? 0),
    ]),
  ),
});

/** The last days on which something counts without a model. */
const latestOf = (unnamed: Readonly<Record<string, Amounts>>) =>
  Object.entries(unnamed)
    .filter(([, amounts]) => USAGE_FIELDS.some((field) => amounts[field]))
    .toSorted(([one], [other]) => (one < other ? 1 : -1))
    .slice(0, MAX_DAYS);
const MAX_DAYS = 7;

/** A sum of a model or tool with no more than what is left, which it takes away. */
function within(sum: AddedSum, left: Amounts): AddedSum {
  const parts = USAGE_FIELDS.flatMap((field) => {
    const amount = sum[field];
    if (amount == null) return [];
    const part = Math.min(amount, left[field] ?? 0);
    left[field] = (left[field] ?? 0) - part;
    return [[field, part] as const];
  });
  return { ...sum, ...Object.fromEntries(parts) };
}
