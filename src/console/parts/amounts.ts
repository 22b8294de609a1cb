/** Amounts as people read them, in English like all words of the console. */

const COUNT = new Intl.NumberFormat(undefined, { maximumFractionDigits: 0 });
const SHORT = new Intl.NumberFormat('en', { notation: 'compact', maximumSignificantDigits: 3 });
const SHORT_COST = new Intl.NumberFormat('en', {
  notation: 'compact',
  maximumSignificantDigits: 3,
  style: 'currency',
  currency: 'USD',
});
const MILLION = 1e6;
const COST = new Intl.NumberFormat('en', { style: 'currency', currency: 'USD', maximumFractionDigits: 2 });

/** What nobody has reported is not 0. */
export const countOf = (amount: number | null | undefined): string => (amount == null ? '–' : COUNT.format(amount));
/** Such as "1.69M". */
export const shortCount = (amount: number | null | undefined): string => (amount == null ? '–' : SHORT.format(amount));
/** For an axis: there is no half of one. */
export const countTick = (count: number): string => (Number.isInteger(count) ? SHORT.format(count) : '');
export const costOf = (amount: number | null | undefined): string =>
  amount == null ? '–' : amount < MILLION ? COST.format(amount) : shortCost(amount);
/** For an axis, such as "$4.5K". */
export const shortCost = (amount: number): string => (amount < 1000 ? COST : SHORT_COST).format(amount);

export const counted = (count: number, noun: string): string =>
  `${COUNT.format(count)} ${noun}${count === 1 ? '' : 's'}`;

/** A duration in its two largest units. */
export function durationOf(ms: number): string {
  const seconds = ms / 1000;
  if (seconds < 60) return `${seconds < 10 ? Math.round(seconds * 10) / 10 : Math.round(seconds)} s`;
  const minutes = Math.floor(seconds / 60);
  if (minutes < 60) return `${minutes} min ${Math.floor(seconds % 60)} s`;
  const hours = Math.floor(minutes / 60);
  return hours < 48 ? `${hours} h ${minutes % 60} min` : `${Math.floor(hours / 24)} d ${hours % 24} h`;
}

/** Percents of a total that add up to at most 100: what rounding down leaves goes to the largest remainders. */
export function wholePercents(counts: readonly number[], total: number): number[] {
  const shares = counts.map((count) => (total > 0 ? (100 * count) / total : 0));
  const left = Math.round(shares.reduce((sum, share) => sum + (share % 1), 0));
  const byRemainder = [...shares.keys()].toSorted((a, b) => ((shares[b] ?? 0) % 1) - ((shares[a] ?? 0) % 1));
  const ups = new Set(byRemainder.slice(0, left));
  return shares.map((share, index) => Math.floor(share) + (ups.has(index) ? 1 : 0));
}
