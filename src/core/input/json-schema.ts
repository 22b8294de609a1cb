import { z } from 'zod';

/** JSON Schemas of inputs and documents, generated from their zod schemas: for OpenAPI, and for the input types of GraphQL. */

export type JsonSchema = z.core.JSONSchema.JSONSchema;

/** The JSON Schema of what clients send. */
export const inputJsonSchema = (schema: z.core.$ZodType): JsonSchema =>
  z.toJSONSchema(schema, { io: 'input', override: simplify });

/** The JSON Schema of what clients get. */
export const outputJsonSchema = (schema: z.core.$ZodType): JsonSchema =>
  z.toJSONSchema(schema, { io: 'output', reused: 'inline', override: simplify });

/** Formats whose pattern is redundant, and would make tools generate unrealistic examples. */
const KNOWN_FORMATS: ReadonlySet<unknown> = new Set(['uuid', 'date-time', 'date', 'email']);

/**
 * Removes redundant parts: the bounds of safe integers, patterns of known formats, and nested `null` types. Adds the
 * defaults of `withDefault`, and moves the description of a nullable value to the place where tools look for it.
 */
function simplify({ zodSchema, jsonSchema }: { zodSchema: z.core.$ZodTypes; jsonSchema: JsonSchema }): void {
  if (jsonSchema.minimum === Number.MIN_SAFE_INTEGER) delete jsonSchema.minimum;
  if (jsonSchema.maximum === Number.MAX_SAFE_INTEGER) delete jsonSchema.maximum;
  if (KNOWN_FORMATS.has(jsonSchema.format)) delete jsonSchema.pattern;
  // Examples of properties are for the whole document.
  delete jsonSchema.example;
  // zod leaves out the defaults of transformed values, because they are values of the output.
  const value = zodSchema._zod.def.type === 'pipe' ? z.globalRegistry.get(zodSchema)?.default : undefined;
  if (value !== undefined) jsonSchema.default = value;
  const [inner, nothing, ...others] = jsonSchema.anyOf ?? [];
  if (others.length > 0 || !isNull(nothing) || !isSchema(inner)) return;
  const { description, ...bare } = inner;
  if (description !== undefined && inner.$ref === undefined) {
    jsonSchema.description ??= description;
    jsonSchema.anyOf = [bare, { type: 'null' }];
  }
  if (inner.anyOf?.some(isNull)) jsonSchema.anyOf = inner.anyOf;
}

export const isSchema = (schema: unknown): schema is JsonSchema => typeof schema === 'object' && schema !== null;
const isNull = (schema: unknown) => isSchema(schema) && schema.type === 'null';

/** The object in a schema, which may be optional, nullable, transformed, or the item of a list. */
export function objectIn(schema: z.core.$ZodType | undefined): z.ZodObject | undefined {
  if (schema instanceof z.ZodObject) return schema;
  if (schema instanceof z.ZodArray) return objectIn(schema.element);
  if (schema instanceof z.ZodPipe) return objectIn(schema.in instanceof z.ZodTransform ? schema.out : schema.in);
  const isWrapper =
    schema instanceof z.ZodOptional ||
    schema instanceof z.ZodNullable ||
    schema instanceof z.ZodDefault ||
    schema instanceof z.ZodPrefault;
  return isWrapper ? objectIn(schema.unwrap()) : undefined;
}

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
