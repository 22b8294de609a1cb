import { settleChanges } from '../core/authority.ts';
import { recordAudit, operatorEntry } from '../core/audit.ts';
import type { ApiKeyId, OrganizationId, UserId } from '../core/ids.ts';
import { type Role, SCOPES_OF_PEOPLE, type Scope, scopesOf } from '../core/access.ts';
import type { Dependencies } from '../gateway/dependencies.ts';
import { createdApiKeyTarget, issueApiKey, recordUnboundKey } from '../domains/api-keys/public.ts';
import { ensureMember } from '../domains/memberships/public.ts';
import { findOrCreateOrganization, requireKnownRole } from '../domains/organizations/public.ts';
import { findOrCreateUser } from '../domains/users/public.ts';

/** A key that the command line created, with its secret and the related objects. */
export interface IssuedKey {
  readonly key: string;
  readonly keyId: ApiKeyId;
  readonly userId: UserId;
  /** Null for an unbound key, like the role. */
  readonly organizationId: OrganizationId | null;
  readonly role: Role | null;
  readonly scopes: readonly Scope[];
  readonly createdUser: boolean;
  readonly createdOrganization: boolean;
}

export interface BoundKey extends IssuedKey {
  readonly organizationId: OrganizationId;
  readonly role: Role;
}

interface WantedKey {
  readonly email: string;
  /** Slug of the organization that the key is bound to, and its user a member of; without it the key is unbound. */
  readonly organization?: string | undefined;
  /** Whether the key is unbound although `organization` is given. */
  readonly allOrganizations?: boolean;
  readonly role?: Role | undefined;
  /** By default all that the role can have. */
  readonly scopes?: readonly Scope[] | undefined;
  readonly name?: string | undefined;
  /** By default the key does not expire. */
  readonly expiresAt?: Date | undefined;
}

/**
 * Creates a key, and its user, organization and membership if they do not exist. The first member of an organization that is created here
 * becomes `admin`, whatever the given role. Another new member becomes `member`; without a given role an existing one is unchanged.
 * @throws ConflictError when the role would leave the organization without an administrator.
 */
export function issueKey(
  dependencies: Dependencies,
  wanted: WantedKey & { organization: string; allOrganizations?: false },
): Promise<BoundKey>;
export function issueKey(dependencies: Dependencies, wanted: WantedKey): Promise<IssuedKey>;
export async function issueKey(
  { database, sql, config, now, newId, hasOlderProcess }: Dependencies,
  wanted: WantedKey,
): Promise<IssuedKey> {
  const { email, organization: slug, role, name = 'Created at the command line', expiresAt } = wanted;
  await requireKnownRole({ hasOlderProcess }, role);
  const issued = await database.em.fork().transactional(async (em) => {
    const settings = { defaultSubscriptions: config.DEFAULT_SUBSCRIPTION };
    const { user, isNew: createdUser } = await findOrCreateUser({ em, now, newId }, email.toLowerCase());
    const found =
      slug === undefined ? undefined : await findOrCreateOrganization({ em, now, newId, settings }, slug, user.id);
    const membership =
      found &&
      (await ensureMember(
        em,
        { organization: found.organization, user },
        {
          role: found.isNew ? 'admin' : role,
          otherwise: 'member',
          origin: found.isNew ? 'created' : 'operator',
          at: now(),
        },
      ));
    const organizationId = wanted.allOrganizations ? null : (found?.organization.id ?? null);
    const scopes =
      wanted.scopes ??
      SCOPES_OF_PEOPLE.filter(
        (scope) => organizationId === null || !membership || scopesOf(membership.role).includes(scope),
      );
    const { apiKey, key } = await issueApiKey(
      { em, now, newId },
      { userId: user.id, organizationId, name, scopes, expiresAt },
    );
    await recordAudit(em, operatorEntry({ now, newId }, 'createApiKey', createdApiKeyTarget(apiKey)));
    await em.flush();
    await recordUnboundKey(em, apiKey, (target) => operatorEntry({ now, newId }, 'createApiKey', target));
    return {
      key,
      keyId: apiKey.id,
      userId: user.id,
      organizationId,
      role: organizationId === null ? null : (membership?.role ?? null),
      scopes: [...scopes],
      createdUser,
      createdOrganization: found?.isNew ?? false,
    };
  });
  // The given role may be lower than the existing one.
  if (role) await settleChanges(sql, [issued.userId]);
  return issued;
}
