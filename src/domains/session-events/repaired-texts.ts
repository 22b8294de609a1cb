import { isExactNumber } from '../../core/text/exact-json.ts';

/** Replaces what PostgreSQL cannot store in texts: NUL characters and lone surrogates become U+FFFD. */

const REPLACEMENT = '\uFFFD';

export interface Repaired<Value> {
  readonly value: Value;
  /** How many texts were changed. */
  readonly repairedTexts: number;
}

/** @param value JSON; it is returned itself when nothing has to be repaired */
export function repairTexts<Value>(value: Value): Repaired<Value> {
  let repairedTexts = 0;
  const repair = (part: unknown): unknown => {
    if (typeof part === 'string') {
      if (part.isWellFormed() && !part.includes('\0')) return part;
      repairedTexts += 1;
      return part.toWellFormed().replaceAll('\0', REPLACEMENT);
    }
    if (typeof part !== 'object' || part === null || isExactNumber(part)) return part;
    if (Array.isArray(part)) return part.map(repair);
    return Object.fromEntries(Object.entries(part).map(([name, item]) => [name, repair(item)]));
  };
  const repaired = repair(value);
  // Only texts have changed.
  return { value: repairedTexts === 0 ? value : (repaired as Value), repairedTexts };
}
