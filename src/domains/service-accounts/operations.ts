import { LockMode } from '@mikro-orm/postgresql';
import { type Actor, requireOrganization } from '../../core/access.ts';
import { type AuditTarget, newValues } from '../../core/audit.ts';
import { ConflictError, NotFoundError, notFound, limitReached } from '../../core/errors.ts';
import type { ApiKeyId, ServiceAccountId } from '../../core/ids.ts';
import { isEmptyUpdate, requireUnchanged } from '../../core/input/expected-version.ts';
import { givenNames } from '../../core/keys-of.ts';
import { type OperationContext, defineOperation, unchanged } from '../../core/operation.ts';
import type { Asked } from '../../core/postgres/reading/lists.ts';
import type { CountedPage } from '../../core/postgres/reading/keyset.ts';
import {
  type ApiKeyRow,
  type CreatedApiKey,
  createdApiKeyTarget,
  apiKeyTopic,
  createServiceAccountApiKeyInput,
  issueAllowed,
  listApiKeys,
  requireNotStronger,
  requireScopesOf,
  revokeKeys,
} from '../api-keys/public.ts';
import { removeFromGroups } from '../groups/public.ts';
import { lockOrganization, requireKnownRole } from '../organizations/public.ts';
import { User } from '../users/public.ts';
import { createServiceAccountInput, serviceAccountReference, updateServiceAccountInput } from './input.ts';
import { MANAGE_SERVICE_ACCOUNTS, READ_THEIR_KEYS, WRITE_THEIR_KEYS } from './policy.ts';
import { SERVICE_ACCOUNTS } from './queries.ts';

/** Maximum number of service accounts of an organization. */
export const MAX_SERVICE_ACCOUNTS = 100;

const targetOf = ({ id, name }: Pick<User, 'id' | 'name'>): AuditTarget => ({
  type: 'ServiceAccount',
  id,
  label: name,
});

const changed = (context: OperationContext, { id }: Pick<User, 'id'>) =>
  SERVICE_ACCOUNTS.one(context, id, 'service account');

export const createServiceAccount = defineOperation({
  name: 'createServiceAccount',
  description:
    'Creates a service account: an account of the organization for programs, which has API keys and a role, is no member, and stays when the people who made it leave. An organization has at most 100 service accounts.',
  access: MANAGE_SERVICE_ACCOUNTS,
  input: createServiceAccountInput,
  errors: [ConflictError],
  run: async (context, { name, role }) => {
    const { em, actor, now, newId } = context;
    await requireKnownRole(context, role);
    const { id: organizationId } = requireOrganization(actor);
    await lockOrganization(em, organizationId);
    if ((await em.count(User, inOrganization(actor))) >= MAX_SERVICE_ACCOUNTS)
      throw limitReached(
        MAX_SERVICE_ACCOUNTS,
        `an organization has at most ${MAX_SERVICE_ACCOUNTS} service accounts; delete one first`,
      );
    const at = now();
    const service = { serviceOrganizationId: organizationId, serviceRole: role };
    return em.create(User, { id: newId(), email: null, name, ...service, createdAt: at, updatedAt: at });
  },
  target: (account) => ({ ...targetOf(account), detail: account.serviceRole ?? undefined }),
  answer: changed,
});

const inOrganization = (actor: Actor) => ({
  serviceOrganizationId: requireOrganization(actor).id,
  serviceDeletedAt: null,
});

async function loadServiceAccount({ em, actor }: OperationContext, id: ServiceAccountId): Promise<User> {
  const lock = { lockMode: LockMode.PESSIMISTIC_WRITE };
  const account = await em.findOne(User, { id, ...inOrganization(actor) }, lock);
  if (!account) throw notFound('service account');
  return account;
}

export const updateServiceAccount = defineOperation({
  name: 'updateServiceAccount',
  description: 'Changes the name and the role of a service account. An absent field does not change.',
  access: MANAGE_SERVICE_ACCOUNTS,
  input: updateServiceAccountInput,
  errors: [NotFoundError, ConflictError],
  run: async (context, { serviceAccountId, expectedUpdatedAt, ...changes }) => {
    const account = await loadServiceAccount(context, serviceAccountId);
    requireUnchanged(account, { expectedUpdatedAt }, { type: 'ServiceAccount', key: account.id });
    if (isEmptyUpdate(changes)) return unchanged(account);
    await requireKnownRole(context, changes.role);
    if (changes.name !== undefined) account.name = changes.name;
    if (changes.role !== undefined && changes.role !== account.serviceRole) {
      account.serviceRole = changes.role;
      account.serviceRoleSince = context.now();
    }
    account.updatedAt = context.now();
    return account;
  },
  target: (account, { serviceAccountId: _id, expectedUpdatedAt: _expected, ...changes }) => ({
    ...targetOf(account),
    changedFields: givenNames(changes),
    detail: newValues(changes, ['role']),
  }),
  answer: changed,
  endsRightsOf: ({ id }) => [id],
});

interface DeletedServiceAccount {
  readonly id: ServiceAccountId;
  readonly name: string | null | undefined;
  readonly keyIds: readonly ApiKeyId[];
}

export const deleteServiceAccount = defineOperation({
  name: 'deleteServiceAccount',
  description:
    'Deletes a service account. Its API keys end at once: every request that begins after the answer is refused with 401. Its sessions stay, without creator; only administrators can read its private ones.',
  access: MANAGE_SERVICE_ACCOUNTS,
  input: serviceAccountReference,
  errors: [NotFoundError],
  run: async (context, { serviceAccountId }): Promise<DeletedServiceAccount> => {
    const { em, now } = context;
    const account = await loadServiceAccount(context, serviceAccountId);
    const { id, name } = account;
    account.serviceDeletedAt = now();
    account.name = null;
    await removeFromGroups(em, { organizationId: requireOrganization(context.actor).id }, [id]);
    return { id, name, keyIds: await revokeKeys(em, { userId: id }, now()) };
  },
  target: ({ id, name = null }) => targetOf({ id, name }),
  endsRightsOf: ({ id }) => [id],
  afterCommit: (context, deleted) => {
    for (const id of deleted.keyIds) context.notifier.publish(apiKeyTopic(id));
    return Promise.resolve(deleted);
  },
});

export const listServiceAccounts = defineOperation({
  name: 'listServiceAccounts',
  description:
    'Lists the service accounts of the organization, oldest first by default. An organization has at most 100.',
  access: MANAGE_SERVICE_ACCOUNTS,
  run: SERVICE_ACCOUNTS.read,
});

export const createServiceAccountApiKey = defineOperation({
  name: 'createServiceAccountApiKey',
  description:
    'Creates an API key of a service account, which is bound to the organization. It never has scopes that the calling key lacks, nor a later expiry. A service account has at most 25 active keys.',
  access: WRITE_THEIR_KEYS,
  input: createServiceAccountApiKeyInput,
  errors: [NotFoundError, ConflictError],
  run: async (context, { serviceAccountId, ...input }): Promise<CreatedApiKey> => {
    // No person has this scope, so that an administrator gives it without having it.
    const isGiven = context.actor.kind !== 'OAUTH_GRANT';
    const scopes = input.scopes.filter((scope) => scope !== 'scim' || !isGiven);
    const expiresAt = await requireNotStronger(context, { ...input, scopes });
    const { id, serviceRole } = await loadServiceAccount(context, serviceAccountId);
    requireScopesOf(serviceRole ?? 'member', input.scopes);
    const organizationId = requireOrganization(context.actor).id;
    const given = {
      ...input,
      expiresAt,
      userId: id,
      isOfServiceAccount: true,
      organizationId,
      createdBy: context.actor.userId,
    };
    return issueAllowed(context, given, input.expiresAt);
  },
  target: ({ apiKey }) => createdApiKeyTarget(apiKey),
});

interface AskedKeys extends Asked<{ readonly includeRevoked: boolean }, 'CREATED_AT' | 'NAME'> {
  readonly serviceAccountId: ServiceAccountId;
}

export const listServiceAccountApiKeys = defineOperation({
  name: 'listServiceAccountApiKeys',
  description: 'Lists the API keys of a service account, newest first.',
  access: READ_THEIR_KEYS,
  errors: [NotFoundError],
  run: async (context, { serviceAccountId, filter, page }: AskedKeys): Promise<CountedPage<ApiKeyRow>> => {
    const [account] = await SERVICE_ACCOUNTS.find(context, [serviceAccountId], ['id']);
    if (!account) throw notFound('service account');
    return listApiKeys(context, { filter: { ...filter, ownerIds: [account.id] }, page });
  },
});
