import { notFound } from '../../errors.ts';
import { type Compilable, type Expression, type RawBuilder, type SelectQueryBuilder, type SqlBool, sql } from 'kysely';
import { type Actor, requireOrganization } from '../../access.ts';
import type { OrganizationId } from '../../ids.ts';
import type { LoadBatch } from '../../graphql/batches.ts';
import { keysOf } from '../../keys-of.ts';
import type { Columns } from './columns.ts';
import { type Condition, type Value, type Values, type WhereColumn, conditionsOn } from './conditions.ts';
import { counted, readCount } from './counts.ts';
import {
  type CountedPage,
  type Key,
  type KeyType,
  type Order,
  Ordering,
  type Page,
  type PageArguments,
  PagePlan,
  type PageShape,
  type PageValues,
  orderIn,
  paged,
} from './keyset.ts';
import { pagesByParent } from './pages.ts';
import { preparedByShape, queriesOn, snake, uuidList } from './queries.ts';
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
/** The type of a column, and whether rows can lack it: these are last in both directions. */
type SortType = KeyType | { readonly type: KeyType; readonly isNullable: true };
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
  /** What the rows are listed below, for `pagesBelow` and `countsBelow`. */
  readonly below?: Below<Property<Row>>;
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

interface Below<Name extends string> {
  /** The property with the id of the parent, and whether its column has free text that can be one. */
  readonly parent: Name;
  readonly isText?: boolean;
  /**
   * The table alone, and those of the parents with the name of their id, if the reach is in a table that `rows` joins: then it is tested once
   * for each parent instead of within the list of each.
   */
  readonly own?: Rows;
  readonly parents?: Rows;
  readonly parentId?: string;
  /** What each row of `pagesBelow` also says of its parent, as `parentMark`. It is a column of `parents`. */
  readonly mark?: (value: Value) => RawBuilder<unknown>;
}

export interface Asked<Filter, Field extends string> {
  readonly filter: Filter;
  readonly order?: Order<Field>;
  readonly page: PageArguments;
  readonly maxPageSize?: number;
  /** Whether large columns are JSON that is answered as it is. */
  readonly isJson?: boolean;
}

type IdOf<Row> = Row extends { readonly id: infer Id } ? Id : string;

interface Shape {
  readonly reach: Places;
  /** The given conditions, each with its value if that decides the text. */
  readonly given: readonly (readonly [name: string, inText?: string | boolean | readonly string[]])[];
}
type Selected = Shape & { readonly names: readonly string[] };
type Paged = Selected & { readonly page: PageShape; readonly field: string };

/** Declares the list of `rows`, at the top level of a module. */
export const defineList =
  <Row extends object, Filter extends object, Field extends string>() =>
  <Tables, Table extends keyof Tables>(
    rows: SelectQueryBuilder<Tables, Table, object>,
    declaration: Declaration<Row, Filter, Field>,
  ) =>
    new List<Row, Filter, Field>(tablesOf(rows), declaration);

/** The tables of a query, which a list uses by its declaration only. */
export const tablesOf = <Tables, Table extends keyof Tables>(rows: SelectQueryBuilder<Tables, Table, object>): Rows =>
  rows as unknown as Rows;

const db = queriesOn<object>();

export type Rows = SelectQueryBuilder<Record<string, object>, string, object>;

export class List<Row extends object, Filter extends object, Field extends string> {
  readonly #rows: Rows;
  readonly #declaration: Declaration<Row, Filter, Field>;
  readonly #key: Property<Row>;
  readonly #conditions: { readonly [Name in keyof Filter]-?: Condition<Filter[Name]> };
  readonly #names: readonly (keyof Filter & string)[];
  readonly #orderings = new Map<string, Ordering<Row>>();

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

  /** The row with this id. @throws NotFoundError (404), naming `what`, if the caller sees none. */
  async one(reader: Reader, id: IdOf<Row>, what: string): Promise<Row> {
    const [row] = await this.find(reader, [id]);
    if (!row) throw notFound(what);
    return row;
  }

  /** The rows that the caller can see and that meet the filter, in any order. */
  async all(reader: Reader, filter: Partial<Filter>, asked?: Columns<Row>): Promise<Row[]> {
    const { shape, values } = this.#given(reader, filter);
    return reader.sql.all(this.#all({ ...shape, names: this.#columns(asked) }, values));
  }

  async page(reader: Reader, listed: Asked<Filter, Field>, asked?: Columns<Row>): Promise<Page<Row>> {
    const { plan, shape, values } = this.#planned(reader, listed, asked);
    return plan.toPage(await reader.sql.page(this.#pages(shape, values), { isJson: listed.isJson ?? false }));
  }

  /** The value of the first column of the order after which a page begins; undefined at the start of the list. */
  startOf(reader: Reader, listed: Asked<Filter, Field>): string | number | undefined {
    return this.#planned(reader, listed, undefined).plan.values['page.after.0'];
  }

  /** A page of the list of each of these parents, by one statement. Each has a page, which may be empty. */
  pagesBelow(reader: Reader, listed: Asked<Filter, Field>, asked?: Columns<Row>): LoadBatch<string, Page<Row>> {
    const { plan, shape, values } = this.#planned(reader, listed, asked);
    const read = (ids: readonly string[]) =>
      reader.sql.page(this.#pagesBelow(shape, { ...values, parentIds: uuidList(ids) }));
    return (parentIds) => pagesByParent(plan, parentIds, { read, parentOf: ({ parentId }) => parentId });
  }

  /** The number of rows in the list of each of these parents; none if there are none. */
  countsBelow(reader: Reader, filter: Partial<Filter>): LoadBatch<string, number> {
    const { shape, values } = this.#given(reader, filter);
    return async (parentIds) => {
      const rows = await reader.sql.all(this.#countsBelow(shape, { ...values, parentIds: uuidList(parentIds) }));
      return new Map(rows.map(({ id, count }) => [id, count]));
    };
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

  /**
   * Prepares a query over the rows that the caller can see and that meet a filter, at the top level of a module. `build` sees nothing but its
   * arguments; `further` decides the text too.
   */
  over<Further extends string, Result>(build: (rows: Rows, further: Further) => Compilable<Result>) {
    const statements = preparedByShape<Values, Shape & { readonly further: Further }>()(
      (value, { further, ...shape }) => build(this.#matching(value, shape), further),
    );
    return (reader: Reader, filter: Partial<Filter>, further: Further): Promise<Result[]> => {
      const { shape, values } = this.#given(reader, filter);
      return reader.sql.all(statements({ ...shape, further }, values));
    };
  }

  readonly #all = preparedByShape<Values, Selected>()((value, shape) =>
    this.#select(this.#matching(value, shape), value, shape.names),
  );

  readonly #byIds = preparedByShape<Values, Selected>()((value, shape) =>
    this.#select(this.#matching(value, shape), value, shape.names).where(
      sql<SqlBool>`${this.#column(this.#key)} = any(${value('ids')}::uuid[])`,
    ),
  );

  readonly #pages = preparedByShape<Values & PageValues, Paged>()((value, { page, field, names, ...shape }) =>
    paged(this.#select(this.#matching(value, shape), value, names), this.#ordering(field, page), page, value),
  );

  readonly #pagesBelow = preparedByShape<Values & PageValues, Paged>()(
    (value, { page, field, names, reach, given }) => {
      const ordering = this.#ordering(field, page);
      const { own, parents, parentId = '', parent, isText = false, mark } = this.#below;
      const { alias, reachAlias = alias } = this.#declaration;
      const reached = withPlaceholders(reach, value);
      const rows = own?.where(within(organizationOf(reached), alias)) ?? this.#rows.where(within(reached, alias));
      const list = this.#select(this.#fitting(rows, value, given), value, names).where(
        sql<SqlBool>`${this.#column(parent)} = parent.id${isText ? sql`::text` : sql``}`,
      );
      const ids = sql`${value('parentIds')}::uuid[]`;
      const readable = parents
        ?.select([sql.ref(parentId).as('id'), ...(mark ? [mark(value).as('mark')] : [])])
        .where(sql<SqlBool>`${sql.ref(parentId)} = any(${ids})`)
        .where(within(reached, reachAlias));
      return db
        .selectFrom(sql<{ id: string }>`(${readable ?? sql`select unnest(${ids}) as id`})`.as<'parent'>(sql`parent`))
        .crossJoinLateral(sql<Row>`${paged(list, ordering, page, value)}`.as<'child'>(sql`child`))
        .select(['parent.id as parentId', ...(mark ? [sql.ref('parent.mark').as('parentMark')] : [])])
        .selectAll('child')
        .orderBy('parent.id')
        .orderBy(sql.join(orderIn('child', ordering, page)))
        .$castTo<Row & { readonly parentId: string }>();
    },
  );

  readonly #countsBelow = preparedByShape<Values, Shape>()((value, shape) =>
    this.#matching(value, shape)
      .select([this.#column(this.#below.parent).as('id'), sql`count(*)`.as('count')])
      .where(
        sql<SqlBool>`${this.#column(this.#below.parent)} = any(${value('parentIds')}::uuid[]${this.#below.isText ? sql`::text[]` : sql``})`,
      )
      .groupBy(this.#column(this.#below.parent))
      .$castTo<{ id: string; count: number }>(),
  );

  readonly #counts = preparedByShape<Values, Shape>()((value, shape) => counted(this.#matching(value, shape)));

  /** The rows that the caller can see and that meet the filter. */
  #matching(value: Value, { reach, given }: Shape): Rows {
    const { reachAlias, alias } = this.#declaration;
    return this.#fitting(this.#rows.where(within(withPlaceholders(reach, value), reachAlias ?? alias)), value, given);
  }

  #fitting(rows: Rows, value: Value, given: Shape['given']): Rows {
    const conditions = given.map(([name, inText]) => {
      const condition = this.#conditions[name as keyof Filter];
      // The shape has the value of each condition whose text it decides.
      return typeof condition === 'function' ? condition(value(name), value) : condition.inText(inText as never, value);
    });
    return [this.#declaration.where?.(value), ...conditions].reduce<Rows>(
      (found, each) => (each ? found.where(each) : found),
      rows,
    );
  }

  #select(rows: Rows, value: Value, names: readonly string[]) {
    const selection = names.map((name) => this.#column(name as Property<Row>, value).as(name));
    // The selected columns have the names of the row's properties.
    return rows.select(selection).$castTo<Row>();
  }

  #column(name: Property<Row>, value?: Value): RawBuilder<unknown> {
    const { alias, expressions } = this.#declaration;
    const own: Expressed | undefined = expressions?.[name];
    if (typeof own === 'function' && value) return own(value);
    // As in the keys of the order, because it can be more than a column.
    return typeof own === 'string' ? sql.raw(own) : sql.ref(`${alias}.${snake(name)}`);
  }

  get #below(): Below<Property<Row>> {
    const { below } = this.#declaration;
    if (!below) throw new Error('the list is below no other objects');
    return below;
  }

  #planned(
    reader: Reader,
    { filter, order = this.#declaration.otherwise, page, maxPageSize }: Asked<Filter, Field>,
    asked: Columns<Row>,
  ) {
    if (!order) throw new Error('the list has no default order');
    const { shape, values } = this.#given(reader, filter);
    const ordering = this.#ordering(order.field, order);
    const plan = new PagePlan(ordering, page, maxPageSize);
    const names = this.#columns(asked, ordering.keys);
    return {
      plan,
      shape: { ...shape, names, field: order.field, page: plan.shape },
      values: { ...values, ...plan.values },
    };
  }

  #columns(asked: Columns<Row>, keys: readonly Key<Property<Row>>[] = []): readonly Property<Row>[] {
    const { columns, always = [] } = this.#declaration;
    if (!asked) return columns;
    return [...new Set([this.#key, ...always, ...keys.map(({ property }) => property), ...asked])];
  }

  /** The shape of a query and its values. An empty text is no condition: each text contains it. */
  #given(reader: Reader, filter: Partial<Filter>): { shape: Shape; values: Values } {
    const { reach, values } = this.#declaration;
    const { places, values: reached } = placesOf(reach(reader));
    const given = this.#names
      .filter((name) => filter[name] != null && filter[name] !== '')
      .map((name): Shape['given'][number] =>
        typeof this.#conditions[name] === 'function' ? [name] : [name, filter[name] as Shape['given'][number][1]],
      );
    return { shape: { reach: places, given }, values: { ...filter, ...reached, ...values?.(reader) } };
  }

  /** The order by a field in a direction. A single column is followed by the key. */
  #ordering(field: string, { direction }: Pick<Order<Field>, 'direction'>): Ordering<Row> {
    const known = this.#orderings.get(`${direction} ${field}`);
    if (known) return known;
    // The fields of orders are those of the declaration.
    const order = { field: field as Field, direction };
    const { name, alias, expressions, orders } = this.#declaration;
    const columns = Object.entries<SortType | undefined>(orders[order.field]).map(
      ([property, given = 'text']): Key<Property<Row>> => {
        const own: Expressed | undefined = expressions?.[property as Property<Row>];
        const column = typeof own === 'string' ? own : `${alias}.${snake(property)}`;
        return {
          property: property as Property<Row>,
          sql: column,
          ...(typeof given === 'object' ? given : { type: given }),
        };
      },
    );
    const last: Key<Property<Row>> = { property: this.#key, sql: `${alias}.${snake(this.#key)}`, type: 'uuid' };
    const ordering = new Ordering<Row>({
      name: typeof name === 'string' ? `${name}_${field}` : name(order),
      keys: columns.length > 1 ? columns : [...columns, last],
      direction,
    });
    this.#orderings.set(`${direction} ${field}`, ordering);
    return ordering;
  }
}

/** The reach of lists that belong to the organization. @throws ValidationError (400) if the request acts in none. */
export const inActingOrganization = ({ actor }: Reader): Reach<{ organizationId: OrganizationId }> => ({
  all: { organizationId: requireOrganization(actor).id },
});

/** The organization of a reach, which each table has. */
const organizationOf = ({ all }: Reach<object>): Reach<object> => ({
  all: { organizationId: (all as { organizationId?: unknown }).organizationId },
});
