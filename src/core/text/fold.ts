// The letters of living Latin alphabets that Unicode does not decompose, in lower case.
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
 * Lower case without accents, as names are made of labels: `Ünïcode Ærø` → `unicode aero`. Compatibility forms count as the character they
 * stand for (`²` as `2`, a full-width `Ａ` as `a`); letters of other scripts stay as they are.
 */
export function fold(text: string): string {
  // Marks go before lower-casing: 'İ' alone would become an 'i' with a mark, and '™' decomposes to capitals.
  const lowerCase = text
    .normalize('NFKD')
    .replace(/\p{M}+/gu, '')
    .toLowerCase();
  return lowerCase.replace(/\P{ASCII}/gu, (letter) => LATIN_LETTERS[letter] ?? letter);
}
