import { type Expression, type RawBuilder, type SelectQueryBuilder, type SqlBool, sql } from 'kysely';
import { type Actor, requireOrganization } from '../../access.ts';
import type { OrganizationId } from '../../ids.ts';
import { keysOf } from '../../keys-of.ts';
import type { Columns } from './columns.ts';
import { type Condition, type Value, type Values, type WhereColumn, conditionsOn } from './conditions.ts';
import { counted, readCount } from './counts.ts';
import {
  type CountedPage,
  type Order,
  type Ordering,
  type Page,
  type PageArguments,
  type PageShape,
  type PageValues,
  paged,
  planPage,
} from './keyset.ts';
import { preparedByShape, snake } from './queries.ts';
import { type Places, type Reach, placesOf, within, withPlaceholders } from './reach.ts';
import type { Sql } from './sql.ts';

/**
 * The lists of nouns. A list is declared once: the rows that a caller can see, the conditions of its filter, and its orders. Its statements
 * are prepared. Their text follows from the shape: the form of the reach, the given conditions, the columns and the page.
 */

/** Who reads. */
export interface Reader {
  readonly actor: Actor;
  readonly sql: Sql;
  readonly now: () => Date;
}

type Expressed = string | ((value: Value) => RawBuilder<unknown>);
type Property<Row> = keyof Row & string;
type SortType = Ordering<never>['columns'][number]['type'];
type SortColumns<Row> = Readonly<Partial<Record<Property<Row>, SortType>>>;

interface Declaration<Row extends object, Filter extends object, Field extends string> {
  /** Distinguishes the cursors of lists and orders. A text is followed by the field of the order. */
  readonly name: string | ((order: Order<Field>) => string);
  /** The alias of the table in `rows`. */
  readonly alias: string;
  /** The properties of a row, if none are selected. */
  readonly columns: readonly Property<Row>[];
  /** What a property is that is not the column of this name in the table. */
  readonly expressions?: Readonly<Partial<Record<Property<Row>, Expressed>>>;
  /** The property that identifies a row, by default `id`. It is always selected, and ends each order of one column. */
  readonly key?: Property<Row>;
  /** Further properties that are always selected. */
  readonly always?: readonly Property<Row>[];
  /** The rows that the caller can see. Its columns are in the table with the alias `reachAlias`, by default in that of the list. */
  readonly reach: (reader: Reader) => Reach<object>;
  readonly reachAlias?: string;
  /** A further condition of every row, and its values. */
  readonly where?: (value: Value) => Expression<SqlBool>;
  readonly values?: (reader: Reader) => object;
  /** The condition for each property of the filter. */
  readonly filter: (on: WhereColumn<Property<Row>>) => { readonly [Name in keyof Filter]-?: Condition<Filter[Name]> };
  /** The columns of each order. A single column is followed by the key; several columns must identify a row. */
  readonly orders: Readonly<Record<Field, SortColumns<Row>>>;
  /** The order if none is given. */
  readonly otherwise?: Order<Field>;
}

/** What a list is asked for. */
export interface Asked<Filter, Field extends string> {
  readonly filter: Filter;
  readonly order?: Order<Field>;
  readonly page: PageArguments;
  readonly maxPageSize?: number;
}

type IdOf<Row> = Row extends { readonly id: infer Id } ? Id : string;

interface Shape {
  readonly reach: Places;
  /** The given conditions, each with its value if that decides the text. */
  readonly given: readonly (readonly [name: string, inText?: string | boolean])[];
}
type Selected = Shape & { readonly names: readonly string[] };

/** Declares the list of `rows`, at the top level of a module. */
export function defineList<Row extends object, Filter extends object, Field extends string>() {
  return <Tables, Table extends keyof Tables>(
    rows: SelectQueryBuilder<Tables, Table, object>,
    declaration: Declaration<Row, Filter, Field>,
    // The list uses the tables by its declaration only, whose properties are those of a row.
  ) => new List<Row, Filter, Field>(rows as unknown as Rows, declaration);
}

type Rows = SelectQueryBuilder<Record<string, object>, string, object>;

export class List<Row extends object, Filter extends object, Field extends string> {
  readonly #rows: Rows;
  readonly #declaration: Declaration<Row, Filter, Field>;
  readonly #key: Property<Row>;
  readonly #conditions: { readonly [Name in keyof Filter]-?: Condition<Filter[Name]> };
  readonly #names: readonly (keyof Filter & string)[];

  constructor(rows: Rows, declaration: Declaration<Row, Filter, Field>) {
    this.#rows = rows;
    this.#declaration = declaration;
    // Rows without an id have another key.
    this.#key = declaration.key ?? ('id' as Property<Row>);
    this.#conditions = declaration.filter(conditionsOn(declaration.alias));
    this.#names = keysOf(this.#conditions);
  }

  /** The rows with these ids that the caller can see and that meet the filter, in any order. */
  readonly find = (
    reader: Reader,
    ids: readonly IdOf<Row>[],
    asked?: Columns<Row>,
    filter: Partial<Filter> = {},
  ): Promise<Row[]> => {
    const { shape, values } = this.#given(reader, filter);
    return reader.sql.all(this.#byIds({ ...shape, names: this.#columns(asked) }, { ...values, ids }));
  };

  /** The rows that the caller can see and that meet the filter, in any order. */
  async all(reader: Reader, filter: Partial<Filter>, asked?: Columns<Row>): Promise<Row[]> {
    const { shape, values } = this.#given(reader, filter);
    return reader.sql.all(this.#all({ ...shape, names: this.#columns(asked) }, values));
  }

  async page(
    reader: Reader,
    { filter, order = this.#declaration.otherwise, page, maxPageSize }: Asked<Filter, Field>,
    asked?: Columns<Row>,
  ): Promise<Page<Row>> {
    if (!order) throw new Error('the list has no default order');
    const { shape, values } = this.#given(reader, filter);
    const sorted = this.#sorted(order);
    const plan = planPage(this.#ordering(order, sorted), page, maxPageSize);
    const names = this.#columns(
      asked,
      sorted.map(([name]) => name),
    );
    const statement = this.#pages({ ...shape, names, page: plan.shape }, { ...values, ...plan.values });
    return plan.toPage(await reader.sql.page(statement));
  }

  count(reader: Reader, filter: Partial<Filter>): Promise<number> {
    const { shape, values } = this.#given(reader, filter);
    return readCount(reader.sql, this.#counts(shape, values));
  }

  /**
   * A page, and what counts the list: what operations run. `organizationId` is the organization whose list is asked for.
   * @throws ValidationError (400) if the request acts in another organization.
   */
  readonly read = async (
    reader: Reader,
    { organizationId, ...asked }: Asked<Filter, Field> & { readonly organizationId?: OrganizationId },
    selected?: Columns<Row>,
  ): Promise<CountedPage<Row>> => {
    if (organizationId !== undefined) requireOrganization(reader.actor, organizationId);
    return { page: await this.page(reader, asked, selected), total: () => this.count(reader, asked.filter) };
  };

  readonly #all = preparedByShape<Values, Selected>()((value, shape) => this.#select(value, shape));

  readonly #byIds = preparedByShape<Values, Selected>()((value, shape) =>
    this.#select(value, shape).where(sql<SqlBool>`${this.#column(this.#key)} = any(${value('ids')}::uuid[])`),
  );

  readonly #pages = preparedByShape<Values & PageValues, Selected & { readonly page: PageShape }>()(
    (value, { page, ...shape }) => paged(this.#select(value, shape), page, value),
  );

  readonly #counts = preparedByShape<Values, Shape>()((value, shape) => counted(this.#matching(value, shape)));

  /** The rows that the caller can see and that meet the filter. */
  #matching(value: Value, { reach, given }: Shape): Rows {
    const { reachAlias, alias, where } = this.#declaration;
    const found = this.#rows.where(within(withPlaceholders(reach, value), reachAlias ?? alias));
    const conditions = given.map(([name, inText]) => {
      const condition = this.#conditions[name as keyof Filter];
      // The shape has the value of each condition whose text it decides.
      return typeof condition === 'function' ? condition(value(name), value) : condition.inText(inText as never, value);
    });
    return [where?.(value), ...conditions].reduce<Rows>((rows, each) => (each ? rows.where(each) : rows), found);
  }

  #select(value: Value, { names, ...shape }: Selected) {
    const selection = names.map((name) => this.#column(name as Property<Row>, value).as(name));
    // The selected columns have the names of the row's properties.
    return this.#matching(value, shape).select(selection).$castTo<Row>();
  }

  #column(name: Property<Row>, value?: Value): RawBuilder<unknown> {
    const { alias, expressions } = this.#declaration;
    const own: Expressed | undefined = expressions?.[name];
    if (typeof own === 'function' && value) return own(value);
    return sql.ref(typeof own === 'string' ? own : `${alias}.${snake(name)}`);
  }

  #columns(asked: Columns<Row>, sorted: readonly Property<Row>[] = []): readonly Property<Row>[] {
    const { columns, always = [] } = this.#declaration;
    return asked ? [...new Set([this.#key, ...always, ...sorted, ...asked])] : columns;
  }

  /** The shape of a query and its values. An empty text is no condition: each text contains it. */
  #given(reader: Reader, filter: Partial<Filter>): { shape: Shape; values: Values } {
    const { reach, values } = this.#declaration;
    const { places, values: reached } = placesOf(reach(reader));
    const given = this.#names
      .filter((name) => filter[name] != null && filter[name] !== '')
      .map((name): Shape['given'][number] =>
        typeof this.#conditions[name] === 'function' ? [name] : [name, filter[name] as string | boolean],
      );
    return { shape: { reach: places, given }, values: { ...filter, ...reached, ...values?.(reader) } };
  }

  #sorted({ field }: Order<Field>) {
    const columns = Object.entries<SortType | undefined>(this.#declaration.orders[field]);
    const sorted = columns.map(([name, type = 'text']) => [name as Property<Row>, type] as const);
    return sorted.length > 1 ? sorted : [...sorted, [this.#key, 'uuid'] as const];
  }

  #ordering(order: Order<Field>, sorted: readonly (readonly [Property<Row>, SortType])[]): Ordering<Row> {
    const { name, alias } = this.#declaration;
    return {
      name: typeof name === 'string' ? `${name}_${order.field}` : name(order),
      direction: order.direction,
      columns: sorted.map(([property, type]) => ({
        sql: `${alias}.${snake(property)}`,
        type,
        of: (row) => String(row[property]),
      })),
    };
  }
}

/** The reach of lists that belong to the organization. @throws ValidationError (400) if the request acts in none. */
export function inActingOrganization({ actor }: Reader): Reach<{ organizationId: OrganizationId }> {
  return { all: { organizationId: requireOrganization(actor).id } };
}
