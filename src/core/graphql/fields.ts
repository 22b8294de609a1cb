import type { CompatibleTypes, FieldMap, TypeParam } from '@pothos/core';
import type { SchemaTypes } from './builder.ts';
import type { FieldsOf } from './nodes.ts';

/** Fields that show properties of the row as they are, from a table of their types and one of their texts. */

type Types = PothosSchemaTypes.ExtendDefaultTypes<SchemaTypes>;
type Type = TypeParam<Types>;

class Nullable<Of extends Type> {
  readonly type: Of;
  readonly nullable = true;
  readonly extensions: object | undefined;

  constructor(type: Of, extensions: object | undefined) {
    this.type = type;
    this.extensions = extensions;
  }
}

/** The type of a property that can be null, and the marks of its field. */
export function nullable<Of extends Type>(type: Of, extensions?: object): Nullable<Of> {
  return new Nullable(type, extensions);
}

type Table = Readonly<Record<string, Type | Nullable<Type>>>;

/** Does not compile for a property of another type, or that can be null without `nullable`. */
type Fitting<Row, Given extends Table> = {
  readonly [Name in keyof Given]: Given[Name] extends Nullable<infer Of>
    ? Name extends CompatibleTypes<Types, Row, Of, true>
      ? Given[Name]
      : never
    : Given[Name] extends Type
      ? Name extends CompatibleTypes<Types, Row, Given[Name], false>
        ? Given[Name]
        : never
      : never;
};

/** The fields of these types, each with the text of its name. */
export function exposed<Row extends object, Given extends Table>(
  t: FieldsOf<Row>,
  texts: Readonly<Record<keyof Given & string, string>>,
  types: Given & Fitting<Row, Given>,
): FieldMap {
  return Object.fromEntries(
    Object.entries<Type | Nullable<Type>>(types).map(([name, given]) => {
      const { type, ...options } = given instanceof Nullable ? given : { type: given };
      // The types above have been compared with the row.
      return [
        name,
        t.expose(name as never, { type, ...options, description: texts[name as keyof Given & string] } as never),
      ];
    }),
  );
}
