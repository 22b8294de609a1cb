import { fold } from '../../core/text/fold.ts';
import { firstFree } from '../../core/text/numbered-names.ts';
import { SLUG_MAX_LENGTH } from './input.ts';

/** Generates a slug: `Ünïcode & Großhandel` gives `unicode-grosshandel`. Undefined when the name has neither letters nor digits. */
export function slugFromName(name: string): string | undefined {
  const slug = fold(name)
    .replace(/[^a-z0-9]+/g, '-')
    .replace(/^-|-$/g, '')
    .slice(0, SLUG_MAX_LENGTH)
    .replace(/-$/, '');
  return slug || undefined;
}

/** The first of `base`, `base-2`, `base-3`, … that is not taken. A long base is shortened to make room for the number. */
export function firstFreeSlug(base: string, taken: ReadonlySet<string>): string {
  return firstFree(base, taken, { separator: '-', maxLength: SLUG_MAX_LENGTH });
}
