import { isObject } from '../../../core/is-object.ts';

/**
 * The rules for `x-mcp-header` in the schema of a tool (MCP 2026-07-28, Streamable HTTP). A client must not use a tool that breaks one. The
 * official client package checks them too, but only in lists that it reads itself, and does not export the check.
 */

const HEADER = 'x-mcp-header';
const TYPES: ReadonlySet<unknown> = new Set(['string', 'integer', 'boolean']);
/** RFC 9110, section 5.6.2. */
const TOKEN = /^[!#$%&'*+.^_`|~0-9A-Za-z-]+$/;

/** Keywords with one schema or a list of schemas in which no declaration is allowed. */
const SCHEMAS: ReadonlySet<string> = new Set(
  'items prefixItems contains additionalProperties unevaluatedProperties unevaluatedItems propertyNames oneOf anyOf allOf not if then else'.split(
    ' ',
  ),
);
/** Keywords with schemas by name in which no declaration is allowed. */
const NAMED_SCHEMAS: ReadonlySet<string> = new Set(['patternProperties', 'dependentSchemas', '$defs', 'definitions']);

interface Place {
  readonly schema: unknown;
  /** An argument is what only `properties` lead to. */
  readonly kind: 'root' | 'argument' | 'other';
}

/** What is wrong with the declarations of headers in the input schema of a tool. */
export function headerProblemIn(inputSchema: unknown): string | null {
  const names = new Set<string>();
  const open: Place[] = [{ schema: inputSchema, kind: 'root' }];
  // No recursion, because the server chooses the depth.
  for (let place = open.pop(); place; place = open.pop()) {
    const { schema, kind } = place;
    if (!isObject(schema)) continue;
    for (const [keyword, value] of Object.entries(schema)) addPlaces(open, kind, keyword, value);
    if (!(HEADER in schema)) continue;
    const { [HEADER]: name, type } = schema;
    if (kind !== 'argument') return 'is only allowed at a property';
    if (typeof name !== 'string' || !TOKEN.test(name)) return 'must be the name of a header';
    if (!TYPES.has(type)) return 'is only allowed for string, integer and boolean';
    if (names.has(name.toLowerCase())) return 'must name different headers';
    names.add(name.toLowerCase());
  }
  return null;
}

/** Adds the schemas that a keyword has. */
function addPlaces(open: Place[], kind: Place['kind'], keyword: string, value: unknown): void {
  if (keyword === 'properties' && isObject(value))
    for (const schema of Object.values(value)) open.push({ schema, kind: kind === 'root' ? 'argument' : kind });
  else if (SCHEMAS.has(keyword))
    for (const schema of Array.isArray(value) ? value : [value]) open.push({ schema, kind: 'other' });
  else if (NAMED_SCHEMAS.has(keyword) && isObject(value))
    for (const schema of Object.values(value)) open.push({ schema, kind: 'other' });
}
