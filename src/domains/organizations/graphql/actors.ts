import type { GraphQLResolveInfo } from 'graphql';
import { resolveBatched } from '../../../core/graphql/batches.ts';
import { type GraphQLContext, OWN_STATEMENT, builder } from '../../../core/graphql/builder.ts';
import { shown } from '../../../core/graphql/derived-fields.ts';
import { type FieldsOf, entityType } from '../../../core/graphql/nodes.ts';
import { needs, selectedColumns } from '../../../core/graphql/selection.ts';
import type { UserId } from '../../../core/ids.ts';
import type { Columns } from '../../../core/postgres/reading/columns.ts';
import { AccountInterface, UserType } from '../../users/graphql.ts';
import {
  type ActorRow,
  type ServiceAccountRow,
  isServiceAccount,
  readActors,
  readServiceAccounts,
  serviceAccountDocument,
} from '../../users/public.ts';
import './types.ts';

export const ServiceAccountType = entityType<ServiceAccountRow>('ServiceAccount', {
  stored: { table: 'user_account', organization: 'service_organization_id' },
  description:
    'An account of an organization for programs, such as its CI. It has API keys and a role, but is no member: it has no e-mail address, cannot sign in to the console, and stays when the people who made it leave. To read it, a key needs any scope of the workspace API.',
  interfaces: [AccountInterface],
  read: readServiceAccounts,
  fields: (t) => ({
    ...shown(t, serviceAccountDocument, ['name', 'role', 'createdAt', 'updatedAt']),
    displayName: t.string({
      description: 'The name, as a field that people have too.',
      extensions: needs<ServiceAccountRow>('name'),
      resolve: ({ name }) => name,
    }),
  }),
});

export const ActorType = builder.unionType('Actor', {
  description: 'Who has done something: a person, or a service account.',
  types: [UserType, ServiceAccountType],
  resolveType: (row) => (isServiceAccount(row) ? ServiceAccountType : UserType),
});

/** The columns that are selected of an author, whose role tells the types apart. */
export function selectedOfActor(info: GraphQLResolveInfo): Columns<ActorRow> {
  const ofUser = selectedColumns<ActorRow>(info, 'User');
  const ofServiceAccount = selectedColumns<ActorRow>(info, 'ServiceAccount');
  return ofUser && ofServiceAccount && [...new Set([...ofUser, ...ofServiceAccount, 'role' as const])];
}

/** The author with this id, read together with those of all other parents. Null if there is none that the caller may see. */
export function resolveActor(
  context: GraphQLContext,
  info: GraphQLResolveInfo,
  id: UserId | null,
): Promise<ActorRow | null> | null {
  if (id === null) return null;
  const selected = selectedOfActor(info);
  const load = async (ids: readonly string[]) =>
    new Map((await readActors(context, ids, selected)).map((row) => [row.id, row]));
  return resolveBatched({ context, info }, id, load, selected, null);
}

type AccountColumn<Row> = { [Name in keyof Row]: Row[Name] extends UserId | null ? Name : never }[keyof Row] & string;

/** A field that refers to a person or a service account by a column with its id. */
export const actorField = <Row extends object>(t: FieldsOf<Row>, column: AccountColumn<Row>, description: string) =>
  t.field({
    type: ActorType,
    nullable: true,
    description,
    extensions: { ...OWN_STATEMENT, ...needs<Row>(column) },
    // The column has an id or null.
    resolve: (row, _, context, info) => resolveActor(context, info, row[column] as UserId | null),
  });
