/** How numbers distinguish names: `name_2`, `slug-2`. */
export interface Numbering {
  readonly separator: '_' | '-';
  readonly maxLength: number;
}

/**
 * The first of `base`, `base_2`, `base_3`, … that is not taken. A long base is shortened for the number, and never ends with the separator.
 * Tries at most one candidate more than there are taken names.
 */
export function firstFree(base: string, taken: ReadonlySet<string>, { separator, maxLength }: Numbering): string {
  for (let number = 1; ; number += 1) {
    const suffix = number === 1 ? '' : `${separator}${number}`;
    const candidate = cut(base, separator, maxLength - suffix.length) + suffix;
    if (!taken.has(candidate)) return candidate;
  }
}

/** The first `length` characters, without trailing separators. */
export function cut(text: string, separator: Numbering['separator'], length: number): string {
  let end = Math.min(text.length, length);
  while (text[end - 1] === separator) end -= 1;
  return text.slice(0, end);
}
