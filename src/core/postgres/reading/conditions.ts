import { type RawBuilder, type SqlBool, sql } from 'kysely';
import { type ValueOf, contains, snake } from './queries.ts';

/** The conditions of the filters of lists. */

export type Values = Readonly<Record<string, unknown>>;
export type Value = ValueOf<Values>;

/**
 * The condition for a property of a filter. `given` is the placeholder of its value, `value` gives those of others. With `inText` the value
 * itself decides the text, so it has few values; without a result, it excludes nothing.
 */
export type Condition<Given> =
  | ((given: RawBuilder<unknown>, value: Value) => RawBuilder<SqlBool>)
  | { readonly inText: (given: NonNullable<Given>, value: Value) => RawBuilder<SqlBool> | undefined };

type Simple = (given: RawBuilder<unknown>) => RawBuilder<SqlBool>;

/** Conditions on the columns of a table, by the names of the properties of its rows. */
export interface WhereColumn<Name extends string> {
  readonly is: (name: Name) => Simple;
  readonly oneOf: (name: Name, type?: 'text' | 'uuid') => Simple;
  /** Without regard to case. */
  readonly containing: (name: Name) => Simple;
  /** The conditions `createdFrom` and `createdBefore`, with another prefix for another property. */
  readonly between: <Prefix extends string>(
    prefix: Prefix,
    name: Name,
  ) => Readonly<Record<`${Prefix}From` | `${Prefix}Before`, Simple>>;
}

export function conditionsOn<Name extends string>(alias: string): WhereColumn<Name> {
  const column = (name: Name) => sql.ref<string>(`${alias}.${snake(name)}`);
  return {
    is: (name) => (given) => sql`${column(name)} = ${given}`,
    oneOf:
      (name, type = 'text') =>
      (given) =>
        sql`${column(name)} = any(${given}::${sql.raw(type)}[])`,
    containing: (name) => (given) => contains(sql`${column(name)}`, given),
    between: (prefix, name) => {
      const conditions = {
        [`${prefix}From`]: (given: RawBuilder<unknown>) => sql<SqlBool>`${column(name)} >= ${given}`,
        [`${prefix}Before`]: (given: RawBuilder<unknown>) => sql<SqlBool>`${column(name)} < ${given}`,
      };
      // The compiler does not follow names that are computed.
      return conditions as ReturnType<WhereColumn<Name>['between']>;
    },
  };
}
