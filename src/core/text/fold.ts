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
