import { randomUUID } from 'node:crypto';
import {
  type GraphQLInputType,
  getNullableType,
  isEnumType,
  isInputObjectType,
  isListType,
  isNonNullType,
} from 'graphql';
import { beforeAll, describe, expect, test } from 'vitest';
import { INPUT_FAULT_CODES } from '../../src/core/errors.ts';
import { schema } from '../../src/gateway/schema.ts';
import { useTestGateway } from '../support/fixtures/gateway.ts';
import { sampleOf } from '../support/sample.ts';

/** Makes each place of each mutation's input wrong. The path of the reported fault leads to that place in the input. */

const gateway = useTestGateway();
let key: string;
beforeAll(async () => {
  ({ key } = await gateway.createKey());
});

type Path = readonly (string | number)[];
type Input = Readonly<Record<string, unknown>>;

/** Refused as a private address, so that no connection is opened. */
const ADDRESS = 'http://127.0.0.1:1/';
const SCALARS: Readonly<Record<string, unknown>> = {
  String: 'a',
  Int: 1,
  Float: 1,
  Boolean: true,
  URL: ADDRESS,
  UUID: randomUUID(),
  DateTime: '2026-01-01T00:00:00.000Z',
  Date: '2026-01-01',
  JSON: {},
  BigInt: '1',
};

/** A value of the type in which every field is given; `branch` chooses the field of a `@oneOf` type. */
function valueOf(type: GraphQLInputType, branch = 0): unknown {
  const nullable = getNullableType(type);
  if (isListType(nullable)) return [valueOf(nullable.ofType, branch)];
  if (isInputObjectType(nullable)) {
    const fields = Object.values(nullable.getFields());
    const given = nullable.isOneOf ? fields.slice(branch, branch + 1) : fields;
    return Object.fromEntries(given.map((field) => [field.name, valueOf(field.type, branch)]));
  }
  if (isEnumType(nullable)) return nullable.getValues()[0]?.name;
  return String(nullable) === 'ID' ? randomUUID() : SCALARS[String(nullable)];
}

const WRONG: Readonly<Record<string, readonly unknown[]>> = {
  String: ['', 'a\0b', 'x'.repeat(66_000)],
  ID: ['', 'x'],
  Int: [-1, 2_147_483_647],
  URL: ['', 'x', `https://example.com/${'x'.repeat(9000)}`],
  DateTime: ['0000-01-01T00:00:00.000Z', '1970-01-01T00:00:00.000Z'],
  JSON: [1, [], { type: 'doc', content: [{ type: 'text' }] }, { type: '' }],
};
const TOO_MANY = 5001;

/** For each place of a value: its path, and values that can be wrong there. */
function* placesOf(
  type: GraphQLInputType,
  value: unknown,
  path: Path = [],
  isNullable = !isNonNullType(type),
): Generator<[Path, unknown]> {
  if (isNullable && path.length > 0) yield [path, null];
  const nullable = getNullableType(type);
  if (isListType(nullable)) {
    const [item] = value as unknown[];
    yield [path, []];
    yield [path, Array.from({ length: TOO_MANY }, () => item)];
    yield [path, [item, item]];
    yield* placesOf(nullable.ofType, item, [...path, 0]);
  } else if (isInputObjectType(nullable)) {
    for (const [name, inner] of Object.entries(value as Input)) {
      const field = nullable.getFields()[name];
      // The given field of a `@oneOf` type cannot be null.
      const canBeNull = !nullable.isOneOf && field !== undefined && !isNonNullType(field.type);
      if (field) yield* placesOf(field.type, inner, [...path, name], canBeNull);
    }
  } else for (const wrong of WRONG[String(nullable)] ?? []) yield [path, wrong];
}

function changed(value: unknown, [step, ...rest]: Path, replacement: unknown): unknown {
  if (step === undefined) return replacement;
  if (Array.isArray(value))
    return value.map((item, index) => (index === step ? changed(item, rest, replacement) : (item as unknown)));
  const object = value as Input;
  return { ...object, [step]: changed(object[step], rest, replacement) };
}

/** Why a path leads to no place of the input; undefined if it does. The path of a missing field may end in an object without that field. */
function reasonWhyLost(input: unknown, path: readonly string[], code: string): string | undefined {
  let value = input;
  for (const [index, step] of path.entries()) {
    const isLast = index === path.length - 1;
    if (typeof value !== 'object' || value === null) return `${step} is below a value`;
    if (!Object.hasOwn(value, step)) return isLast && code === 'REQUIRED' ? undefined : `there is no ${step}`;
    value = (value as Input)[step];
  }
  return undefined;
}

interface Refusal {
  readonly __typename: string;
  readonly path?: readonly string[] | null;
  readonly faults?: readonly { readonly path: readonly string[]; readonly code: string }[];
}

async function send(name: string, input: unknown): Promise<Refusal> {
  const type = `${name.charAt(0).toUpperCase()}${name.slice(1)}Input`;
  const query = `mutation($input: ${type}!) { ${name}(input: $input) { __typename ... on ValidationError { path faults { path code } } } }`;
  const { data, errors } = await gateway.graphql<Record<string, Refusal>>(key, query, { input });
  const result = data?.[name];
  if (!result) throw new Error(`${name}: ${JSON.stringify(errors).slice(0, 500)}`);
  return result;
}

function faultsIn(input: unknown, { path, faults = [] }: Refusal): string[] {
  const [first] = faults;
  const atFirst = first && first.path.length > 0 ? first.path : null;
  const strayed = faults.flatMap((fault) => {
    const why = reasonWhyLost(input, fault.path, fault.code);
    return why === undefined ? [] : [`${fault.path.join('.')} (${fault.code}): ${why}`];
  });
  const unknown = faults.filter(({ code }) => !(code in INPUT_FAULT_CODES)).map(({ code }) => `unknown code ${code}`);
  const other = JSON.stringify(path ?? null) === JSON.stringify(atFirst) ? [] : ['path is not that of the first fault'];
  return [...strayed, ...unknown, ...other];
}

const nameOf = ({ path, code }: { path: readonly string[]; code: string }) => `${path.join('.')} (${code})`;
const mutations = sampleOf(Object.values(schema.getMutationType()?.getFields() ?? {}), 16);
const found = new Map<string, number>();

describe.each(mutations.map((field) => [field.name, field] as const))('%s', (name, field) => {
  const type = field.args[0]?.type;
  const nullable = type && getNullableType(type);
  const branches = isInputObjectType(nullable) && nullable.isOneOf ? Object.keys(nullable.getFields()).length : 1;

  test.each(Array.from({ length: branches }, (_, branch) => branch))('branch %s', async (branch) => {
    if (!type) throw new Error('a mutation takes an input');
    const base = valueOf(type, branch);
    const known = new Set((await send(name, base)).faults?.map(nameOf));
    const wrong: string[] = [];
    for (const [path, value] of placesOf(type, base)) {
      const input = changed(base, path, value);
      const refusal = await send(name, input);
      const where = `${path.join('.')} = ${JSON.stringify(value)?.slice(0, 60)}`;
      for (const fault of faultsIn(input, refusal)) wrong.push(`${where}: ${fault}`);
      const faults = refusal.faults ?? [];
      const isThere = faults.some(
        (fault) => fault.path.slice(0, path.length).join('.') === path.slice(0, fault.path.length).join('.'),
      );
      // A value that removes a fault that was there before, such as null, lets the checks of other places report theirs.
      const isRemoved =
        value === null || [...known].some((fault) => fault.startsWith(`${path.join('.')} `) && !isThere);
      const added = isRemoved ? [] : faults.filter((fault) => !known.has(nameOf(fault)));
      if (added.length > 0 && !isThere) wrong.push(`${where}: faults are elsewhere, at ${added.map(nameOf).join()}`);
      if (isThere) found.set(name, (found.get(name) ?? 0) + 1);
    }
    expect(wrong).toEqual([]);
  });
});

test('for every mutation, at least one wrong value was reported at its place', () => {
  expect(mutations.filter(({ name }) => !found.has(name)).map(({ name }) => name)).toEqual([]);
});
