import { settleChanges } from '../core/authority.ts';
import { recordAudit, operatorEntry } from '../core/audit.ts';
import type { ApiKeyId, OrganizationId, UserId } from '../core/ids.ts';
import { type Role, SCOPES, type Scope } from '../core/operation.ts';
import type { Dependencies } from '../gateway/dependencies.ts';
import { issueApiKey } from '../domains/api-keys/operations.ts';
import { ensureMember } from '../domains/organizations/member-operations.ts';
import { findOrCreateOrganization } from '../domains/organizations/operations.ts';
import { findOrCreateUser } from '../domains/users/operations.ts';

/** A key that the operator made, with its secret, and what was made along with it. */
export interface IssuedKey {
  readonly key: string;
  readonly keyId: ApiKeyId;
  readonly userId: UserId;
  /** Null for an unbound key, as is the role. */
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
  /** Slug of the organization that the user is to be a member of, and the key bound to; without one the key is unbound. */
  readonly organization?: string | undefined;
  /** Whether the key is unbound all the same. */
  readonly allOrganizations?: boolean;
  readonly role?: Role | undefined;
  /** All scopes when absent. */
  readonly scopes?: readonly Scope[] | undefined;
  readonly name?: string | undefined;
}

/**
 * Issues a key to somebody who has none yet: finds or creates the user and the organization, and makes the one a member of the other. A user
 * new to the organization becomes `member`, or `admin` of an organization that is created here; without a role an existing one stays.
 */
export function createKeyFor(
  dependencies: Dependencies,
  wanted: WantedKey & { organization: string; allOrganizations?: false },
): Promise<BoundKey>;
export function createKeyFor(dependencies: Dependencies, wanted: WantedKey): Promise<IssuedKey>;
export async function createKeyFor(
  { database, sql, config, now, newId }: Dependencies,
  wanted: WantedKey,
): Promise<IssuedKey> {
  const { email, organization: slug, role, scopes = SCOPES, name = 'Created at the command line' } = wanted;
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
        { role, otherwise: found.isNew ? 'admin' : 'member', at: now() },
      ));
    const organizationId = wanted.allOrganizations ? null : (found?.organization.id ?? null);
    const { apiKey, key } = await issueApiKey({ em, now, newId }, { userId: user.id, organizationId, name, scopes });
    await recordAudit(
      em,
      operatorEntry({ now, newId }, 'createApiKey', { type: 'ApiKey', id: apiKey.id, organizationId }),
    );
    return {
      key,
      keyId: apiKey.id,
      userId: user.id,
      organizationId,
      role: organizationId === null ? null : (membership?.role ?? null),
      scopes,
      createdUser,
      createdOrganization: found?.isNew ?? false,
    };
  });
  // A role that is given may be lower than the one before.
  if (role) await settleChanges(sql, [issued.userId]);
  return issued;
}
