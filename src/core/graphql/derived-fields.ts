import type { FieldMap } from '@pothos/core';
import { z } from 'zod';
import type { Answered } from '../documents.ts';
import { type JsonSchema, isSchema, outputJsonSchema } from '../input/json-schema.ts';
import { outputType } from './derived-inputs.ts';
import type { SchemaTypes } from './builder.ts';
import type { FieldsOf } from './nodes.ts';

/** The names of the properties that the row has as the document answers them. */
type Same<Row, Document> = {
  [Name in keyof Row & keyof Document & string]: Row[Name] extends Answered<Document[Name]> ? Name : never;
}[keyof Row & keyof Document & string];

/** What GraphQL says otherwise than the document: types that do not follow from it, and marks of all these fields. */
interface Differences<Name extends string> {
  /** The type of integers: `Float` for counts that can be larger than `Int`. */
  readonly integers?: 'Float';
  readonly types?: { readonly [Each in Name]?: keyof SchemaTypes['Scalars'] };
  readonly extensions?: object;
}

/** Fields that show columns as REST answers them: their types, nullability and texts are those of the document. */
export function shown<Row extends object, Document extends z.ZodObject>(
  t: FieldsOf<Row>,
  document: Document,
  names: readonly Same<Row, z.input<Document>>[],
  { types, integers, extensions }: Differences<Same<Row, z.input<Document>>> = {},
): FieldMap {
  const properties = propertiesOf(document);
  return Object.fromEntries(
    names.map((name) => {
      const json = properties[name];
      if (!isSchema(json)) throw new Error(`the document has no property ${name}`);
      const { type: derived, nullable } = outputType(name, json);
      const type = types?.[name] ?? (derived === 'Int' ? integers : undefined) ?? derived;
      // The types have been compared with the row.
      return [name, t.expose(name as never, { type, nullable, extensions, description: json.description } as never)];
    }),
  );
}

const known = new WeakMap<z.ZodObject, NonNullable<JsonSchema['properties']>>();

/** The properties of a document, whose fields are often defined in several groups. */
function propertiesOf(document: z.ZodObject): NonNullable<JsonSchema['properties']> {
  let properties = known.get(document);
  if (!properties) {
    // A document with a name would be a reference.
    ({ properties = {} } = outputJsonSchema(z.object(document.shape)));
    known.set(document, properties);
  }
  return properties;
}
