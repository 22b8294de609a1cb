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
export const nullable = <Of extends Type>(type: Of, extensions?: object): Nullable<Of> =>
  new Nullable(type, extensions);

type Table = Readonly<Record<string, Type | Nullable<Type>>>;
type Rows = Readonly<Record<string, readonly [type: Type | Nullable<Type>, text: string]>>;

/** Does not compile for a property of another type, or that can be null without `nullable`. */
type Fitting<Row, Name, Given> =
  Given extends Nullable<infer Of>
    ? Name extends CompatibleTypes<Types, Row, Of, true>
      ? Given
      : never
    : Given extends Type
      ? Name extends CompatibleTypes<Types, Row, Given, false>
        ? Given
        : never
      : never;

/** The fields of these types and texts. */
export const exposed = <Row extends object, Given extends Rows>(
  t: FieldsOf<Row>,
  rows: Given & { readonly [Name in keyof Given]: readonly [Fitting<Row, Name, Given[Name][0]>, string] },
): FieldMap =>
  Object.fromEntries(
    Object.entries<Rows[string]>(rows).map(([name, [given, description]]) => {
      const { type, ...options } = given instanceof Nullable ? given : { type: given };
      // The types have been compared with the row.
      return [name, t.expose(name as never, { type, ...options, description } as never)];
    }),
  );

/** The fields of these types, each with the text of its name. */
export function exposedWith<Row extends object, Given extends Table>(
  t: FieldsOf<Row>,
  texts: Readonly<Record<keyof Given & string, string>>,
  types: Given & { readonly [Name in keyof Given]: Fitting<Row, Name, Given[Name]> },
): FieldMap {
  const rows = Object.entries(types).map(([name, type]) => [name, [type, texts[name as keyof Given & string]]]);
  // The types have been compared with the row.
  return exposed(t, Object.fromEntries(rows) as never);
}
