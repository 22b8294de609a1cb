import type { InputFieldBuilder, InputFieldMap, InputRef } from '@pothos/core';
import type { z } from 'zod';
import { type JsonSchema, boundsInWords, inputJsonSchema, isSchema, objectIn } from '../input/json-schema.ts';
import { type SchemaTypes, builder } from './builder.ts';
import { enumWith } from './enums.ts';
import { acceptingIds } from './global-ids.ts';

/**
 * Input types that follow from the zod schema of an operation: names, types, nullability, defaults, descriptions and
 * bounds. What differs in GraphQL is given by the name of the field.
 */

type Types = PothosSchemaTypes.ExtendDefaultTypes<SchemaTypes>;
/** Defines input fields by hand. */
export type InputFields = InputFieldBuilder<Types, 'InputObject'>;
type Type = keyof SchemaTypes['Scalars'] | 'String' | 'Int' | 'Float' | 'Boolean' | InputRef;

/** The differences from the schema, by the name of the field in the schema. */
export interface InputDifferences {
  /** Fields, or lists, that also accept the global ids of this type. */
  readonly ids?: Readonly<Record<string, string>>;
  /** The names of fields that have another name than in REST. */
  readonly names?: Readonly<Record<string, string>>;
  /** The types of fields, or of the items of lists, that do not follow from the schema, such as `JSON`. */
  readonly types?: Readonly<Record<string, Type>>;
  /** Objects by name, which are lists of these entries in GraphQL. The schema of the mutation converts them. */
  readonly lists?: Readonly<Record<string, Type>>;
  /** Why fields, by their name in the schema, are deprecated. */
  readonly deprecated?: Readonly<Record<string, string>>;
  /** Fields of another shape than in the schema, and additional ones, by their name in GraphQL. */
  readonly fields?: (t: InputFields) => InputFieldMap;
  /** Whether exactly one of the fields must be given (`@oneOf`). */
  readonly isOneOf?: boolean;
}

/** The input types of objects, by the shape of their schema, so that inputs that contain them find their type. */
const byShape = new WeakMap<object, InputRef>();

/** Defines the input type of an object within inputs. Its description is that of the schema. */
export function inputType<Schema extends z.ZodObject>(
  name: string,
  schema: Schema,
  differences: InputDifferences = {},
): InputRef<z.output<Schema>> {
  const type = define(name, schema, differences, { description: descriptionOf(name, schema.description) });
  byShape.set(schema.shape, type);
  return type as InputRef<z.output<Schema>>;
}

/** Defines the filter of a list. It is validated before the resolver. */
export function filterType<Schema extends z.ZodObject>(
  name: string,
  schema: Schema,
  differences: InputDifferences = {},
): InputRef<z.output<Schema>> {
  const description = descriptionOf(name, schema.description);
  const validate = acceptingIds(schema, differences.ids ?? {});
  // The validation replaces the value by its output.
  return define(name, schema, differences, { description, validate }) as InputRef<z.output<Schema>>;
}

/** Defines the input type of a mutation. */
export const mutationInput = (
  name: string,
  schema: z.core.$ZodType,
  differences: InputDifferences,
  description: string,
): InputRef => define(name, schema, differences, { description });

const define = (
  name: string,
  schema: z.core.$ZodType,
  differences: InputDifferences,
  options: { readonly description: string; readonly validate?: z.core.$ZodType },
): InputRef =>
  builder.inputType(name, {
    ...options,
    isOneOf: differences.isOneOf,
    // Called when the schema is built, so that types can be defined in any order.
    fields: (t) => {
      const own = differences.fields?.(t) ?? {};
      const derived = differences.isOneOf ? [] : derivedFields(name, schema, differences, Object.keys(own));
      return { ...Object.fromEntries(derived.map(([field, config]) => [field, t.field(config)])), ...own };
    },
  });

/** The type of a property of an answer, and whether it can be null. */
export function outputType(
  where: string,
  json: JsonSchema,
): { readonly type: Type | [Type]; readonly nullable: boolean } {
  const { value, isNullable } = withoutNull(json);
  const isList = value.type === 'array';
  const item = isList && isSchema(value.items) ? value.items : value;
  // What is answered has its own bounds.
  const type = item.type === 'integer' ? 'Int' : typeOf(where, item, undefined);
  return { type: isList ? [type] : type, nullable: isNullable };
}

/** A field as the builder takes it. */
interface DerivedField {
  readonly type: Type | [Type];
  readonly required: boolean;
  readonly defaultValue: unknown;
  readonly description: string;
  readonly deprecationReason?: string;
  /** The bound of a text, in code points, from which those of the console's forms are generated. */
  readonly extensions?: { readonly maxLength: number };
}

/** The condition on texts that older filters have by another name. */
export const usingSearch = (name: string): Pick<InputDifferences, 'deprecated'> => ({
  deprecated: { [name]: 'Use `search`. Removed on 2027-12-01.' },
});

/** The fields of an input type by their names in GraphQL, without those that are given by hand. */
export function derivedFields(
  name: string,
  schema: z.core.$ZodType,
  { ids = {}, names = {}, types = {}, lists = {}, deprecated = {} }: InputDifferences,
  given: readonly string[] = [],
): [string, DerivedField][] {
  const { properties = {}, required = [] } = inputJsonSchema(schema);
  for (const field of [ids, names, types, lists, deprecated].flatMap(Object.keys))
    if (!Object.hasOwn(properties, field)) throw new Error(`${name}: the schema has no field ${field}`);
  return Object.entries(properties).flatMap(([field, json]): [string, DerivedField][] => {
    const shown = names[field] ?? field;
    if (given.includes(shown) || !isSchema(json)) return [];
    const property = { where: `${name}.${field}`, json, schema: memberOf(schema, field), acceptsIds: field in ids };
    const type = lists[field] ?? types[field];
    const derived = derivedField(property, { isRequired: required.includes(field), type, isMap: field in lists });
    const deprecationReason = deprecated[field];
    return [[shown, { ...derived, ...(deprecationReason !== undefined && { deprecationReason }) }]];
  });
}

interface Property {
  /** Its place, for errors. */
  readonly where: string;
  readonly json: JsonSchema;
  readonly schema: z.core.$ZodType | undefined;
  readonly acceptsIds: boolean;
}

function derivedField(
  { where, json, schema, acceptsIds }: Property,
  {
    isRequired,
    type: given,
    isMap,
  }: { readonly isRequired: boolean; readonly type: Type | undefined; readonly isMap: boolean },
): DerivedField {
  const { value, isNullable } = withoutNull(json);
  const isList = value.type === 'array';
  const item = isList && isSchema(value.items) ? value.items : value;
  const isId = acceptsIds && item.format === 'uuid';
  const type = given ?? (isId ? 'ID' : typeOf(where, item, schema));
  const text = descriptionOf(where, json.description);
  const sentences = [
    isId ? namingIds(text) : text,
    boundsInWords(value),
    isRequired || isNullable ? '' : 'Must not be null.',
  ];
  return {
    type: isList || isMap ? [type] : type,
    required: isRequired && !isNullable,
    defaultValue: json.default,
    description: sentences.filter(Boolean).join(' '),
    ...(value.maxLength !== undefined && { extensions: { maxLength: value.maxLength } }),
  };
}

function descriptionOf(where: string, description: string | undefined): string {
  if (description === undefined) throw new Error(`${where} has no description; give it one in its schema`);
  return description;
}

/** REST has only plain ids. */
const namingIds = (description: string): string =>
  description.startsWith('Id of ')
    ? description.replace('Id of ', '`id` or `databaseId` of ')
    : `${description} Each is an \`id\` or \`databaseId\`.`;

/** Separates null from the other values. */
function withoutNull(property: JsonSchema): { readonly value: JsonSchema; readonly isNullable: boolean } {
  const { type, anyOf, ...rest } = property;
  const isNull = (option: unknown) => isSchema(option) && option.type === 'null';
  if (Array.isArray(type)) {
    const [only, ...others] = type.filter((each) => each !== 'null');
    return { value: others.length > 0 ? property : { ...rest, type: only }, isNullable: type.includes('null') };
  }
  const [only, ...others] = anyOf?.filter((option) => !isNull(option)) ?? [];
  if (!anyOf?.some(isNull) || !isSchema(only)) return { value: property, isNullable: false };
  return { value: others.length > 0 ? { ...rest, anyOf: [only, ...others] } : only, isNullable: true };
}

const SCALARS: Readonly<Record<string, Type>> = {
  uuid: 'UUID',
  'date-time': 'DateTime',
  date: 'Date',
  uri: 'URL',
  email: 'String',
};
const MAX_INT = 2 ** 31 - 1;

/** The type of a value; an error for one that has no type in GraphQL, because a wrong type would go unnoticed. */
function typeOf(where: string, json: JsonSchema, schema: z.core.$ZodType | undefined): Type {
  const { type, format, minimum = -Infinity, maximum = Infinity, enum: values, anyOf } = json;
  if (json.const !== undefined || (values && type !== 'string')) return fail(where, 'it has only certain values');
  if (values) return enumWith(values.map(String)) ?? fail(where, 'enumOf defines no type with its values');
  if (type === 'string')
    return (format === undefined ? 'String' : SCALARS[format]) ?? fail(where, `no scalar has the format ${format}`);
  if (type === 'boolean') return 'Boolean';
  if (type === 'number') return 'Float';
  if (type === 'integer')
    return minimum >= -MAX_INT - 1 && maximum <= MAX_INT ? 'Int' : fail(where, 'it can be larger than Int');
  if (type === 'object')
    return byShape.get(objectIn(schema)?.shape ?? {}) ?? fail(where, 'inputType defines no type with its schema');
  // A time that REST accepts in several forms.
  const [first] = anyOf ?? [];
  if (isSchema(first) && first.format === 'date-time') return 'DateTime';
  return fail(where, `no type for ${JSON.stringify(json)}`);
}

function fail(where: string, reason: string): never {
  throw new Error(`${where}: its type does not follow from its schema (${reason}); give it in "types" or "fields"`);
}

function memberOf(schema: z.core.$ZodType, field: string): z.core.$ZodType | undefined {
  const shape: z.core.$ZodShape = objectIn(schema)?.shape ?? {};
  return shape[field];
}
