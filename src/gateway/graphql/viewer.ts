import { OWN_STATEMENT, builder } from '../../core/graphql/builder.ts';
import { resolveList } from '../../core/graphql/connections.ts';
import { ForbiddenError, unauthenticated } from '../../core/errors.ts';
import { toGlobalId } from '../../core/graphql/global-ids.ts';
import { refusable } from '../../core/graphql/refusable.ts';
import type { Actor } from '../../core/access.ts';
import { ifKnown } from '../../core/postgres/reading/columns.ts';
import { selectedColumns } from '../../core/graphql/selection.ts';
import { inGraphQL } from '../../core/text/wording.ts';
import {
  API_KEY_ORDER,
  ApiKeyConnection,
  ApiKeyFilter,
  ApiKeyType,
  ScopeEnum,
} from '../../domains/api-keys/graphql.ts';
import { type ApiKeyRow, listApiKeys, readApiKeys } from '../../domains/api-keys/public.ts';
import {
  INVITATION_ORDER,
  InvitationConnection,
  InvitationFilter,
  InvitationType,
} from '../../domains/invitations/graphql.ts';
import { type InvitationRow, listOwnInvitations } from '../../domains/invitations/public.ts';
import { ORGANIZATION_ORDER, OrganizationFilter } from '../../domains/organizations/graphql/organization-filter.ts';
import { OrganizationConnection, OrganizationType, RoleEnum } from '../../domains/organizations/graphql/types.ts';
import { type OrganizationRow, listOrganizations, readActingOrganization } from '../../domains/organizations/public.ts';
import {
  DELETION_JOB_ORDER,
  DeletionJobConnection,
  DeletionJobFilter,
  DeletionJobType,
} from '../../domains/user-deletions/graphql.ts';
import { type DeletionJobRow, listDeletionJobs } from '../../domains/user-deletions/public.ts';
import { UserType } from '../../domains/users/graphql.ts';
import { type UserRow, readUsers } from '../../domains/users/public.ts';

/** The caller, and the entry point to everything that the key can access. It is not in a domain module, because it uses several. */
const ViewerType = builder.objectRef<Actor>('Viewer').implement({
  description: 'The caller: user, API key, and the organization that the request acts in.',
  fields: (t) => ({
    id: t.id({
      description:
        'Opaque id of this caller, by which clients cache it: the same for each request of one key in one organization. `node` does not find it, because a request has one viewer.',
      resolve: ({ keyId, organization }) => toGlobalId('Viewer', `${keyId}:${organization?.id ?? ''}`),
    }),
    user: t.field({
      type: UserType,
      description: 'The user who owns the key.',
      extensions: OWN_STATEMENT,
      resolve: async ({ userId }, _, context, info) => {
        const selected = selectedColumns<UserRow>(info, 'User');
        return found(ifKnown({ id: userId }, selected) ?? (await readUsers(context, [userId], selected))[0]);
      },
    }),
    apiKey: t.field({
      type: ApiKeyType,
      description: 'The API key of this request.',
      extensions: OWN_STATEMENT,
      resolve: async ({ keyId, scopes }, _, context, info) => {
        const selected = selectedColumns<ApiKeyRow>(info, 'ApiKey');
        const known = ifKnown<ApiKeyRow>({ id: keyId, scopes: [...scopes] }, selected);
        return found(known ?? (await readApiKeys(context, [keyId], selected))[0]);
      },
    }),
    scopes: t.field({
      type: [ScopeEnum],
      description: 'The permissions of the key, at least one.',
      resolve: ({ scopes }) => [...scopes],
    }),
    role: t.field({
      type: RoleEnum,
      nullable: true,
      description: 'Role of the caller in the organization. Null when the request acts in none.',
      resolve: ({ organization }) => organization?.role,
    }),
    organization: t.field({
      type: OrganizationType,
      nullable: true,
      description:
        "The organization that the request acts in: the organization of a bound key, else the one named by `X-Organization-Id`, else the user's only organization. Null when there is none.",
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
      description: 'Organizations that the key can act in, by time of creation by default.',
      args: {
        filter: t.arg({
          type: OrganizationFilter,
          description: 'Conditions on the organizations. When absent, all organizations are listed.',
        }),
        orderBy: t.arg(ORGANIZATION_ORDER.argument),
      },
      resolve: ({ userId }, args, context, info) => {
        const { filter, orderBy, ...page } = args;
        const selected = selectedColumns<OrganizationRow>(info, 'Organization');
        const asked = { filter: filter ?? {}, order: ORGANIZATION_ORDER.orderOf(orderBy), page };
        const list = () => listOrganizations(context, asked, selected);
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
        "API keys that the caller can see, newest first by default. Administrators see all keys of the organization that the request acts in, members their own. An unbound key also lists the caller's unbound keys.",
      args: {
        filter: t.arg({
          type: ApiKeyFilter,
          description: 'Conditions on the keys. When absent, all active keys are listed.',
        }),
        orderBy: t.arg(API_KEY_ORDER.argument),
      },
      extensions: refusable(listApiKeys.access),
      resolve: ({ userId }, args, context, info) => {
        const { filter, orderBy, ...page } = args;
        const selected = selectedColumns<ApiKeyRow>(info, 'ApiKey');
        const asked = { filter: filter ?? {}, order: API_KEY_ORDER.orderOf(orderBy), page };
        const list = () => listApiKeys(context, asked, selected);
        return resolveList({ context, info, args }, userId, list, selected);
      },
    },
    ApiKeyConnection,
  ),
);

builder.objectField(ViewerType, 'invitations', (t) =>
  t.connection(
    {
      type: InvitationType,
      description: inGraphQL(listOwnInvitations.declaration.description),
      args: {
        filter: t.arg({
          type: InvitationFilter,
          description: 'Conditions on the invitations. When absent, all open invitations are listed.',
        }),
        orderBy: t.arg(INVITATION_ORDER.argument),
      },
      extensions: refusable(listOwnInvitations.access),
      resolve: ({ userId }, args, context, info) => {
        const { filter, orderBy, ...page } = args;
        const selected = selectedColumns<InvitationRow>(info, 'OrganizationInvitation');
        const asked = { filter: filter ?? {}, order: INVITATION_ORDER.orderOf(orderBy), page };
        const list = () => listOwnInvitations(context, asked, selected);
        return resolveList({ context, info, args }, userId, list, selected);
      },
    },
    InvitationConnection,
  ),
);

builder.objectField(ViewerType, 'deletionJobs', (t) =>
  t.connection(
    {
      type: DeletionJobType,
      description: inGraphQL(listDeletionJobs.declaration.description),
      args: {
        filter: t.arg({
          type: DeletionJobFilter,
          description: 'Conditions on the deletions. When absent, all deletions are listed.',
        }),
        orderBy: t.arg(DELETION_JOB_ORDER.argument),
      },
      extensions: refusable(listDeletionJobs.access),
      resolve: ({ userId }, args, context, info) => {
        const { filter, orderBy, ...page } = args;
        const selected = selectedColumns<DeletionJobRow>(info, 'DeletionJob');
        const asked = { filter: filter ?? {}, order: DELETION_JOB_ORDER.orderOf(orderBy), page };
        const list = () => listDeletionJobs(context, asked, selected);
        return resolveList({ context, info, args }, userId, list, selected);
      },
    },
    DeletionJobConnection,
  ),
);

/** Returns a row that must exist. It is missing only when the caller's rights have just ended. @throws `lost` */
function found<Row>(row: Row | undefined, lost: () => Error = unauthenticated): Row {
  if (row === undefined) throw lost();
  return row;
}

function noMember(): ForbiddenError {
  return new ForbiddenError('you are no longer a member of the organization');
}

builder.queryField('viewer', (t) =>
  t.field({
    type: ViewerType,
    description: 'The caller: user, API key and acting organization.',
    resolve: (_, __, { actor }) => actor,
  }),
);
