import fc, { type GeneratorValue } from 'fast-check';
import { OperationTypeNode, getOperationAST, getVariableValues, parse } from 'graphql';
import { expect, test } from 'vitest';
import { compileVariables } from '../../src/graphql-executor/variables.ts';
import { schema } from '../../src/gateway/schema.ts';
import { explore } from '../support/exploration.ts';
import { full } from '../support/proof.ts';
import { generateOperation } from '../support/oracles/graphql-operations.ts';

const POOLS = { uuid: ['7d444840-9dc0-11d1-b245-5ffdce74fad2'], serverUrl: ['https://mcp.example/'] };
const JUNK: readonly unknown[] = [null, undefined, true, 0, 1.5, 2 ** 40, '', 'text', [], [[null]], {}, { no: 1 }];

/** The same value, usually with one part replaced by another value. */
function withRandomChange(g: GeneratorValue, value: unknown): unknown {
  const pick = <Item>(items: readonly Item[]) => items[g(fc.nat, { max: items.length - 1 })] as Item;
  if (typeof value !== 'object' || value === null || g(fc.nat, { max: 4 }) === 4)
    return g(fc.boolean) ? pick(JUNK) : value;
  const entries = Object.entries(value);
  if (entries.length === 0) return pick(JUNK);
  const [name] = pick(entries);
  if (Array.isArray(value))
    return value.map((item, index) => (String(index) === name ? withRandomChange(g, item) : item));
  const extra = g(fc.nat, { max: 9 }) === 9 && { unknown: pick(JUNK) };
  return {
    ...Object.fromEntries(entries.map(([key, inner]) => [key, key === name ? withRandomChange(g, inner) : inner])),
    ...extra,
  };
}

const roots = [OperationTypeNode.QUERY, OperationTypeNode.MUTATION].flatMap((kind) =>
  Object.keys(schema.getRootType(kind)?.getFields() ?? {}).map((name) => [kind, name] as const),
);

test('compiled code coerces variables to the same values as graphql, or leaves them to graphql', async () => {
  const met = { fitting: 0, refused: 0 };
  const runs = full ? 2000 : 200;
  await explore(runs, fc.gen(), async (g) => {
    const [kind, name] = roots[g(fc.nat, { max: roots.length - 1 })] ?? [OperationTypeNode.QUERY, 'viewer'];
    const { query, variables } = generateOperation(g, schema, kind, name, POOLS, new Set());
    const definitions = getOperationAST(parse(query))?.variableDefinitions ?? [];
    const given = withRandomChange(g, JSON.parse(JSON.stringify(variables))) as Record<string, unknown> | null;
    const inputs = typeof given === 'object' && given !== null ? given : {};
    const known = getVariableValues(schema, definitions, inputs).variableValues;
    const made = compileVariables(schema, definitions, known ?? { coerced: {}, sources: {} })(inputs);
    expect(made?.coerced, `${query} ${JSON.stringify(inputs)}`).toEqual(known?.coerced);
    expect(made?.sources).toEqual(known?.sources);
    met[made ? 'fitting' : 'refused'] += 1;
  });
  expect(met.fitting).toBeGreaterThan(runs / 4);
  expect(met.refused).toBeGreaterThan(runs / 10);
});
