import type { FieldMap, InputRef, ObjectFieldBuilder } from '@pothos/core';
import type { GraphQLResolveInfo } from 'graphql';
import { type LoadBatch, resolvePlanned } from './batches.ts';
import type { Columns } from '../postgres/reading/columns.ts';
import type { Declaration } from '../operation.ts';
import type { CountedPage, Order, Page, PageArguments } from '../postgres/reading/keyset.ts';
import { type GraphQLContext, type SchemaTypes, builder } from './builder.ts';
import { type Connection, type Listed, connectionType, connectionsBelow } from './connections.ts';
import type { FieldsOf } from './nodes.ts';
import { type OrderOptions, orderType } from './orders.ts';
import { needs, selectedColumns } from './selection.ts';

/** The lists of an object type: its connection, and the arguments `filter` and `orderBy`. */

type Types = PothosSchemaTypes.ExtendDefaultTypes<SchemaTypes>;

interface ListOptions<Row, Filter, Field extends string> extends OrderOptions<Field> {
  readonly filter: InputRef<Filter>;
  /** Names the objects of a page, if otherwise than `of`. */
  readonly page?: string;
  /** What the filter means, and its absence. */
  readonly conditions: string;
  /** Properties of the relation rather than of the object. */
  readonly edgeFields?: (t: ObjectFieldBuilder<Types, Connection<Row>['edges'][number]>) => FieldMap;
}

interface ListArguments<Filter> extends PageArguments {
  readonly filter?: Filter | null;
  readonly orderBy?: object | null;
}

export interface AskedList<Filter, Field extends string> {
  readonly filter: Filter;
  readonly order: Order<Field>;
  readonly page: PageArguments;
}

/** What both APIs publish about a list. */
export type DeclaredList = Pick<Declaration, 'access' | 'description'>;

/** An operation that lists rows of the caller. `Owner` names whose list it is. */
export interface ListOperation<Shown, Filter, Field extends string, Row, Owner = object> {
  (
    context: GraphQLContext,
    asked: AskedList<Filter, Field> & Owner,
    selected: Columns<Row>,
  ): Promise<CountedPage<Shown>>;
  readonly declaration: DeclaredList;
}

export type ListType<Row extends object, Filter, Field extends string> = ReturnType<
  typeof listType<Row, Filter, Field>
>;

/** Defines the connection and the order of a type. `of` names the objects in the plural. */
export function listType<Row extends object, Filter, Field extends string>(
  type: Listed<Row>,
  { of, page = of, filter, conditions, fields, otherwise, edgeFields }: ListOptions<Row, Filter, Field>,
) {
  const order = orderType<Field>(type.name, { of, fields, otherwise });
  return {
    type,
    connection: connectionType(type, { of: page, ...(edgeFields && { edgeFields }) }),
    args: builder.args((t) => ({
      filter: t.field({ type: filter, description: conditions }),
      orderBy: t.field(order.argument),
    })),
    /** What the arguments ask for. The types of the builder cannot infer them for a type parameter. */
    askedBy: (args: object): AskedList<Filter, Field> => {
      const { filter: given, orderBy, ...bounds } = args as ListArguments<Filter>;
      // No condition is a filter of each list.
      return { filter: given ?? ({} as Filter), order: order.orderOf(orderBy), page: bounds };
    },
  };
}

/** What reads a list below each of several objects: a list of `core/postgres/reading/lists.ts`. */
interface RowsBelow<Row, Filter, Field extends string> {
  pagesBelow(
    context: GraphQLContext,
    asked: AskedList<Filter, Field>,
    selected: Columns<Row>,
  ): LoadBatch<string, Page<Row>>;
  countsBelow(context: GraphQLContext, filter: Filter): LoadBatch<string, number>;
}

interface ListBelow<Row, Filter, Field extends string> {
  readonly description: string;
  readonly extensions?: object;
  readonly rows: RowsBelow<Row, Filter, Field>;
  /** The error for a parent whose list has no page. */
  readonly missing?: () => Error;
}

/** Makes what resolves the list below an object: one statement for the pages of all parents, and one for all counts. */
export function belowEach<Row extends object, Filter extends object, Field extends string>(
  { type, askedBy }: ListType<Row, Filter, Field>,
  { rows, missing }: Pick<ListBelow<Row, Filter, Field>, 'rows' | 'missing'>,
) {
  const plan = (given: object, context: GraphQLContext, info: GraphQLResolveInfo) => {
    const asked = askedBy(given);
    const columns = selectedColumns<Row>(info, type.name);
    return connectionsBelow<Row>(
      { context, info },
      {
        // Planned within the load: a fault of the arguments is one of each parent.
        pages: async (ids) => rows.pagesBelow(context, asked, columns)(ids),
        counts: () => rows.countsBelow(context, asked.filter),
        countedBy: asked.filter,
        columns,
        ...(missing && { missing }),
      },
    );
  };
  return (id: string, args: object, context: GraphQLContext, info: GraphQLResolveInfo): Promise<Connection<Row>> =>
    resolvePlanned({ context, info, args }, id, plan);
}

/** A list of each object of another type. */
export function listBelow<
  Parent extends { readonly id: string },
  Row extends object,
  Filter extends object,
  Field extends string,
>(
  t: FieldsOf<Parent>,
  list: ListType<Row, Filter, Field>,
  { description, extensions, ...below }: ListBelow<Row, Filter, Field>,
) {
  const { type, connection, args } = list;
  const resolve = belowEach(list, below);
  return t.connection(
    {
      type,
      description,
      args,
      extensions: { ...extensions, ...needs<{ id: string }>('id') },
      resolve: ({ id }, given, context, info) => resolve(id, given, context, info),
    },
    connection,
  );
}
