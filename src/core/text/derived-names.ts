// Lowercase letters of current Latin alphabets that Unicode does not decompose.
const LATIN_LETTERS: Readonly<Record<string, string>> = {
  ß: 'ss',
  æ: 'ae',
  œ: 'oe',
  þ: 'th',
  ø: 'o',
  đ: 'd',
  ð: 'd',
  ł: 'l',
  ħ: 'h',
  ı: 'i',
  ŋ: 'n',
  ŧ: 't',
  ə: 'e',
  ɛ: 'e',
  ɔ: 'o',
  ɓ: 'b',
  ɖ: 'd',
  ɗ: 'd',
  ƒ: 'f',
  ƙ: 'k',
  ɲ: 'n',
  ƴ: 'y',
};

/**
 * Lower case without accents, to derive names from labels: `Ünïcode Ærø` → `unicode aero`. Compatibility forms become
 * the plain character (`²` becomes `2`, a full-width `Ａ` becomes `a`); letters of other scripts stay unchanged.
 */
export function fold(text: string): string {
  // Remove marks before lowercasing: 'İ' would become an 'i' with a mark, and '™' decomposes to capitals.
  const lowerCase = text
    .normalize('NFKD')
    .replace(/\p{M}+/gu, '')
    .toLowerCase();
  return lowerCase.replace(/\P{ASCII}/gu, (letter) => LATIN_LETTERS[letter] ?? letter);
}

/** How numbers distinguish names: `name_2`, `slug-2`. */
interface Numbering {
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
