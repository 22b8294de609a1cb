import { type EntityManager, LockMode } from '@mikro-orm/postgresql';
import { requireOrganization } from '../../core/access.ts';
import type { ApiKeyId, OrganizationId, UserId } from '../../core/ids.ts';
import { type OperationContext, guarded } from '../../core/operation.ts';
import { blockKeys } from '../api-keys/public.ts';
import { isUnproven } from '../identities/public.ts';
import {
  SuspendedMembership,
  endMembership,
  reactivateMember,
  refuseLastAdmin,
  suspendMember,
} from '../memberships/public.ts';
import { Membership } from '../organizations/public.ts';
import { User, changeAddress, findOrCreateUser, isAddress, isOfDomains } from '../users/public.ts';
import { ScimError } from './errors.ts';
import { patchedUser } from './patch.ts';
import { type UserState, userIn } from './resources.ts';
import { type StoredUser, people, findPeople, USER_CONDITIONS, type Asked, oneUser, store } from './people.ts';
import { ACCESS, withScim, type Written, change, userTarget, applyRoles } from './changes.ts';

/** What SCIM does with the people of OIDC_ORGANIZATION. */

export const listScimUsers = guarded(
  ACCESS,
  withScim(async ({ em, actor }, asked: Asked) => {
    const { id } = requireOrganization(actor);
    const { total } = await people(em, id, asked.filter)
      .select(({ fn }) => fn.countAll<string>().as('total'))
      .executeTakeFirstOrThrow();
    return { items: asked.count === 0 ? [] : await findPeople(em, id, asked), total: Number(total) };
  }),
);

export const readScimUser = guarded(
  ACCESS,
  withScim(({ em, actor }, id: string) => oneUser(em, requireOrganization(actor).id, id)),
);

/** @throws ScimError (400) for an address that is none, or of a domain that is not listed. */
function requireListed({ settings }: OperationContext, email: string): void {
  const domains = settings.company?.domains ?? [];
  if (!isAddress(email)) throw new ScimError('invalidValue', 'emails: must be an e-mail address of plain letters');
  if (!isOfDomains(email, domains))
    throw new ScimError('invalidValue', `emails: must be of one of these domains: ${domains.join(', ')}`);
}

async function refuseUserName(
  em: EntityManager,
  organization: OrganizationId,
  userName: string,
  self?: UserId,
): Promise<void> {
  const taken = await people(em, organization)
    .select('u.id')
    .where(USER_CONDITIONS.username(userName))
    .$if(self !== undefined, (query) => query.where('u.id', '<>', self ?? ''))
    .limit(1)
    .execute();
  if (taken.length > 0) throw new ScimError('uniqueness', 'userName: another user has it');
}

export const createScimUser = change('createScimUser', async (context, body: unknown): Promise<Written<StoredUser>> => {
  const { em, actor, now } = context;
  const { id: organizationId } = requireOrganization(actor);
  const state = userIn(body);
  requireListed(context, state.email);
  await refuseUserName(em, organizationId, state.userName);
  const { user, isNew } = await findOrCreateUser(context, state.email);
  const place = { organization: organizationId, user: user.id };
  if ((await em.count(Membership, place)) + (await em.count(SuspendedMembership, place)) > 0)
    throw new ScimError('uniqueness', 'emails: another user has this address');
  // Whoever has the token of an invitation could have made the account: its keys do not act here.
  if (!isNew && (await isUnproven(em, user.id))) await blockKeys(em, organizationId, { userId: user.id });
  if (state.active) em.create(Membership, { ...place, role: 'member', createdAt: now() });
  else em.create(SuspendedMembership, { ...place, role: 'member', createdAt: now(), suspendedAt: now() });
  await store(context, organizationId, user, state);
  const result = await oneUser(em, organizationId, user.id);
  return { result, target: userTarget(user, state.active ? 'member' : 'suspended'), userIds: [], keyIds: [] };
});

interface ChangedUser {
  readonly id: string;
  readonly body: unknown;
  readonly isPatch: boolean;
  readonly check: (current: StoredUser) => void;
}

export const changeScimUser = change(
  'updateScimUser',
  async (context, { id, body, isPatch, check }: ChangedUser): Promise<Written<StoredUser>> => {
    const { em, actor, now } = context;
    const { id: organizationId } = requireOrganization(actor);
    const before = await oneUser(em, organizationId, id);
    check(before);
    const wanted: UserState = isPatch ? patchedUser(before.state, body) : userIn(body, before.state);
    const user = await em.findOneOrFail(User, { id: before.id }, { lockMode: LockMode.PESSIMISTIC_WRITE });
    if (wanted.userName.toLowerCase() !== before.state.userName.toLowerCase())
      await refuseUserName(em, organizationId, wanted.userName, user.id);
    const details: string[] = [];
    if (wanted.email !== before.state.email) {
      const isListed = isAddress(wanted.email) && isOfDomains(wanted.email, context.settings.company?.domains ?? []);
      const isOnlyHere = (await em.count(Membership, { user, organization: { $ne: organizationId } })) === 0;
      const isChanged = isListed && isOnlyHere && (await changeAddress(em, user, wanted.email, now()));
      details.push(isChanged ? 'address changed' : 'address kept');
    }
    const isNew = await store(context, organizationId, user, wanted);
    let keyIds: readonly ApiKeyId[] = [];
    if (isNew) await applyRoles(context, organizationId, [user.id], true);
    if (before.state.active && !wanted.active) {
      const membership = await em.findOneOrFail(
        Membership,
        { organization: organizationId, user },
        { lockMode: LockMode.PESSIMISTIC_WRITE },
      );
      keyIds = await suspendMember(context, membership);
      details.push('suspended');
    } else if (!before.state.active && wanted.active) {
      await reactivateMember(
        context,
        await em.findOneOrFail(SuspendedMembership, { organization: organizationId, user }),
      );
      details.push('reactivated');
    }
    await em.flush();
    const result = await oneUser(em, organizationId, user.id);
    return { result, target: userTarget(user, details.join(', ') || undefined), userIds: [user.id], keyIds };
  },
);

export interface Deleted<Current> {
  readonly id: string;
  readonly check: (current: Current) => void;
}

export const deleteScimUser = change(
  'deleteScimUser',
  async (context, { id, check }: Deleted<StoredUser>): Promise<Written<null>> => {
    const { em, actor } = context;
    const { id: organizationId } = requireOrganization(actor);
    const before = await oneUser(em, organizationId, id);
    check(before);
    const place = { organization: organizationId, user: before.id };
    const lock = { lockMode: LockMode.PESSIMISTIC_WRITE } as const;
    const membership =
      (await em.findOne(SuspendedMembership, place)) ?? (await em.findOneOrFail(Membership, place, lock));
    if (membership instanceof Membership) await refuseLastAdmin(em, membership);
    const user = await em.findOneOrFail(User, { id: before.id });
    const keyIds = await endMembership(context, membership, { isRemoved: true });
    return { result: null, target: userTarget(user), userIds: [user.id], keyIds };
  },
);
