import type { EntityManager } from '@mikro-orm/postgresql';
import type { AuditTarget } from '../../core/audit.ts';
import { ROLES } from '../../core/access.ts';
import { ConflictError, unauthenticated } from '../../core/errors.ts';
import type { ApiKeyId, OrganizationId, UserId } from '../../core/ids.ts';
import type { OperationContext } from '../../core/operation.ts';
import type { OidcSettings } from '../../core/oidc-settings.ts';
import { haveRoles, roleOfGroups } from '../../core/role-groups.ts';
import { beginPersonalSignIn, revokeKeys } from '../api-keys/public.ts';
import { followGroups } from '../groups/public.ts';
import { ScimUser, SuspendedMembership, ensureMember } from '../memberships/public.ts';
import { KNOWS_VIEWERS, Membership, Organization } from '../organizations/public.ts';
import { User, changeAddress, findOrCreateUser, lockUser } from '../users/public.ts';
import { type Claims, RefusedIdentityError, emailOf, groupsOf, nameOf } from './claims.ts';
import { Identity } from './entity.ts';
import { redeemSignInLink } from './tokens.ts';
import { type NewSignIn, type SignInContext, recordInAll, recordSignIn, recordedIn } from './recorded-sign-ins.ts';
import { isUnproven } from './unproven-accounts.ts';

/** Who signs in with the identity provider: which account, and with which role. */

type RoleContext = SignInContext & Pick<OperationContext, 'hasOlderProcess'>;

/** The outcome of a sign-in. A notice is for the page. */
interface PersonSignedIn {
  readonly userId: UserId;
  readonly notice?: string;
  /** Whether the person has fewer rights than before. */
  readonly isDemoted: boolean;
  /** The keys and sign-ins that were revoked, because nobody had proved that the account belongs to the person; undefined for other accounts. */
  readonly revoked: readonly ApiKeyId[] | undefined;
}

/**
 * Signs a person in, in the caller's transaction: finds or joins the account, applies groups, and begins the sign-in.
 * @throws RefusedIdentityError (403)
 */
export async function signInIdentity(
  em: EntityManager,
  context: RoleContext,
  given: { readonly claims: Claims; readonly settings: OidcSettings; readonly signIn: NewSignIn },
): Promise<PersonSignedIn> {
  const { claims, settings, signIn } = given;
  const groups = groupsOf(claims, settings);
  const { allowedGroups } = settings;
  if (allowedGroups && !groups?.some((group) => allowedGroups.includes(group)))
    throw new RefusedIdentityError(
      'You are in none of the groups that may sign in here. Ask the administrator of your identity provider to add you to one, and to send your groups.',
    );
  const known = await findIdentity(em, settings.issuer, claims.sub);
  const found = known ? asKnown(known) : await joinIdentity(em, context, claims, settings);
  const { user } = found.identity;
  await requireAccount(em, user);
  found.identity.lastSignedInAt = context.now();
  const taken = found.isKnown ? await followPerson(em, context.now(), { user, claims, settings }) : NOTHING_TAKEN;
  const name = `Sign-in with ${settings.name}`;
  beginPersonalSignIn(em, { ...signIn, user, name, at: context.now() });
  await em.flush();
  const roles = await applyRoles(em, { user, isNew: found.how === 'created', groups, settings, context });
  await em.flush();
  const joined = await followProvider(em, { user, groups, settings, at: context.now() });
  const organizationId = await recordedIn(em, user, settings.organization);
  const record = (operation: string, target: AuditTarget) => recordSignIn(em, context, signIn, operation, target);
  const person = { type: 'User' as const, id: user.id, organizationId, label: user.label() ?? null };
  const { revoked } = found;
  const ended = revoked?.length ? `; revoked ${revoked.length} credentials` : '';
  if (found.how) await record('joinIdentity', { ...person, detail: `${found.how}: ${settings.issuer}${ended}` });
  if (taken.detail !== '') await record('followIdentity', { ...person, detail: taken.detail });
  if (roles.changed) await record('changeOrganizationMemberRole', { ...person, ...roles.changed });
  if (joined !== undefined) await record('followGroups', { ...person, detail: joined });
  await recordInAll(em, user, (id) =>
    record('signIn', { type: 'ApiKey', id: signIn.id, organizationId: id, label: name, detail: 'OIDC' }),
  );
  const notice = [revoked?.length ? NOTICES.revokedKeys : '', taken.notice, roles.notice ?? '']
    .filter((text) => text !== '')
    .join(' ');
  return { userId: user.id, isDemoted: roles.isDemoted, revoked, ...(notice !== '' && { notice }) };
}

const WRONG_LINK =
  'This link does not work any more. It signs in once, within 10 minutes. Sign in otherwise, or ask for another link.';

/** Signs the person of a one-time link in, in the caller's transaction, which uses the link up. @throws DomainError (401) */
export async function signInWithLink(
  em: EntityManager,
  context: SignInContext,
  given: { readonly token: string; readonly signIn: NewSignIn },
): Promise<{ readonly userId: UserId }> {
  const { token, signIn } = given;
  const userId = await redeemSignInLink(em, token, context.now());
  // The account is locked before it is read, because its deletion may have begun.
  const user = userId !== undefined && (await lockUser(em, userId)) ? await em.findOne(User, { id: userId }) : null;
  if (user?.email == null) throw unauthenticated(WRONG_LINK);
  const name = 'Sign-in with a one-time link';
  beginPersonalSignIn(em, { ...signIn, user, name, at: context.now() });
  await em.flush();
  const target = { type: 'ApiKey' as const, id: signIn.id, label: name, detail: 'LINK' };
  await recordInAll(em, user, (organizationId) =>
    recordSignIn(em, context, signIn, 'signIn', { ...target, organizationId }),
  );
  return { userId: user.id };
}

/** Locks the account, and reads it again, because its deletion may have begun. @throws RefusedIdentityError */
async function requireAccount(em: EntityManager, user: User): Promise<void> {
  const isThere = (await lockUser(em, user.id)) && (await em.refresh(user));
  if (!isThere || user.email == null)
    throw new RefusedIdentityError(
      'Your account is being deleted. Ask an administrator for an invitation to begin anew.',
    );
}

function findIdentity(em: EntityManager, issuer: string, subject: string): Promise<Identity | null> {
  return em.findOne(Identity, { issuer, subject }, { populate: ['user'], refresh: true });
}

const asKnown = (identity: Identity) => ({ identity, isKnown: true, how: undefined, revoked: undefined });

/** A new identity is joined to the account of its address once, or gets a new account. */
async function joinIdentity(em: EntityManager, { now, newId }: SignInContext, claims: Claims, settings: OidcSettings) {
  const email = emailOf(claims, settings);
  const { user, isNew } = await findOrCreateUser({ em, now, newId }, email);
  // Two first sign-ins of a person at once: the second waits, and finds what the first has joined.
  await requireAccount(em, user);
  const meanwhile = await findIdentity(em, settings.issuer, claims.sub);
  if (meanwhile) return asKnown(meanwhile);
  const at = now();
  const former = await em.findOne(Identity, { issuer: settings.issuer, user });
  if (former) {
    const { relinkUntil } = settings;
    // A day in ISO 8601 compares like a text.
    if (
      relinkUntil === undefined ||
      former.relinkedUntil === relinkUntil ||
      at.toISOString().slice(0, 10) > relinkUntil
    )
      throw new RefusedIdentityError(
        'The account of your e-mail address is joined to another identity of this provider. Sign in with that one, or ask the operator of this gateway to unlink it (“cli identities unlink --email E”).',
      );
    former.subject = claims.sub;
    former.relinkedUntil = relinkUntil;
    return { identity: former, isKnown: false, how: 'relinked' as const, revoked: undefined };
  }
  const revoked = !isNew && (await isUnproven(em, user.id)) ? await revokeKeys(em, { userId: user.id }, at) : undefined;
  if (isNew || revoked) user.rename(nameOf(claims), at);
  const identity = em.create(Identity, {
    id: newId(),
    issuer: settings.issuer,
    subject: claims.sub,
    user,
    createdAt: at,
    lastSignedInAt: at,
  });
  em.persist(identity);
  await em.flush();
  return { identity, isKnown: false, how: isNew ? ('created' as const) : ('joined' as const), revoked };
}

const NOTHING_TAKEN = { detail: '', notice: '' };

/** Takes over a changed address that counts for a new account, and the name of a person without one here. @returns what was taken. */
async function followPerson(
  em: EntityManager,
  at: Date,
  { user, claims, settings }: { readonly user: User; readonly claims: Claims; readonly settings: OidcSettings },
): Promise<typeof NOTHING_TAKEN> {
  const name = user.name == null ? nameOf(claims) : null;
  if (name !== null) user.rename(name, at);
  const email = ifCounts(claims, settings);
  const isOther = email !== undefined && email !== user.email;
  const isTaken = isOther && (await changeAddress(em, user, email, at));
  const detail = [isTaken ? 'address' : '', name === null ? '' : 'name'].filter((what) => what !== '').join(', ');
  return { detail, notice: isOther && !isTaken ? NOTICES.usedAddress : '' };
}

/** The address; undefined for one that joins no account. */
function ifCounts(claims: Claims, settings: OidcSettings): string | undefined {
  try {
    return emailOf(claims, settings);
  } catch (error) {
    if (error instanceof RefusedIdentityError) return undefined;
    throw error;
  }
}

/** Whether SCIM decides over the membership of a person: their role and groups, and whether it is suspended. */
async function isOfScim(em: EntityManager, organization: Organization, user: User): Promise<boolean> {
  const place = { organization, user };
  return (await em.count(ScimUser, place)) + (await em.count(SuspendedMembership, place)) > 0;
}

interface Roles {
  readonly notice?: string;
  readonly changed?: { readonly organizationId: OrganizationId; readonly detail: string };
  readonly isDemoted: boolean;
}

const UNCHANGED: Roles = { isDemoted: false };

/** Applies the default role to a new account, and the groups to everybody. */
async function applyRoles(
  em: EntityManager,
  given: {
    readonly user: User;
    readonly isNew: boolean;
    /** Undefined if they are not known. */
    readonly groups: readonly string[] | undefined;
    readonly settings: OidcSettings;
    readonly context: RoleContext;
  },
): Promise<Roles> {
  const { user, isNew, groups, settings } = given;
  const { hasOlderProcess, now } = given.context;
  const organization = settings.organization ? await em.findOne(Organization, { slug: settings.organization }) : null;
  if (!organization) return UNCHANGED;
  if (await isOfScim(em, organization, user)) return UNCHANGED;
  const before = await em.findOne(Membership, { organization, user });
  const joins = before !== null || (isNew && settings.defaultRole === 'member');
  const areDecisive = haveRoles(settings);
  const isKnown = areDecisive && settings.groupsClaim !== undefined && groups !== undefined;
  const { role, group } = isKnown
    ? roleOfGroups(settings, groups, before?.role)
    : { role: before?.role ?? ('member' as const), group: undefined };
  const notice = groups || !areDecisive ? undefined : NOTICES.unknownGroups;
  if ((!joins && group === undefined) || role === before?.role) return { ...UNCHANGED, ...(notice && { notice }) };
  const isDemoted = before !== null && ROLES.indexOf(role) > ROLES.indexOf(before.role);
  if (role === 'viewer' && (await hasOlderProcess(KNOWS_VIEWERS))) return { ...UNCHANGED, notice: NOTICES.upgrade };
  try {
    const origin = group === undefined ? ('provider' as const) : ('group' as const);
    await ensureMember(em, { organization, user }, { role, otherwise: 'member', origin, at: now() });
  } catch (error) {
    if (error instanceof ConflictError) return { ...UNCHANGED, notice: NOTICES.lastAdministrator };
    throw error;
  }
  const detail = group === undefined ? role : `${role} (group ${group.slice(0, 200)})`;
  const changed = { organizationId: organization.id, detail };
  return { changed, isDemoted, ...(notice && { notice }) };
}

/** Applies the groups to those of the organization that are tied to them. @returns what has changed. */
async function followProvider(
  em: EntityManager,
  given: {
    readonly user: User;
    readonly groups: readonly string[] | undefined;
    readonly settings: OidcSettings;
    readonly at: Date;
  },
): Promise<string | undefined> {
  const { user, groups, settings, at } = given;
  if (!settings.organization || settings.groupsClaim === undefined || !groups) return undefined;
  const membership = await em.findOne(Membership, { organization: { slug: settings.organization }, user });
  if (!membership || (await isOfScim(em, membership.organization, user))) return undefined;
  return followGroups(em, { organizationId: membership.organization.id, userId: user.id, names: groups, at });
}

const NOTICES = {
  revokedKeys:
    'Your account was created with an invitation, so somebody else may have had its API keys. They no longer work, and its other sign-ins have ended. Create new keys, and check the organizations and the personal MCP connections of the account.',
  usedAddress:
    'Your e-mail address has changed at your identity provider, but another account has the new one, so that yours stays. Ask the operator of this gateway.',
  unknownGroups:
    'Your identity provider did not list your groups, so your role has not changed. Ask its administrator to send the groups of this application only.',
  upgrade:
    'Your groups make you a viewer, which an earlier version that is still running does not know. Sign in again later.',
  lastAdministrator:
    'You are no longer in a group of administrators, but the last administrator of the organization, so your role has not changed.',
};
