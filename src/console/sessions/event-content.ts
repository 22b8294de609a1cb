import { counted, durationOf } from '../parts/amounts.ts';

/** Reads JSON of any shape, and says totals in words. */

type Fields = Readonly<Record<string, unknown>>;

/** A JSON object or list; undefined for anything else. */
export function jsonOf(text: string): Fields | undefined {
  try {
    const value: unknown = JSON.parse(text);
    return typeof value === 'object' && value !== null ? (value as Fields) : undefined;
  } catch {
    return undefined;
  }
}

const COUNT = new Intl.NumberFormat(undefined, { maximumFractionDigits: 0 });
const COST = new Intl.NumberFormat(undefined, { style: 'currency', currency: 'USD', maximumFractionDigits: 4 });

export interface Amounts {
  readonly inputTokens?: unknown;
  readonly outputTokens?: unknown;
  readonly cachedInputTokens?: unknown;
  readonly cacheWriteTokens?: unknown;
  readonly costUsd?: unknown;
  readonly turns?: unknown;
  readonly toolCalls?: unknown;
  readonly toolErrors?: unknown;
  readonly durationMs?: unknown;
}

/** The totals in their order, each with its words. */
const TOTALS: readonly (readonly [name: keyof Amounts, inWords: (value: number) => string])[] = [
  ['costUsd', (cost) => COST.format(cost)],
  ['durationMs', (ms) => `${durationOf(ms)} agent time`],
  ['turns', (count) => counted(count, 'turn')],
  ['toolCalls', (count) => counted(count, 'tool call')],
  ['toolErrors', (count) => counted(count, 'failed tool call')],
  ['inputTokens', (count) => `${COUNT.format(count)} tokens in`],
  ['cachedInputTokens', (count) => `${COUNT.format(count)} cached`],
  ['outputTokens', (count) => `${COUNT.format(count)} tokens out`],
];

/** Totals in words. Zero says nothing that its absence does not. */
export const usageWords = (amounts: Amounts): readonly (readonly [name: keyof Amounts, words: string])[] =>
  TOTALS.flatMap(([name, inWords]) => {
    const value = amounts[name];
    return typeof value === 'number' && Number.isFinite(value) && value > 0 ? [[name, inWords(value)] as const] : [];
  });

export const fieldsOf = (value: unknown): Fields =>
  typeof value === 'object' && value !== null ? (value as Fields) : {};
