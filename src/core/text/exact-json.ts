/** JSON whose numbers are never changed in silence: JavaScript numbers have 53 bits, and JSON numbers any number of digits. */

/** A number of JSON that a JavaScript number cannot represent. `JSON.stringify` writes it as it came. */
export interface ExactNumber {
  readonly rawJSON: string;
}

// Part of ECMAScript 2026, which Node.js 24 has, but not yet of the types of the compiler.
const { rawJSON, isRawJSON, parse } = JSON as unknown as {
  readonly rawJSON: (text: string) => ExactNumber;
  readonly isRawJSON: (value: unknown) => value is ExactNumber;
  readonly parse: (
    text: string,
    reviver: (key: string, value: unknown, context: { readonly source?: string }) => unknown,
  ) => unknown;
};

export const isExactNumber = isRawJSON;

/** Finds texts that may have a number of more than 15 digits or with an exponent, because looking at each number is slow. */
const MAY_HAVE_LONG_NUMBERS = /[:,[]\s*-?(?:[\d.]{16}|[\d.]+[eE])/;

/** `JSON.parse` that returns an `ExactNumber` for each number that would be changed. @throws SyntaxError for malformed JSON. */
export function parseExactJson(text: string): unknown {
  if (!MAY_HAVE_LONG_NUMBERS.test(text)) return JSON.parse(text);
  return parse(text, (_, value, { source }) =>
    typeof value === 'number' && source !== undefined ? exactNumber(source) : value,
  );
}

/** The value of the text of a JSON number. */
export function exactNumber(text: string): number | ExactNumber {
  const value = Number(text);
  return Number.isFinite(value) && digitsOf(text) === digitsOf(String(value)) ? value : rawJSON(text);
}

const NUMBER = /^-?0*(?<whole>\d*)(?:\.(?<fraction>\d*))?(?:e(?<exponent>[+-]?\d+))?$/i;

/** The significant digits of a number and their position, which do not depend on its notation. */
function digitsOf(text: string): string {
  const { whole = '', fraction = '', exponent = '0' } = NUMBER.exec(text)?.groups ?? {};
  const digits = `${whole}${fraction}`;
  const trimmed = digits.replace(/0+$/, '');
  const position = Number(exponent) - fraction.length + digits.length - trimmed.length;
  const significant = trimmed.replace(/^0+/, '');
  return significant === '' ? '0' : `${significant}e${position}`;
}
