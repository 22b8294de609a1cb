import { createHash, randomBytes } from 'node:crypto';
import { type EntityManager, LockMode } from '@mikro-orm/postgresql';
import { DAY_MS } from '../../core/text/timestamps.ts';
import { type AuditTarget, auditEntry, recordAudit } from '../../core/audit.ts';
import { ConflictError, ForbiddenError, NotFoundError, invalid, notFound, limitReached } from '../../core/errors.ts';
import type { InvitationId } from '../../core/ids.ts';
import {
  ANYBODY,
  type Actor,
  type Role,
  SCOPES_OF_PEOPLE,
  type Scope,
  requireOrganization,
  scopesOf,
} from '../../core/access.ts';
import { type OperationContext, type WorkContext, defineOperation, guarded } from '../../core/operation.ts';
import { conflictOf } from '../../core/postgres/failures.ts';
import {
  type CreatedApiKey,
  issueApiKey,
  recordUnboundKey,
  replaceUnusedKey,
  withinPolicy,
} from '../api-keys/public.ts';
import { hasIdentity } from '../identities/public.ts';
import {
  Membership,
  Organization,
  lockOrganization,
  requireKnownRole,
  requireRoomToOwn,
} from '../organizations/public.ts';
import { refuseSuspended } from '../memberships/public.ts';
import { User, isOfDomains } from '../users/public.ts';
import { Invitation } from './entity.ts';
import {
  type AcceptInvitationWithoutKeyInput,
  type PreviewOrganizationInvitationInput,
  acceptOrganizationInvitationInput,
  inviteOrganizationMemberInput,
  revokeOrganizationInvitationInput,
} from './input.ts';
import { ACCEPT_INVITATIONS, MANAGE_INVITATIONS, READ_INVITATIONS, READ_OWN_INVITATIONS } from './policy.ts';
import {
  INVITATIONS,
  type InvitationPreview,
  OWN_INVITATIONS,
  READABLE_INVITATIONS,
  acceptedInvitationOf,
  isMember,
  openInvitationOf,
  organizationOfToken,
  previewOf,
} from './queries.ts';

const PREFIX = 'wgi_';
const RANDOM_BYTES = 32;

/** Creates a token of 256 random bits: `wgi_` and 43 characters of base64url. */
export function generateInvitationToken(): string {
  return PREFIX + randomBytes(RANDOM_BYTES).toString('base64url');
}

/** SHA-256 of a token, as it is stored and looked up. A random token needs no salt and no slow hash. */
export function hashInvitationToken(token: string): Buffer {
  return createHash('sha256').update(token).digest();
}

/** Maximum number of open invitations of an organization. */
export const MAX_OPEN_INVITATIONS = 100;
const LIFETIME_MS = 7 * DAY_MS;

/** A new invitation with its token. The token is not stored. */
export interface CreatedInvitation {
  readonly invitation: Invitation;
  readonly token: string;
}

/** An earlier invitation for the same address is replaced, because the administrator may have lost its token or may want another role. */
export const inviteOrganizationMember = defineOperation({
  name: 'inviteOrganizationMember',
  description:
    'Invites an e-mail address to the organization that the request acts in. The gateway sends no e-mail, so you must pass on the token. A new invitation replaces an earlier one for the same address, whose token becomes invalid. An organization has at most 100 open invitations.',
  access: MANAGE_INVITATIONS,
  input: inviteOrganizationMemberInput,
  errors: [ConflictError],
  run: async (context, { email, role }): Promise<CreatedInvitation> => {
    const { em, actor, now, newId, settings } = context;
    const domains = settings.companyDomains;
    if (domains && !isOfDomains(email, domains))
      throw invalid('email', `must be of one of these domains: ${domains.join(', ')}`);
    await requireKnownRole(context, role);
    const organization = requireOrganization(actor);
    await lockOrganization(em, organization.id);
    if (await isMember(em, organization.id, email))
      throw new ConflictError('NAME_TAKEN', `${email} is already a member of the organization`, ['email']);
    await em.nativeDelete(Invitation, { organization: organization.id, email });
    if ((await INVITATIONS.count(context, {})) >= MAX_OPEN_INVITATIONS)
      throw limitReached(
        MAX_OPEN_INVITATIONS,
        `an organization has at most ${MAX_OPEN_INVITATIONS} open invitations; revoke one first`,
      );
    const token = generateInvitationToken();
    const at = now();
    const invitation = em.create(Invitation, {
      id: newId(),
      organization: organization.id,
      email,
      role,
      hash: hashInvitationToken(token),
      inviter: actor.userId,
      inviterSince: await administratorSince(em, actor),
      createdAt: at,
      expiresAt: new Date(at.getTime() + LIFETIME_MS),
    });
    return { invitation, token };
  },
  target: ({ invitation }) => ({ ...targetOf(invitation), detail: invitation.role }),
});

/** Since when the caller has had the right to invite: a later one is another. */
async function administratorSince(em: EntityManager, { userId, organization, isServiceAccount }: Actor): Promise<Date> {
  if (isServiceAccount === true) {
    const { serviceRoleSince, createdAt } = await em.findOneOrFail(User, { id: userId });
    return serviceRoleSince ?? createdAt;
  }
  const { roleSince, createdAt } = await em.findOneOrFail(Membership, { organization: organization?.id, user: userId });
  return roleSince ?? createdAt;
}

/** The label is the e-mail address alone, by which the deletion of the account finds it. */
function targetOf({ id, email }: { readonly id: InvitationId; readonly email: string }): AuditTarget {
  return { type: 'OrganizationInvitation', id, label: email };
}

export const revokeOrganizationInvitation = defineOperation({
  name: 'revokeOrganizationInvitation',
  description: 'Revokes an open invitation. Its token becomes invalid.',
  access: MANAGE_INVITATIONS,
  input: revokeOrganizationInvitationInput,
  errors: [NotFoundError],
  run: async ({ em, actor }, { invitationId }): Promise<{ id: InvitationId; email: string }> => {
    const organization = requireOrganization(actor);
    await lockOrganization(em, organization.id);
    const open = { id: invitationId, organization: organization.id, firstKey: null };
    const invitation = await em.findOne(Invitation, open, { lockMode: LockMode.PESSIMISTIC_WRITE });
    if (!invitation) throw notFound('invitation');
    em.remove(invitation);
    return invitation;
  },
  target: (revoked) => targetOf(revoked),
});

/** The result of accepting an invitation: the organization and the role in it. */
export interface AcceptedInvitation {
  readonly invitationId: InvitationId;
  readonly email: string;
  readonly organization: Organization;
  readonly role: Role;
}

export const acceptOrganizationInvitation = defineOperation({
  name: 'acceptOrganizationInvitation',
  description:
    'Makes the caller a member of the organization that invited their e-mail address. The request can act in any organization or none. Used, expired, revoked and unknown tokens give a `NotFoundError`, a token for another address a `ForbiddenError`. People without an account use `POST /v1/invitations/accept`.',
  access: ACCEPT_INVITATIONS,
  input: acceptOrganizationInvitationInput,
  errors: [NotFoundError, ConflictError],
  run: async (context, { token }): Promise<AcceptedInvitation> => {
    const { em, actor, now, settings } = context;
    const isSignedIn = actor.kind === 'SIGN_IN' && actor.signedInWithId == null;
    if (settings.companyDomains && !isSignedIn) throw new ForbiddenError(SIGN_IN_FIRST);
    const hash = await lockedToken(em, token);
    const invitation = await openInvitationOf(em, hash, now());
    if (!invitation) throw notFound('invitation');
    const user = await em.findOneOrFail(User, { id: actor.userId });
    if (user.email !== invitation.email)
      throw new ForbiddenError('the invitation is for another e-mail address than the address of your account');
    if (invitation.role === 'admin') await requireRoomToOwn(em, user.id);
    await em.nativeDelete(Invitation, { id: invitation.id });
    return join(context, invitation, user);
  },
  target: (accepted) => ({ ...acceptedBy(accepted), organizationId: accepted.organization.id }),
  conflicts: {
    membership_pkey: () => new ConflictError('WRONG_STATE', 'you are already a member of the organization'),
  },
});

function acceptedBy({ invitationId: id, email, role }: AcceptedInvitation): AuditTarget {
  return { ...targetOf({ id, email }), detail: role };
}

type OpenInvitation = NonNullable<Awaited<ReturnType<typeof openInvitationOf>>>;

/** The hash of a token. A lock makes concurrent acceptances and revocations wait, so that each sees the result of the one before. */
async function lockedToken(em: EntityManager, token: string): Promise<Buffer> {
  const hash = hashInvitationToken(token);
  const organizationId = await organizationOfToken(em, hash);
  if (organizationId !== undefined) await lockOrganization(em, organizationId);
  return hash;
}

async function join(
  { em, now }: Pick<OperationContext, 'em' | 'now'>,
  { id: invitationId, organizationId, email, role }: OpenInvitation,
  user: User,
): Promise<AcceptedInvitation> {
  const organization = await em.findOneOrFail(Organization, { id: organizationId });
  await refuseSuspended(em, organizationId, user.id);
  em.create(Membership, { organization, user, role, origin: 'invited', createdAt: now() });
  return { invitationId, email, organization, role };
}

/**
 * Reads the open invitation with a token. Whoever has the token counts as the invited person. Nothing is changed or recorded.
 * @throws NotFoundError like `acceptOrganizationInvitation`.
 */
export async function previewOrganizationInvitation(
  { em, now }: Pick<WorkContext, 'em' | 'now'>,
  { token }: PreviewOrganizationInvitationInput,
): Promise<InvitationPreview> {
  const preview = await previewOf(em, hashInvitationToken(token), now());
  if (!preview) throw notFound('invitation');
  return preview;
}

const SIGN_IN_FIRST =
  'this gateway accepts invitations through its identity provider alone; open the link of the invitation in a browser, and sign in there';

type KeylessContext = WorkContext & Pick<OperationContext, 'requestId' | 'requestIdOrigin' | 'client'>;

/**
 * Accepts an invitation without an API key: creates the account of the invited e-mail address, makes it a member, and
 * issues its first key, which is unbound and has all scopes, as far as the key policy allows. The audit log entry refers to that key. If the answer is
 * lost, the same token gets a new key instead of the first one, until that was used.
 * @throws NotFoundError like `acceptOrganizationInvitation`; ConflictError when the address already has an account.
 */
export async function acceptInvitationWithoutKey(
  context: KeylessContext,
  { token, name }: AcceptInvitationWithoutKeyInput,
): Promise<AcceptedInvitation & CreatedApiKey> {
  if (context.settings.companyDomains) throw new ConflictError('WRONG_STATE', SIGN_IN_FIRST);
  try {
    return await context.em.transactional(async (em) => {
      const inner = { ...context, em };
      const hash = await lockedToken(em, token);
      const open = await openInvitationOf(em, hash, context.now());
      const accepted = open ? await createAccount(inner, open, name) : await acceptAgain(inner, hash);
      if (!accepted) throw notFound('invitation');
      const actor = { keyId: accepted.apiKey.id, organization: accepted.organization };
      await recordAudit(em, auditEntry({ ...context, actor }, 'acceptOrganizationInvitation', acceptedBy(accepted)));
      const entryOf = (target: AuditTarget) => auditEntry({ ...context, actor }, 'createApiKey', target);
      if (open) await recordUnboundKey(em, accepted.apiKey, entryOf);
      return accepted;
    });
  } catch (error) {
    throw conflictOf(error, HAS_ACCOUNT)?.(undefined) ?? error;
  }
}

async function createAccount(
  { em, now, newId }: KeylessContext,
  invitation: OpenInvitation,
  name: string | undefined,
): Promise<AcceptedInvitation & CreatedApiKey> {
  const user = em.create(User, { id: newId(), email: invitation.email, name: name ?? null, createdAt: now() });
  await em.flush();
  const accepted = await join({ em, now }, invitation, user);
  const { keysBoundOnly, id } = accepted.organization;
  const isGiven = (scope: Scope) => !keysBoundOnly || scopesOf(accepted.role).includes(scope);
  const key = { userId: user.id, name: 'First key', scopes: SCOPES_OF_PEOPLE.filter(isGiven) };
  const expiresAt = await withinPolicy(em, { userId: user.id, organizationId: id, at: now() }, {});
  const created = await issueApiKey(
    { em, now, newId },
    { ...key, organizationId: keysBoundOnly ? id : null, expiresAt },
  );
  await em.flush();
  await em.nativeUpdate(Invitation, { id: invitation.id }, { firstKey: created.apiKey.id });
  return { ...accepted, ...created };
}

/** Replaces the first key of an account that was created with the token. Undefined when it was used or revoked, or its user has left. */
async function acceptAgain(
  { em, now }: KeylessContext,
  hash: Buffer,
): Promise<(AcceptedInvitation & CreatedApiKey) | undefined> {
  const invitation = await acceptedInvitationOf(em, hash, now());
  if (invitation && (await hasIdentity(em, invitation.userId)))
    throw new ConflictError(
      'WRONG_STATE',
      'the invitation was accepted, and its account is joined to an identity provider; sign in on the page /sign-in',
    );
  const replaced = invitation && (await replaceUnusedKey(em, invitation.keyId));
  if (!replaced) return undefined;
  const organization = await em.findOneOrFail(Organization, { id: invitation.organizationId });
  return { invitationId: invitation.id, email: invitation.email, organization, role: invitation.role, ...replaced };
}

const HAS_ACCOUNT = {
  user_account_email_unique: () =>
    new ConflictError(
      'WRONG_STATE',
      'the invited e-mail address already has an account; accept with its API key and the GraphQL mutation acceptOrganizationInvitation',
    ),
};

export const listInvitations = defineOperation({
  name: 'listInvitations',
  description: 'Open invitations of the organization, newest first by default. An organization has at most 100.',
  access: READ_INVITATIONS,
  run: INVITATIONS.read,
});

export const listOwnInvitations = defineOperation({
  name: 'listOwnInvitations',
  description:
    "Open invitations of the caller's own e-mail address, to any organization, newest first by default. To accept one, the caller needs the token that its inviter has passed on.",
  access: READ_OWN_INVITATIONS,
  run: OWN_INVITATIONS.read,
});

/** The open invitations with these ids that the caller can read. */
export const readInvitations = guarded(ANYBODY, READABLE_INVITATIONS.find);
