import { type JsonSchema, isSchema } from './json-schema.ts';

const INT_32 = { minimum: -(2 ** 31), maximum: 2 ** 31 - 1 };

/** The bounds of a value as a sentence, such as `1 to 500 characters.`; empty if it has none. OpenAPI has them as keywords. */
export function boundsInWords(schema: JsonSchema): string {
  const bounds = rangeOf(schema);
  const items = isSchema(schema.items) ? rangeOf(schema.items) : '';
  const words = [bounds, items && `each of ${items}`].filter(Boolean).join(', ');
  return words && `${words.charAt(0).toUpperCase()}${words.slice(1)}.`;
}

function rangeOf(schema: JsonSchema): string {
  const { type, minLength, maxLength, minItems, maxItems, minimum, maximum } = schema;
  if (type === 'string') return range(minLength, maxLength, 'character');
  if (type === 'array') return range(minItems, maxItems, 'item');
  // The bounds of Int itself say nothing.
  return range(minimum === INT_32.minimum ? undefined : minimum, maximum === INT_32.maximum ? undefined : maximum);
}

function range(min: number | undefined, max: number | undefined, unit?: string): string {
  const counted = (count: number) =>
    `${count.toLocaleString('en-US')}${unit ? ` ${unit}${count === 1 ? '' : 's'}` : ''}`;
  // Nothing is shorter than 0 characters.
  const least = unit && min === 0 ? undefined : min;
  if (max === undefined) return least === undefined ? '' : `at least ${counted(least)}`;
  if (least === undefined) return `at most ${counted(max)}`;
  return least === max ? `exactly ${counted(max)}` : `${least.toLocaleString('en-US')} to ${counted(max)}`;
}
