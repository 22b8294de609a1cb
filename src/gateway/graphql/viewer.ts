import { OWN_STATEMENT, builder } from '../../core/graphql/builder.ts';
import { resolveList } from '../../core/graphql/connections.ts';
import { ForbiddenError, unauthenticated } from '../../core/errors.ts';
import { toGlobalId } from '../../core/graphql/global-ids.ts';
import { refusable } from '../../core/graphql/refusable.ts';
import { ANYBODY, type Actor } from '../../core/access.ts';
import type { ListOperation, ListType } from '../../core/graphql/lists.ts';
import { ifKnown } from '../../core/postgres/reading/columns.ts';
import { selectedColumns } from '../../core/graphql/selection.ts';
import { type Message, inGraphQL } from '../../core/text/wording.ts';
import { API_KEY_LIST, ApiKeyType, ScopeEnum } from '../../domains/api-keys/graphql.ts';
import { type ApiKeyRow, listApiKeys, listSignIns, readApiKeys } from '../../domains/api-keys/public.ts';
import { IdentityType } from '../../domains/identities/graphql.ts';
import { readOwnIdentities } from '../../domains/identities/public.ts';
import { INVITATION_LIST } from '../../domains/invitations/graphql.ts';
import { listOwnInvitations } from '../../domains/invitations/public.ts';
import { CONNECTED_APP_LIST } from '../../domains/oauth-grants/graphql.ts';
import { listConnectedApps } from '../../domains/oauth-grants/public.ts';
import { ORGANIZATION_LIST } from '../../domains/organizations/graphql/organization-list.ts';
import { ActorType, selectedOfActor } from '../../domains/organizations/graphql/actors.ts';
import { OrganizationType, RoleEnum } from '../../domains/organizations/graphql/types.ts';
import { type OrganizationRow, listOrganizations, readActingOrganization } from '../../domains/organizations/public.ts';
import { DELETION_JOB_LIST } from '../../domains/user-deletions/graphql.ts';
import { listDeletionJobs } from '../../domains/user-deletions/public.ts';
import { UserType } from '../../domains/users/graphql.ts';
import { type UserRow, readActors, readUsers } from '../../domains/users/public.ts';

/** The caller, and the entry point to everything that the key can access. It is not in a domain module, because it uses several. */
const ViewerType = builder.objectRef<Actor>('Viewer').implement({
  description: 'The caller: a person or a service account, the API key, and the organization that the request acts in.',
  fields: (t) => ({
    id: t.id({
      description:
        'Opaque id of this caller, by which clients cache it: the same for each request of one key in one organization. `node` does not find it, because a request has one viewer.',
      resolve: ({ keyId, organization }) => toGlobalId('Viewer', `${keyId}:${organization?.id ?? ''}`),
    }),
    actor: t.field({
      type: ActorType,
      description: 'The person or service account that owns the key.',
      extensions: OWN_STATEMENT,
      resolve: async ({ userId }, _, context, info) =>
        found((await readActors(context, [userId], selectedOfActor(info)))[0]),
    }),
    user: t.field({
      type: UserType,
      nullable: true,
      description: 'The user who owns the key. Null for the key of a service account: `actor` has both.',
      extensions: OWN_STATEMENT,
      resolve: async ({ userId, isServiceAccount }, _, context, info) => {
        if (isServiceAccount === true) return null;
        const selected = selectedColumns<UserRow>(info, 'User');
        return found(ifKnown({ id: userId }, selected) ?? (await readUsers(context, [userId], selected))[0]);
      },
    }),
    apiKey: t.field({
      type: ApiKeyType,
      description:
        'The API key of this request, or the one that the browser was signed in with. In a browser that is signed in without a key, the sign-in.',
      extensions: OWN_STATEMENT,
      resolve: async ({ keyId, signedInWithId, scopes }, _, context, info) => {
        const id = signedInWithId ?? keyId;
        const selected = selectedColumns<ApiKeyRow>(info, 'ApiKey');
        const known = ifKnown<ApiKeyRow>({ id, scopes: [...scopes] }, selected);
        return found(known ?? (await readApiKeys(context, [id], selected))[0]);
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

/** Defines a list of the caller. */
function viewerList<Shown extends object, Filter, Field extends string, Row extends object = Shown>(
  name: string,
  { type, connection, args, askedBy }: ListType<Shown, Filter, Field>,
  operation: ListOperation<Shown, Filter, Field, Row>,
  description: Message = operation.declaration.description,
): void {
  const { access } = operation.declaration;
  builder.objectField(ViewerType, name, (t) =>
    t.connection(
      {
        type,
        description: inGraphQL(description),
        args,
        extensions: access === ANYBODY ? {} : refusable(access),
        resolve: ({ userId }, given, context, info) => {
          const selected = selectedColumns<Row>(info, type.name);
          const list = () => operation(context, askedBy(given), selected);
          return resolveList({ context, info, args: given }, userId, list, selected);
        },
      },
      connection,
    ),
  );
}

viewerList(
  'organizations',
  ORGANIZATION_LIST,
  listOrganizations,
  'Organizations that the key can act in, by time of creation by default.',
);
viewerList(
  'apiKeys',
  API_KEY_LIST,
  listApiKeys,
  "API keys that the caller can see, newest first by default. Administrators see all keys of the organization that the request acts in, members their own. An unbound key also lists the caller's unbound keys.",
);
viewerList('signIns', API_KEY_LIST, listSignIns);
viewerList('connectedApps', CONNECTED_APP_LIST, listConnectedApps);
viewerList('invitations', INVITATION_LIST, listOwnInvitations);
viewerList('deletionJobs', DELETION_JOB_LIST, listDeletionJobs);

builder.objectField(ViewerType, 'identities', (t) =>
  t.field({
    type: [IdentityType],
    description: 'The identities with which the caller signs in, at most one of each identity provider.',
    extensions: { ...OWN_STATEMENT, ...refusable(readOwnIdentities.access) },
    resolve: (_, __, context) => readOwnIdentities(context),
  }),
);

/** Returns a row that must exist. It is missing only when the caller's rights have just ended. @throws `lost` */
function found<Row>(row: Row | undefined, lost: () => Error = unauthenticated): Row {
  if (row === undefined) throw lost();
  return row;
}

const noMember = (): ForbiddenError => new ForbiddenError('you are no longer a member of the organization');

builder.queryField('viewer', (t) =>
  t.field({
    type: ViewerType,
    description: 'The caller: user, API key and acting organization.',
    resolve: (_, __, { actor }) => actor,
  }),
);
