import { z } from 'zod';

/**
 * Inputs that existing clients send in another form than the documented one. Each helper converts them to the documented form first, so that
 * its bounds and messages hold for both.
 */

/** Text that can also be a JSON number or boolean, which is taken as its text. */
export function textOrScalar<Schema extends z.core.$ZodType<string>>(schema: Schema) {
  return z.preprocess(scalarAsText, schema).meta({ type: ['string', 'number', 'boolean'] });
}

/** The text of a JSON number or boolean. Every other value is returned as it is. */
export function scalarAsText(value: unknown): unknown {
  return typeof value === 'boolean' || (typeof value === 'number' && Number.isFinite(value)) ? String(value) : value;
}

/** An id that can also be a JSON integer, which is taken as its digits. Larger integers have lost digits when they arrive, and are refused. */
export function idOrInteger<Schema extends z.core.$ZodType<string>>(schema: Schema) {
  return z
    .preprocess((value) => (Number.isSafeInteger(value) ? String(value) : value), schema)
    .meta({ type: ['string', 'integer'] });
}

/** For text that clients also leave empty in place of leaving it out. */
export function textOrAbsent(value: string): string | undefined {
  return value === '' ? undefined : value;
}

/** One of these texts in any case; the schema gets it as the list writes it. */
export function inAnyCase<Schema extends z.core.$ZodType>(texts: readonly string[], schema: Schema) {
  return z.preprocess(
    (value) =>
      typeof value === 'string' ? (texts.find((text) => text.toLowerCase() === value.toLowerCase()) ?? value) : value,
    schema,
  );
}

/** The size of a page when reading. A larger one than the maximum means the maximum. */
export function pageLimit({ max, byDefault }: { max: number; byDefault: number }) {
  return z
    .preprocess(
      (value) => (typeof value === 'number' && value > max ? max : value),
      z.int().min(1).max(max).default(byDefault),
    )
    .meta({ description: `Maximum number of items on the page. A larger number means ${max}.` });
}

/** A list in a query: the parameter is repeated, or its values are joined by commas. A list of empty values is absent. */
export function queryList<Schema extends z.core.$ZodType>(list: Schema) {
  return z.preprocess(splitAtCommas, list);
}

function splitAtCommas(given: unknown): unknown {
  if (!Array.isArray(given)) return given;
  const parts = given.flatMap((value: unknown) =>
    typeof value === 'string' ? value.split(',').map((part) => part.trim()) : [value],
  );
  const values = parts.filter((part) => part !== '');
  return values.length > 0 ? values : undefined;
}
