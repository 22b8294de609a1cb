import type { InputRef, ObjectRef } from '@pothos/core';
import { type GraphQLContext, type SchemaTypes, builder } from '../../../core/graphql/builder.ts';
import { type connectionType, resolveList } from '../../../core/graphql/connections.ts';
import type { orderType } from '../../../core/graphql/orders.ts';
import { refusable } from '../../../core/graphql/refusable.ts';
import { needs, selectedColumns } from '../../../core/graphql/selection.ts';
import { type Message, inGraphQL } from '../../../core/text/wording.ts';
import type { OrganizationId } from '../../../core/ids.ts';
import type { Access } from '../../../core/access.ts';
import type { Columns } from '../../../core/postgres/reading/columns.ts';
import type { CountedPage, Order, PageArguments } from '../../../core/postgres/reading/keyset.ts';
import type { OrganizationRow } from '../queries.ts';
import { OrganizationType } from './types.ts';

type Types = PothosSchemaTypes.ExtendDefaultTypes<SchemaTypes>;

interface ListArguments<Filter> extends PageArguments {
  readonly filter?: Filter | null;
  readonly orderBy?: object | null;
}

/** What a list of an organization is asked for. */
interface AskedList<Filter, Field extends string> {
  readonly organizationId: OrganizationId;
  readonly filter: Filter | Record<string, never>;
  readonly order: Order<Field>;
  readonly page: PageArguments;
}

interface OrganizationListOptions<Shown extends object, Filter, Field extends string, Row extends object> {
  readonly type: ObjectRef<Types, Shown>;
  readonly connection: ReturnType<typeof connectionType<Shown>>;
  readonly description: Message;
  /** The access of the operation. */
  readonly access: Access;
  readonly filter: { readonly type: InputRef<Filter>; readonly description: string };
  readonly order: ReturnType<typeof orderType<Field>>;
  readonly list: (
    context: GraphQLContext,
    asked: AskedList<Filter, Field>,
    selected: Columns<Row>,
  ) => Promise<CountedPage<Shown>>;
}

/** Defines a list of an organization, as a connection with the arguments `filter` and `orderBy`. Only the acting organization has it. */
export function organizationList<Shown extends object, Filter, Field extends string, Row extends object = Shown>(
  name: string,
  options: OrganizationListOptions<Shown, Filter, Field, Row>,
): void {
  const { type, connection, description, access, filter: filterArgument, order, list } = options;
  builder.objectField(OrganizationType, name, (t) =>
    t.connection(
      {
        type,
        description: inGraphQL(description),
        args: { filter: t.arg(filterArgument), orderBy: t.arg(order.argument) },
        extensions: { ...refusable(access, { actingOrganization: true }), ...needs<OrganizationRow>('id') },
        resolve: ({ id: organizationId }, args, context, info) => {
          // The types of the builder cannot infer the arguments for a type parameter.
          const { filter, orderBy, ...page } = args as ListArguments<Filter>;
          const selected = selectedColumns<Row>(info, type.name);
          const asked = { organizationId, filter: filter ?? {}, order: order.orderOf(orderBy), page };
          return resolveList({ context, info, args }, organizationId, () => list(context, asked, selected), selected);
        },
      },
      connection,
    ),
  );
}
