import { z } from 'zod';
import type { AnyRoute } from '../../core/http/route.ts';

/** JSON Schemas of the inputs and outputs of routes, generated from their zod schemas. */

export type JsonSchema = z.core.JSONSchema.JSONSchema;

export function inputJsonSchema(route: AnyRoute): JsonSchema {
  return z.toJSONSchema(route.input, { io: 'input', override: simplify });
}

export function outputJsonSchema(output: z.ZodType): JsonSchema {
  return z.toJSONSchema(output, { io: 'output', reused: 'inline', override: simplify });
}

/** Formats whose pattern is redundant, and would make tools generate unrealistic examples. */
const KNOWN_FORMATS: ReadonlySet<unknown> = new Set(['uuid', 'date-time', 'email']);

/** Removes redundant parts: the bounds of safe integers, patterns of known formats, and nested `null` types. */
function simplify({ jsonSchema }: { jsonSchema: JsonSchema }): void {
  if (jsonSchema.minimum === Number.MIN_SAFE_INTEGER) delete jsonSchema.minimum;
  if (jsonSchema.maximum === Number.MAX_SAFE_INTEGER) delete jsonSchema.maximum;
  if (KNOWN_FORMATS.has(jsonSchema.format)) delete jsonSchema.pattern;
  const [inner, nothing, ...others] = jsonSchema.anyOf ?? [];
  if (others.length === 0 && isNull(nothing) && isObject(inner) && inner.anyOf?.some(isNull))
    jsonSchema.anyOf = inner.anyOf;
}

const isObject = (schema: unknown): schema is JsonSchema => typeof schema === 'object' && schema !== null;
const isNull = (schema: unknown) => isObject(schema) && schema.type === 'null';

/** Moves the definitions of a schema to the shared components and adapts its references. */
export function withSharedDefinitions(
  { $defs = {}, ...schema }: JsonSchema,
  schemas: Record<string, unknown>,
): JsonSchema {
  const shared: { schema: JsonSchema; $defs: Record<string, JsonSchema> } = JSON.parse(
    JSON.stringify({ schema, $defs }).replaceAll('#/$defs/', '#/components/schemas/'),
  );
  for (const [name, definition] of Object.entries(shared.$defs)) schemas[name] = withoutId(definition);
  return shared.schema;
}

function withoutId(schema: JsonSchema): JsonSchema {
  const { id: _, ...rest } = schema;
  return rest;
}
