import { isObject } from '../../core/is-object.ts';
import { WorkSlices } from '../../core/work-budget.ts';
import { USAGE_FIELDS, type UsageField } from '../sessions/public.ts';

/** What events add to the totals of their session (`Session.usage`). */

/** An amount is null when nothing is added. */
export type AddedUsage = Readonly<Record<UsageField, number | null>>;

/** Larger amounts are ignored, so that no sum overflows. */
const MAX_AMOUNT = 1e12;

/** Data without these texts adds nothing, which saves reading most events. */
const MAY_ADD = /"(?:usage|toolResult)"/;

/** The sum of what the events report; undefined when they report nothing. */
export async function usageOf(documents: readonly string[]): Promise<AddedUsage | undefined> {
  const slices = new WorkSlices();
  const sums = new Map<UsageField, number>();
  const add = (field: UsageField, amount: unknown) => {
    if (typeof amount !== 'number' || !(amount >= 0 && amount <= MAX_AMOUNT)) return;
    const whole = field === 'costUsd' ? amount : Math.round(amount);
    sums.set(field, (sums.get(field) ?? 0) + whole);
  };
  for (const document of documents) {
    if (slices.isOver()) await slices.pause();
    if (!MAY_ADD.test(document)) continue;
    const { usage, toolResult } = JSON.parse(document) as { usage?: unknown; toolResult?: unknown };
    if (isObject(usage)) for (const field of USAGE_FIELDS) add(field, usage[field]);
    // A call ends once, but can report its progress many times.
    if (isObject(toolResult) && (toolResult['status'] === 'completed' || toolResult['status'] === 'error')) {
      add('toolCalls', 1);
      add('toolErrors', toolResult['status'] === 'error' ? 1 : 0);
    }
  }
  if (sums.size === 0) return undefined;
  return Object.fromEntries(USAGE_FIELDS.map((field) => [field, sums.get(field) ?? null])) as Record<
    UsageField,
    number | null
  >;
}
