import { type TokenUsage, amountOf, objectOf } from './format.ts';
import type { FormatMemory } from './format-memory.ts';

/** Counts what messages have reported, so that a total that follows adds only the rest. */

type Amounts = TokenUsage & { readonly costUsd?: number | undefined };

const FIELDS = ['inputTokens', 'outputTokens', 'cachedInputTokens', 'cacheWriteTokens', 'costUsd'] as const;

const mapped = (amount: (field: (typeof FIELDS)[number]) => number | undefined): Amounts =>
  Object.fromEntries(FIELDS.map((field) => [field, amount(field)]));

const sumOf = (a: unknown, b: unknown) =>
  amountOf(a) === undefined && amountOf(b) === undefined ? undefined : (amountOf(a) ?? 0) + (amountOf(b) ?? 0);

/** Adds to what was counted since the last total. */
export function countTokens(memory: FormatMemory, added: Amounts, name = 'counted'): void {
  const counted = objectOf(memory.get(name));
  memory.set(
    name,
    mapped((field) => sumOf(counted[field], added[field])),
  );
}

/** What a total has beyond what was counted; the count begins anew. */
export function remainingTokens(memory: FormatMemory, total: Amounts, name = 'counted'): Amounts {
  const counted = objectOf(memory.get(name));
  memory.set(name, undefined);
  return mapped((field) => {
    const amount = total[field];
    return amount === undefined ? undefined : Math.max(0, amount - (amountOf(counted[field]) ?? 0));
  });
}

/** What a message reports, beyond what its earlier lines have reported: each line repeats the usage of the message. */
export function addedByMessage(memory: FormatMemory, id: string, reported: Amounts): Amounts {
  const known = objectOf(memory.recall('usage', id));
  const most = mapped((field) => {
    const [before, now] = [amountOf(known[field]), reported[field]];
    return before === undefined ? now : Math.max(before, now ?? 0);
  });
  memory.remember('usage', id, most);
  return mapped((field) => {
    const [before, now] = [amountOf(known[field]) ?? 0, most[field]];
    return now === undefined || reported[field] === undefined ? undefined : now - before;
  });
}

/** What a cumulative total adds to the one that was reported before; a smaller one is that of a new run. */
export const increaseOf = (before: Amounts, total: Amounts): Amounts =>
  mapped((field) => {
    const [last, now] = [before[field] ?? 0, total[field]];
    return now === undefined ? undefined : now >= last ? now - last : now;
  });
