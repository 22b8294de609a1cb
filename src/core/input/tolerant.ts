import { z } from 'zod';

/**
 * Inputs that existing clients send in another form than the documented one. Each helper converts them to the documented form first, so that
 * its bounds and messages hold for both.
 */

/** Text that can also be a JSON number or boolean, which is taken as its text. */
export const textOrScalar = <Schema extends z.core.$ZodType<string>>(schema: Schema) =>
  z.preprocess(scalarAsText, schema).meta({ type: ['string', 'number', 'boolean'] });

/** The text of a JSON number or boolean. Every other value is returned as it is. */
export const scalarAsText = (value: unknown): unknown =>
  typeof value === 'boolean' || (typeof value === 'number' && Number.isFinite(value)) ? String(value) : value;

/** An id that can also be a JSON integer, which is taken as its digits. Larger integers have lost digits when they arrive, and are refused. */
export const idOrInteger = <Schema extends z.core.$ZodType<string>>(schema: Schema) =>
  z
    .preprocess((value) => (Number.isSafeInteger(value) ? String(value) : value), schema)
    .meta({ type: ['string', 'integer'] });

/** For text that clients also leave empty in place of leaving it out. */
export const textOrAbsent = (value: string): string | undefined => (value === '' ? undefined : value);

/** One of these texts in any case; the schema gets it as the list writes it. */
export const inAnyCase = <Schema extends z.core.$ZodType>(texts: readonly string[], schema: Schema) =>
  z.preprocess(
    (value) =>
      typeof value === 'string' ? (texts.find((text) => text.toLowerCase() === value.toLowerCase()) ?? value) : value,
    schema,
  );

/** The size of a page when reading. A larger one than the maximum means the maximum. */
export const pageLimit = ({ max, byDefault }: { max: number; byDefault: number }) =>
  z
    .preprocess(
      (value) => (typeof value === 'number' && value > max ? max : value),
      z.int().min(1).max(max).default(byDefault),
    )
    .meta({ description: `Maximum number of items on the page. A larger number means ${max}.` });

/** A list in a query: the parameter is repeated, or its values are joined by commas. A list of empty values is absent. */
export const queryList = <Schema extends z.core.$ZodType>(list: Schema) => z.preprocess(splitAtCommas, list);

function splitAtCommas(given: unknown): unknown {
  if (!Array.isArray(given)) return given;
  const parts = given.flatMap((value: unknown) =>
    typeof value === 'string' ? value.split(',').map((part) => part.trim()) : [value],
  );
  const values = parts.filter((part) => part !== '');
  return values.length > 0 ? values : undefined;
}
