import { SLUG_MAX_LENGTH } from './input.ts';

/** `Ünïcode & Söhne GmbH` → `unicode-sohne-gmbh`; undefined when the name has neither letters nor digits. */
export function slugFromName(name: string): string | undefined {
  const slug = name
    .normalize('NFKD')
    .replace(/\p{M}+/gu, '')
    .toLowerCase()
    .replace(/[^a-z0-9]+/g, '-')
    .replace(/^-|-$/g, '')
    .slice(0, SLUG_MAX_LENGTH)
    .replace(/-$/, '');
  return slug || undefined;
}

/** The first of `base`, `base-2`, `base-3`, … that is not taken, each within the bound. */
export function firstFreeSlug(base: string, taken: ReadonlySet<string>): string {
  for (let number = 1; ; number += 1) {
    const suffix = number === 1 ? '' : `-${number}`;
    const candidate = base.slice(0, SLUG_MAX_LENGTH - suffix.length).replace(/-$/, '') + suffix;
    if (!taken.has(candidate)) return candidate;
  }
}
