import { z } from 'zod';

/** JSON Schemas of inputs and documents, generated from their zod schemas: for OpenAPI, and for the input types of GraphQL. */

export type JsonSchema = z.core.JSONSchema.JSONSchema;

/** The JSON Schema of what clients send. */
export function inputJsonSchema(schema: z.core.$ZodType): JsonSchema {
  return z.toJSONSchema(schema, { io: 'input', override: simplify });
}

/** The JSON Schema of what clients get. */
export function outputJsonSchema(schema: z.core.$ZodType): JsonSchema {
  return z.toJSONSchema(schema, { io: 'output', reused: 'inline', override: simplify });
}

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
