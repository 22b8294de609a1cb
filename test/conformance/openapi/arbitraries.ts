import fc from 'fast-check';
import { HOSTILE_TEXT } from '../../support/fixtures/hostile-text.ts';

/** The part of JSON Schema (2020-12) that openapi.json uses. */
export interface Schema {
  readonly $ref?: string;
  readonly type?: string | readonly string[];
  readonly const?: unknown;
  readonly enum?: readonly unknown[];
  readonly anyOf?: readonly Schema[];
  readonly oneOf?: readonly Schema[];
  readonly properties?: Readonly<Record<string, Schema>>;
  readonly required?: readonly string[];
  readonly additionalProperties?: boolean | Schema;
  readonly items?: Schema;
  readonly minItems?: number;
  readonly maxItems?: number;
  readonly minLength?: number;
  readonly maxLength?: number;
  readonly pattern?: string;
  readonly format?: string;
  readonly minimum?: number;
  readonly maximum?: number;
  readonly default?: unknown;
}

const HOSTILE_NUMBERS = [-1, 0, 0.5, -0, 1e21, 1e308, 2 ** 31, 2 ** 53, -(2 ** 63)];
const ANY_JSON = fc.oneof(
  fc.constantFrom<unknown>(null, true, false, [], {}, [[]], [null], { __typename: 'x' }),
  fc.constantFrom(...HOSTILE_NUMBERS),
  fc.constantFrom(...HOSTILE_TEXT),
  fc.jsonValue({ maxDepth: 2 }),
);
/** Longer bounds are tested only with their operations, because such requests take long to send. */
const LONG = 20_000;

/**
 * Values for a schema: `valid` values follow all of its rules, `broken` values break one of them. `known` has values
 * for properties by name, for which random values would never name an existing object.
 */
export function createArbitraries(
  schemas: Readonly<Record<string, Schema>>,
  known: Readonly<Record<string, fc.Arbitrary<unknown>>>,
) {
  function resolved(schema: Schema): Schema {
    const name = schema.$ref?.split('/').at(-1);
    return name === undefined ? schema : resolved(schemas[name] ?? {});
  }

  function valid(given: Schema, depth = 4): fc.Arbitrary<unknown> {
    const schema = resolved(given);
    const branches = schema.anyOf ?? schema.oneOf;
    if (branches) return fc.oneof(...branches.map((branch) => weighed(branch, valid(branch, depth))));
    if (schema.const !== undefined) return fc.constant(schema.const);
    if (schema.enum) return fc.constantFrom(...schema.enum);
    const types = typesOf(schema);
    if (types.length === 0) return fc.jsonValue({ maxDepth: 1 });
    return fc.oneof(...types.map((type) => weighed({ type }, ofType(type, schema, depth))));
  }

  function ofType(type: string, schema: Schema, depth: number): fc.Arbitrary<unknown> {
    switch (type) {
      case 'object':
        return object(schema, depth);
      case 'array':
        return fc.array(valid(schema.items ?? {}, depth - 1), {
          minLength: schema.minItems,
          maxLength: Math.max(schema.minItems ?? 0, depth > 0 ? Math.min(schema.maxItems ?? 4, 4) : 0),
        });
      case 'string':
        return string(schema);
      case 'integer':
        return fc.integer({ min: schema.minimum, max: schema.maximum });
      case 'number':
        return fc.double({ min: schema.minimum, max: schema.maximum, noNaN: true, noDefaultInfinity: true });
      case 'boolean':
        return fc.boolean();
      default:
        return fc.constant(null);
    }
  }

  function named(name: string, schema: Schema, depth: number): fc.Arbitrary<unknown> {
    const one = known[name];
    return one ? fc.oneof({ weight: 8, arbitrary: one }, valid(schema, depth)) : valid(schema, depth);
  }

  function object({ properties = {}, required = [], additionalProperties }: Schema, depth: number) {
    const kept = Object.entries(properties).filter(([name]) => depth > 0 || required.includes(name));
    const fields = fc.record(Object.fromEntries(kept.map(([name, schema]) => [name, named(name, schema, depth - 1)])), {
      requiredKeys: [...required],
      noNullPrototype: true,
    });
    if (typeof additionalProperties !== 'object') return fields;
    const others = fc.dictionary(fc.stringMatching(/^[A-Za-z][A-Za-z0-9_-]{0,20}$/), valid(additionalProperties, 1), {
      maxKeys: 3,
      noNullPrototype: true,
    });
    return fc.tuple(others, fields).map(([more, own]) => ({ ...more, ...own }));
  }

  function broken(given: Schema, depth = 4): fc.Arbitrary<unknown> {
    const schema = resolved(given);
    const branches = (schema.anyOf ?? schema.oneOf)?.filter((branch) => branch.type !== 'null');
    if (branches) return fc.oneof(...branches.map((branch) => broken(branch, depth)));
    return fc.oneof(ANY_JSON, ...typesOf(schema).flatMap((type) => brokenOf(type, schema, depth)));
  }

  function brokenOf(type: string, schema: Schema, depth: number): fc.WeightedArbitrary<unknown>[] {
    switch (type) {
      case 'object':
        return brokenObjects(schema, depth).map((arbitrary) => ({ weight: 2, arbitrary }));
      case 'array':
        return brokenArrays(schema, depth).map((arbitrary) => ({ weight: 2, arbitrary }));
      case 'string':
        return [
          { weight: 3, arbitrary: fc.constantFrom(...HOSTILE_TEXT) },
          { weight: 2, arbitrary: fc.string({ unit: 'binary' }) },
          ...lengthsAround(schema.minLength, schema.maxLength).map((length) => ({
            weight: 1,
            arbitrary: fc.constant('x'.repeat(length)),
          })),
        ];
      case 'integer':
      case 'number':
        return aroundBounds(schema.minimum, schema.maximum).map((value) => ({
          weight: 1,
          arbitrary: fc.constantFrom<unknown>(value, value + 0.5, String(value)),
        }));
      default:
        return [];
    }
  }

  function brokenObjects(schema: Schema, depth: number): fc.Arbitrary<unknown>[] {
    const { properties = {}, required = [] } = schema;
    const whole = object(schema, depth);
    const without = required.map((name) => whole.map((value) => omit(value, name)));
    const strange = fc
      .tuple(whole, fc.constantFrom('unknown', '__proto__', 'constructor', 'id', 'organizationId', ''), ANY_JSON)
      .map(([value, name, extra]) => Object.fromEntries([...Object.entries(value), [name, extra]]));
    const inside = Object.entries(depth > 0 ? properties : {}).map(([name, inner]) =>
      fc.tuple(whole, broken(inner, depth - 1)).map(([value, bad]) => ({ ...value, [name]: bad })),
    );
    return [...without, strange, ...(inside.length > 0 ? [fc.oneof(...inside)] : [])];
  }

  function brokenArrays({ items = {}, minItems, maxItems }: Schema, depth: number): fc.Arbitrary<unknown>[] {
    const sized = lengthsAround(minItems, maxItems).map((length) =>
      valid(items, 0).map((item) => Array.from({ length }, () => item)),
    );
    return depth > 0 ? [...sized, broken(items, depth - 1).map((item) => [item])] : sized;
  }

  return { valid, broken, named };
}

function typesOf({ type, properties, enum: values }: Schema): string[] {
  if (typeof type === 'string') return [type];
  return [...(type ?? (properties ? ['object'] : values ? ['string'] : []))];
}

/** Null is rarer than other values. */
function weighed(schema: Schema, arbitrary: fc.Arbitrary<unknown>): fc.WeightedArbitrary<unknown> {
  return { weight: schema.type === 'null' ? 1 : 6, arbitrary };
}

/** Each bound, and the numbers directly below and above it. */
function aroundBounds(min?: number, max?: number): number[] {
  const bounds = [min, max].filter((bound) => bound !== undefined && Math.abs(bound) < 2 ** 40) as number[];
  const around = bounds.flatMap((bound) => [bound - 1, bound, bound + 1]);
  return [...new Set(around)];
}

function lengthsAround(min?: number, max?: number): number[] {
  return aroundBounds(min, max).filter((length) => length >= 0 && length <= LONG);
}

function omit(value: object, name: string): object {
  return Object.fromEntries(Object.entries(value).filter(([key]) => key !== name));
}

function string(schema: Schema): fc.Arbitrary<string> {
  const { minLength = 0, maxLength = LONG, pattern, format } = schema;
  const fits = (value: string) => {
    const { length } = Array.from(value);
    return length >= minLength && length <= maxLength;
  };
  switch (format) {
    case 'uuid':
      return fc.uuid();
    case 'date-time':
      return fc
        .date({ min: new Date('2000-01-01'), max: new Date('2040-01-01'), noInvalidDate: true })
        .map((date) => date.toISOString());
    case 'email':
      return fc.integer({ min: 0, max: 999 }).map((number) => `somebody-${number}@example.com`);
    case 'uri':
      return fc.webUrl().filter(fits);
    case undefined:
    default:
  }
  if (pattern !== undefined) return fc.stringMatching(new RegExp(pattern)).filter(fits);
  const bounds = [minLength, Math.min(maxLength, LONG)].filter((length) => length <= LONG);
  return fc.oneof(
    { weight: 6, arbitrary: fc.string({ minLength, maxLength: Math.min(maxLength, 40) }) },
    {
      weight: 2,
      arbitrary: fc.string({ unit: 'grapheme', minLength, maxLength: Math.min(maxLength, 20) }).filter(fits),
    },
    { weight: 1, arbitrary: fc.constantFrom(...HOSTILE_TEXT.filter(fits)) },
    { weight: 1, arbitrary: fc.constantFrom(...bounds.map((length) => 'x'.repeat(length))) },
  );
}
