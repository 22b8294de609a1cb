import { isExactNumber } from '../../core/text/exact-json.ts';

/** Replaces what PostgreSQL cannot store in texts and names: NUL characters and lone surrogates become U+FFFD. */

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
    const properties = new Map<string, unknown>();
    for (const [name, item] of Object.entries(part)) {
      let repairedName = String(repair(name));
      while (properties.has(repairedName)) repairedName += REPLACEMENT;
      properties.set(repairedName, repair(item));
    }
    return Object.fromEntries(properties);
  };
  const repaired = repair(value);
  // Only texts have changed.
  return { value: repairedTexts === 0 ? value : (repaired as Value), repairedTexts };
}
