import {
  type GraphQLInputType,
  getNullableType,
  isEnumType,
  isInputObjectType,
  isListType,
  isRequiredInputField,
} from 'graphql';
import { type JsonSchema, isSchema } from '../../../src/core/input/json-schema.ts';
import type { Takes, Target } from './wide-values.ts';

/** The places of an input that can be widened: its objects, lists and values. */

/** What an input may contain, read from a JSON Schema, a GraphQL type or an example. */
export type Shape =
  | {
      readonly kind: 'object';
      readonly fields: ReadonlyMap<string, Field>;
      readonly isOneOf?: boolean;
      /** Whether any names are accepted, with any values. */
      readonly isOpen?: boolean;
    }
  | { readonly kind: 'list'; readonly item: () => Shape }
  | { readonly kind: 'text'; readonly sample: string; readonly maxLength?: number }
  | { readonly kind: 'value'; readonly sample: unknown };

interface Field {
  readonly shape: () => Shape;
  readonly isRequired: boolean;
}

/** A place of an input. */
export interface Place {
  readonly path: string;
  readonly takes: readonly Takes[];
  /** Whether long texts are accepted here. */
  readonly isLong?: boolean;
  readonly target: Target;
  /** The JSON of the whole input with this JSON in the place. */
  readonly fill: (json: string) => string;
}

/** Objects nested more deeply are not varied. */
const MAX_DEPTH = 5;

const SAMPLES: Readonly<Record<string, string>> = {
  uuid: '01890a5d-ac96-774b-bcce-b302099a8057',
  'date-time': '2026-03-01T10:20:30.000Z',
  date: '2026-03-01',
  email: 'a@example.com',
  uri: 'https://example.com/a',
};

export function shapeOfJson(schema: JsonSchema, definitions = schema.$defs ?? {}): Shape {
  const { $ref, anyOf, oneOf, type, properties, items, enum: values } = schema;
  const of = (inner: unknown): Shape => shapeOfJson(isSchema(inner) ? inner : {}, definitions);
  if ($ref !== undefined) return of(definitions[$ref.replace('#/$defs/', '')]);
  const options = anyOf ?? oneOf;
  if (options) return of(options.find((each) => isSchema(each) && each.type !== 'null'));
  if (schema.const !== undefined || values) return { kind: 'value', sample: schema.const ?? values?.[0] };
  if (type === 'object') {
    const fields = Object.entries(properties ?? {}).map(([name, inner]): [string, Field] => [
      name,
      { shape: () => of(inner), isRequired: schema.required?.includes(name) ?? false },
    ]);
    return { kind: 'object', fields: new Map(fields), isOpen: isAny(schema.additionalProperties) };
  }
  if (type === 'array') return { kind: 'list', item: () => of(items) };
  const [only] = [type].flat();
  if (only === 'string')
    return {
      kind: 'text',
      sample: SAMPLES[schema.format ?? ''] ?? 'a',
      ...(schema.maxLength && { maxLength: schema.maxLength }),
    };
  return { kind: 'value', sample: only === 'boolean' ? true : (schema.minimum ?? 1) };
}

/** Whether a JSON Schema accepts everything. */
const isAny = (schema: unknown) => isSchema(schema) && Object.keys(schema).length === 0;

const SCALARS: Readonly<Record<string, Shape>> = {
  Int: { kind: 'value', sample: 1 },
  Float: { kind: 'value', sample: 1 },
  Boolean: { kind: 'value', sample: true },
  JSON: { kind: 'object', fields: new Map(), isOpen: true },
  UUID: { kind: 'text', sample: SAMPLES['uuid'] ?? '' },
  ID: { kind: 'text', sample: SAMPLES['uuid'] ?? '' },
  URL: { kind: 'text', sample: SAMPLES['uri'] ?? '' },
  DateTime: { kind: 'text', sample: SAMPLES['date-time'] ?? '' },
  Date: { kind: 'text', sample: SAMPLES['date'] ?? '' },
};

export function shapeOfGraphQL(given: GraphQLInputType): Shape {
  const type = getNullableType(given);
  if (isListType(type)) return { kind: 'list', item: () => shapeOfGraphQL(type.ofType) };
  if (isEnumType(type)) return { kind: 'value', sample: type.getValues()[0]?.name };
  if (!isInputObjectType(type)) return SCALARS[type.name] ?? { kind: 'text', sample: 'a' };
  const fields = Object.values(type.getFields()).map((field): [string, Field] => [
    field.name,
    {
      shape: () =>
        field.name === 'email' ? { kind: 'text', sample: SAMPLES['email'] ?? '' } : shapeOfGraphQL(field.type),
      isRequired: isRequiredInputField(field),
    },
  ]);
  return { kind: 'object', fields: new Map(fields), isOneOf: type.isOneOf };
}

/** The shape of an example without a schema. */
export function shapeOfValue(value: unknown): Shape {
  if (typeof value === 'string') return { kind: 'text', sample: value };
  if (Array.isArray(value)) {
    // An empty list says nothing about its items.
    const [first = 1] = value as unknown[];
    return { kind: 'list', item: () => shapeOfValue(first) };
  }
  if (!isObject(value)) return { kind: 'value', sample: value };
  const fields = Object.entries(value).map(([name, inner]): [string, Field] => [
    name,
    { shape: () => shapeOfValue(inner), isRequired: true },
  ]);
  return { kind: 'object', fields: new Map(fields) };
}

/** A small value: required members only. */
export function sampleOf(shape: Shape): unknown {
  if (shape.kind === 'list') return [sampleOf(shape.item())];
  if (shape.kind !== 'object') return shape.sample;
  const required = [...shape.fields].filter(
    ([, { isRequired }], index) => isRequired || (shape.isOneOf && index === 0),
  );
  return Object.fromEntries(required.map(([name, field]) => [name, sampleOf(field.shape())]));
}

const isObject = (value: unknown): value is object => typeof value === 'object' && value !== null;
const LONG_CHARACTERS = 100_000;
const isLongText = (shape: Shape) => shape.kind === 'text' && (shape.maxLength ?? 0) > LONG_CHARACTERS;
const NOTHING: Target = { member: 'a', item: '1' };

/** All places of a value, also those of members that it does not have yet. */
export function* placesOf(
  value: unknown,
  shape: Shape,
  path: readonly string[] = [],
  around: Place['fill'] = (json) => json,
): Generator<Place> {
  if (path.length > 0)
    yield {
      path: path.join('.'),
      takes: shape.kind === 'text' ? ['text', 'value'] : ['value'],
      isLong: isLongText(shape),
      target: NOTHING,
      fill: around,
    };
  if (path.length > MAX_DEPTH) return;
  if (shape.kind === 'list') yield* placesOfList(value, shape.item(), path, around);
  if (shape.kind === 'object') yield* placesOfObject(value, shape, path, around);
}

function* placesOfList(value: unknown, shape: Shape, path: readonly string[], around: Place['fill']): Generator<Place> {
  const [first = sampleOf(shape)] = Array.isArray(value) ? (value as unknown[]) : [];
  const fill: Place['fill'] = (json) => around(`[${json}]`);
  yield { path: `${path.join('.')}[]`, takes: ['items'], target: { ...NOTHING, item: JSON.stringify(first) }, fill };
  yield* placesOf(first, shape, [...path, '0'], fill);
}

function* placesOfObject(
  value: unknown,
  shape: Extract<Shape, { kind: 'object' }>,
  path: readonly string[],
  around: Place['fill'],
): Generator<Place> {
  const members = Object.entries(isObject(value) ? value : (sampleOf(shape) as object));
  const textWithout = (omitted: string) =>
    members
      .map(([name, inner]) => (name === omitted ? '' : `${JSON.stringify(name)}:${JSON.stringify(inner)},`))
      .join('');
  const all = textWithout('').slice(0, -1);
  const [member = [...shape.fields.keys()][0] ?? 'a'] = members[0] ?? [];
  yield {
    path: `${path.join('.')}{}`,
    takes: ['members'],
    target: { ...NOTHING, member },
    fill: (json) => around(`{${all}${all && ','}${json}}`),
  };
  if (shape.isOpen)
    yield {
      path: `${path.join('.')}.any`,
      takes: ['text', 'value'],
      isLong: true,
      target: NOTHING,
      fill: (json) => around(`{${all}${all && ','}"any":${json}}`),
    };
  for (const [name, field] of shape.fields) {
    const present = members.find(([each]) => each === name)?.[1] as unknown;
    const others = shape.isOneOf ? '' : textWithout(name);
    yield* placesOf(present, field.shape(), [...path, name], (json) =>
      around(`{${others}${JSON.stringify(name)}:${json}}`),
    );
  }
}
