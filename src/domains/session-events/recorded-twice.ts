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
  added({ total: reported, sums }: ReportedUsage): ReportedUsage {
    const counted = { command: { ...this.#recorded.command }, transcript: { ...this.#recorded.transcript } };
    const left: Amounts = {};
    for (const field of USAGE_FIELDS) {
      const amount = reported[field];
      if (amount === null) continue;
      const before = larger(counted, field);
      counted[this.way][field] = (counted[this.way][field] ?? 0) + amount;
      left[field] = larger(counted, field) - before;
    }
    this.#recorded = { ...this.#recorded, ...counted };
    const own = USAGE_FIELDS.map((field) => [field, left[field] ?? null]);
    // It has all fields.
    const total = Object.fromEntries(own) as ReportedUsage['total'];
    return {
      total,
      sums: sums.map((sum) => within(sum, left)).filter((sum) => USAGE_FIELDS.some((name) => sum[name])),
    };
  }

  toJson(): string {
    this.memory.set(NAME, this.#recorded);
    return this.memory.toJson();
  }
}

const larger = ({ command, transcript }: Record<Way, Amounts>, field: UsageField) =>
  Math.max(command[field] ?? 0, transcript[field] ?? 0);

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
