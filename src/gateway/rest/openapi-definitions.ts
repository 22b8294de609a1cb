import type { JsonSchema } from '../../core/input/json-schema.ts';

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
