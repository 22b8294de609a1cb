import { expect, test } from 'vitest';
import { headerProblemIn } from '../../../src/domains/mcp-connections/remote/header-declarations.ts';
import { readTool } from '../../../src/domains/mcp-connections/remote/tools.ts';

const at = (name: unknown, type: unknown = 'string') => ({ type, 'x-mcp-header': name });
const inside = (properties: object) => ({ type: 'object', properties });

const PLACE = 'is only allowed at a property';
const NAME = 'must be the name of a header';
const TYPE = 'is only allowed for string, integer and boolean';

test.each<[string, unknown, string | null]>([
  ['none', inside({ a: { type: 'string' } }), null],
  ['one of each type', inside({ a: at('A'), b: at('B', 'integer'), c: at('C', 'boolean') }), null],
  ['one of an inner property', inside({ a: inside({ b: at('B') }) }), null],
  ['a property of this name', inside({ 'x-mcp-header': { type: 'object' } }), null],
  ['one in a default value', inside({ a: { type: 'object', default: at('A', 'number') } }), null],
  ['no name', inside({ a: at('') }), NAME],
  ['a name with a space', inside({ a: at('My Region') }), NAME],
  ['a name with a line end', inside({ a: at('A\n') }), NAME],
  ['a name that is no text', inside({ a: at(7) }), NAME],
  ['a number', inside({ a: at('A', 'number') }), TYPE],
  ['no type', inside({ a: { 'x-mcp-header': 'A' } }), TYPE],
  ['two in different case', inside({ a: at('Region'), b: inside({ c: at('REGION') }) }), 'must name different headers'],
  ['one at the root', { ...inside({}), 'x-mcp-header': 'A' }, PLACE],
  ['one in items', inside({ a: { type: 'array', items: at('A') } }), PLACE],
  ['one below anyOf', { anyOf: [inside({ a: at('A') })] }, PLACE],
  ['one in $defs', { ...inside({}), $defs: { a: at('A') } }, PLACE],
])('the header declarations of a schema with %s', (_, schema, expected) => {
  expect(headerProblemIn(schema)).toBe(expected);
});

test('only the revision 2026-07-28 has rules for headers', () => {
  const tool = { name: 'alpha', inputSchema: inside({ a: at('') }) };
  expect(readTool(tool, true).problem).toBe(`inputSchema: x-mcp-header ${NAME}`);
  expect(readTool(tool, false).problem).toBeNull();
});

test('schemas may be as deep as the server likes', () => {
  let schema: object = at('A');
  for (let depth = 0; depth < 100_000; depth += 1) schema = inside({ a: schema });
  expect(headerProblemIn(schema)).toBeNull();
});
