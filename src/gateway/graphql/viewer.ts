import { OWN_STATEMENT, builder } from '../../core/graphql/builder.ts';
import { resolveList } from '../../core/graphql/connections.ts';
import { ForbiddenError, unauthenticated } from '../../core/errors.ts';
import { refusable } from '../../core/graphql/refusable.ts';
import type { Actor } from '../../core/operation.ts';
import { ifKnown } from '../../core/postgres/columns.ts';
import { selectedColumns } from '../../core/graphql/selection.ts';
import {
  API_KEY_ORDER,
  ApiKeyConnection,
  ApiKeyFilter,
  ApiKeyType,
  ScopeEnum,
} from '../../domains/api-keys/graphql.ts';
import { type ApiKeyRow, listApiKeys, readApiKeys } from '../../domains/api-keys/operations.ts';
import { ORGANIZATION_ORDER, OrganizationFilter } from '../../domains/organizations/graphql/lists.ts';
import { OrganizationConnection, OrganizationType, RoleEnum } from '../../domains/organizations/graphql/types.ts';
import {
  type OrganizationRow,
  listOrganizations,
  readActingOrganization,
} from '../../domains/organizations/operations.ts';
import { UserType } from '../../domains/users/graphql.ts';
import { type UserRow, readUsers } from '../../domains/users/operations.ts';

/** Who calls: the way from a key to everything it reaches. It joins nouns, so it stands above them. */
const ViewerType = builder.objectRef<Actor>('Viewer').implement({
  description: 'The caller: their user, the key they call with, and the organization they act in.',
  fields: (t) => ({
    user: t.field({
      type: UserType,
      description: 'The user whom the key belongs to.',
      extensions: OWN_STATEMENT,
      resolve: async ({ userId }, _, context, info) => {
        const selected = selectedColumns<UserRow>(info, 'User');
        return found(ifKnown({ id: userId }, selected) ?? (await readUsers(context, [userId], selected))[0]);
      },
    }),
    apiKey: t.field({
      type: ApiKeyType,
      description: 'The key of this request.',
      extensions: OWN_STATEMENT,
      resolve: async ({ keyId, scopes }, _, context, info) => {
        const selected = selectedColumns<ApiKeyRow>(info, 'ApiKey');
        const known = ifKnown<ApiKeyRow>({ id: keyId, scopes: [...scopes] }, selected);
        return found(known ?? (await readApiKeys(context, [keyId], selected))[0]);
      },
    }),
    scopes: t.field({ type: [ScopeEnum], description: 'What the key may do.', resolve: ({ scopes }) => [...scopes] }),
    role: t.field({
      type: RoleEnum,
      nullable: true,
      description: 'What the caller may do in the organization.',
      resolve: ({ organization }) => organization?.role,
    }),
    organization: t.field({
      type: OrganizationType,
      nullable: true,
      description:
        "The organization the caller acts in: the key's; else the one named by `X-Organization-Id`; else the user's only one; else null.",
      extensions: OWN_STATEMENT,
      resolve: async ({ organization }, _, context, info) => {
        const selected = selectedColumns<OrganizationRow>(info, 'Organization');
        return organization ? found(await readActingOrganization(context, selected), noMember) : null;
      },
    }),
  }),
});

builder.objectField(ViewerType, 'organizations', (t) =>
  t.connection(
    {
      type: OrganizationType,
      description: 'The organizations that the key reaches, by time of creation unless ordered otherwise.',
      args: {
        filter: t.arg({ type: OrganizationFilter, description: 'Which ones; all when absent.' }),
        orderBy: t.arg(ORGANIZATION_ORDER.argument),
      },
      resolve: ({ userId }, args, context, info) => {
        const { filter, orderBy, ...page } = args;
        const selected = selectedColumns<OrganizationRow>(info, 'Organization');
        const asked = { filter: filter ?? {}, order: ORGANIZATION_ORDER.orderOf(orderBy) };
        const list = () => listOrganizations(context, asked, page, selected);
        return resolveList({ context, info, args }, userId, list, selected);
      },
    },
    OrganizationConnection,
  ),
);

builder.objectField(ViewerType, 'apiKeys', (t) =>
  t.connection(
    {
      type: ApiKeyType,
      description:
        "The keys that the caller may see, newest first unless ordered otherwise: those of the organization that the request acts in (all of them for an administrator, their own for a member), and with an unbound key also the caller's own unbound ones. `filter: { userIds }` lists those of one user.",
      args: {
        filter: t.arg({ type: ApiKeyFilter, description: 'Which ones; all that are active when absent.' }),
        orderBy: t.arg(API_KEY_ORDER.argument),
      },
      extensions: refusable(listApiKeys.access),
      resolve: ({ userId }, args, context, info) => {
        const { filter, orderBy, ...page } = args;
        const selected = selectedColumns<ApiKeyRow>(info, 'ApiKey');
        const asked = { filter: filter ?? {}, order: API_KEY_ORDER.orderOf(orderBy) };
        const list = () => listApiKeys(context, asked, page, selected);
        return resolveList({ context, info, args }, userId, list, selected);
      },
    },
    ApiKeyConnection,
  ),
);

/** A row that authentication has just seen is gone only where rights have ended since. @throws `lost` */
function found<Row>(row: Row | undefined, lost: () => Error = unauthenticated): Row {
  if (row === undefined) throw lost();
  return row;
}

function noMember(): ForbiddenError {
  return new ForbiddenError('you are no longer a member of the organization');
}

builder.queryField('viewer', (t) =>
  t.field({ type: ViewerType, description: 'The caller.', resolve: (_, __, { actor }) => actor }),
);
