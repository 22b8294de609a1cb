import type { EntityManager } from '@mikro-orm/postgresql';
import { type ExpressionBuilder, type RawBuilder, expressionBuilder, sql } from 'kysely';
import type { OrganizationId } from '../../core/ids.ts';
import { type Reader, defineList, inActingOrganization } from '../../core/postgres/reading/lists.ts';
import type { OperationContext } from '../../core/operation.ts';
import { type Readable, type RowOf, anyOf, asRow, queriesOn } from '../../core/postgres/reading/queries.ts';
import type { Reach } from '../../core/postgres/reading/reach.ts';
import type { ApiKeyTables } from '../api-keys/public.ts';
import type { OrganizationTables } from '../organizations/public.ts';
import type { UserTables } from '../users/public.ts';
import { INVITATION_COLUMNS, type Invitation, type InvitationTables } from './entity.ts';
import type { InvitationFilter } from './input.ts';
import { readableInvitations } from './policy.ts';

type Tables = ApiKeyTables & InvitationTables & OrganizationTables & UserTables;
type Aliased = Readable<Tables> & { i: Readable<Tables>['invitation'] };
const db = queriesOn<Tables>();
const tablesOf = (em: EntityManager) => em.getKysely<Readable<Tables>>();

/** An invitation without its credentials. A row has the selected columns only; without a selection it has all of these. */
export type InvitationRow = Omit<
  RowOf<Readable<InvitationTables>['invitation']>,
  'hash' | 'firstKeyId' | 'inviterSince'
>;

const HIDDEN: ReadonlySet<string> = new Set(['hash', 'firstKeyId', 'inviterSince']);
const SHOWN = INVITATION_COLUMNS.filter((name): name is keyof InvitationRow => !HIDDEN.has(name));
/**
 * Whether an invitation is open: it was not accepted and has not expired, and its inviter has been an administrator of the organization since
 * then: whoever loses the right to invite ends their invitations for good.
 * With `offset`, PostgreSQL looks up the inviter of each invitation found. Without, its plan can begin with the inviters and read all of
 * their invitations.
 */
const isOpen = (at: string | RawBuilder<string>) => (eb: ExpressionBuilder<Aliased, 'i'>) => {
  const inviter = eb
    .selectFrom('membership as a')
    .select('a.user_id')
    .whereRef('a.organization_id', '=', 'i.organization_id')
    .whereRef('a.user_id', '=', 'i.inviter_id')
    .where('a.role', '=', 'admin')
    .where(isSince(sql`coalesce(a.role_since, a.created_at)`))
    .offset(sql.lit(0));
  const program = eb
    .selectFrom('user_account as s')
    .select('s.id')
    .whereRef('s.id', '=', 'i.inviter_id')
    .whereRef('s.service_organization_id', '=', 'i.organization_id')
    .where('s.service_role', '=', 'admin')
    .where('s.service_deleted_at', 'is', null)
    .where(isSince(sql`coalesce(s.service_role_since, s.created_at)`))
    .offset(sql.lit(0));
  const isInvited = eb.or([eb.exists(inviter), eb.exists(program)]);
  return eb.and([eb('i.first_key_id', 'is', null), eb('i.expires_at', '>', at), isInvited]);
};

/** Not by comparing times, because the clocks of two gateways differ. Null in invitations of earlier versions. */
const isSince = (time: RawBuilder<unknown>) =>
  sql<boolean>`(i.inviter_since is null or i.inviter_since = date_trunc('milliseconds', ${time}))`;

/** The names of the organizations with these ids. Whoever can read an invitation can read the name of its organization. */
export async function organizationNames(
  { sql: reader }: OperationContext,
  ids: readonly OrganizationId[],
): Promise<Map<OrganizationId, string>> {
  const rows = await reader.all(
    db.selectFrom('organization as o').select(['o.id', 'o.name']).where('o.id', '=', anyOf('uuid', ids)),
  );
  return new Map(rows.map(({ id, name }) => [id, name]));
}

export type InvitationOrderField = 'CREATED_AT' | 'EMAIL';

/** The open invitations of a reach, in which `invitedUserId` is the user with the invited address. */
const openInvitations = (reach: (reader: Reader) => Reach<object>) =>
  defineList<InvitationRow, InvitationFilter, InvitationOrderField>()(
    db.selectFrom(
      db
        .selectFrom('invitation as i')
        .leftJoin('user_account as u', 'u.email', 'i.email')
        .selectAll('i')
        .select('u.id as invited_user_id')
        .as('i'),
    ),
    {
      name: 'INVITATION',
      alias: 'i',
      columns: SHOWN,
      reach,
      where: (value) => isOpen(sql`${value('now')}`)(expressionBuilder()),
      values: ({ now }) => ({ now: now() }),
      filter: ({ oneOf, containing, between }) => ({
        roles: oneOf('role'),
        search: containing('email'),
        ...between('created', 'createdAt'),
      }),
      orders: { CREATED_AT: { createdAt: 'timestamptz' }, EMAIL: { email: 'text' } },
    },
  );

export const INVITATIONS = openInvitations(inActingOrganization);
export const OWN_INVITATIONS = openInvitations(({ actor: { userId } }) => ({ all: { invitedUserId: userId } }));
export const READABLE_INVITATIONS = openInvitations(({ actor }) => readableInvitations(actor));

/** The organization of the invitation with this token, whether it is open or not. */
export async function organizationOfToken(em: EntityManager, hash: Buffer): Promise<string | undefined> {
  const row = await tablesOf(em)
    .selectFrom('invitation')
    .select('organization_id as id')
    .where('hash', '=', hash)
    .executeTakeFirst();
  return row?.id;
}

/** The open invitation with this token. The caller has locked the organization, so that it cannot be deleted concurrently. */
export const openInvitationOf = async (
  em: EntityManager,
  hash: Buffer,
  at: Date,
): Promise<Pick<InvitationRow, 'id' | 'email' | 'role' | 'organizationId'> | undefined> =>
  tablesOf(em)
    .selectFrom('invitation as i')
    .select(['i.id', 'i.email', 'i.role', 'i.organization_id as organizationId'])
    .where('i.hash', '=', hash)
    .where(isOpen(at.toISOString()))
    .executeTakeFirst();

/** What the open invitation with this token says to whoever has the token. */
export const previewOf = async (em: EntityManager, hash: Buffer, at: Date) =>
  tablesOf(em)
    .selectFrom('invitation as i')
    .innerJoin('organization as o', 'o.id', 'i.organization_id')
    .innerJoin('user_account as u', 'u.id', 'i.inviter_id')
    .select(['o.name as organizationName', 'i.email', 'i.role', 'u.name as inviterName', 'u.email as inviterEmail'])
    .select('i.expires_at as expiresAt')
    .where('i.hash', '=', hash)
    .where(isOpen(at.toISOString()))
    .executeTakeFirst();
export type InvitationPreview = NonNullable<Awaited<ReturnType<typeof previewOf>>>;

/**
 * The invitation with this token that was accepted without a key, if the new account is still a member of the organization. The caller has
 * locked the organization.
 */
export const acceptedInvitationOf = async (em: EntityManager, hash: Buffer, at: Date) =>
  tablesOf(em)
    .selectFrom('invitation as i')
    .innerJoin('api_key as k', 'k.id', 'i.first_key_id')
    .innerJoin('membership as m', (join) =>
      join.onRef('m.organization_id', '=', 'i.organization_id').onRef('m.user_id', '=', 'k.user_id'),
    )
    .select([
      'i.id',
      'i.email',
      'i.organization_id as organizationId',
      'i.role',
      'k.id as keyId',
      'k.user_id as userId',
    ])
    .where('i.hash', '=', hash)
    .where('i.expires_at', '>', at.toISOString())
    .executeTakeFirst();

/** Whether a user with this e-mail address is a member of the organization. */
export async function isMember(em: EntityManager, organizationId: OrganizationId, email: string): Promise<boolean> {
  const row = await tablesOf(em)
    .selectFrom('membership as m')
    .innerJoin('user_account as u', 'u.id', 'm.user_id')
    .select('m.user_id')
    .where('m.organization_id', '=', organizationId)
    .where('u.email', '=', email)
    .executeTakeFirst();
  return row !== undefined;
}

/** Deletes a batch of the invitations that expired before `at`. @returns how many were deleted. */
export async function deleteExpiredInvitations(em: EntityManager, at: Date, batch: number): Promise<number> {
  const tables = tablesOf(em);
  const expired = tables.selectFrom('invitation').select('id').where('expires_at', '<=', at.toISOString()).limit(batch);
  const deleted = await tables.deleteFrom('invitation').where('id', 'in', expired).returning('id').execute();
  return deleted.length;
}

/** Deletes the invitations of organizations that are being deleted, in the caller's transaction, which has locked them. */
export async function deleteInvitationsOf(
  em: EntityManager,
  organizationIds: readonly OrganizationId[],
): Promise<void> {
  if (organizationIds.length === 0) return;
  await tablesOf(em).deleteFrom('invitation').where('organization_id', 'in', organizationIds).execute();
}

/** Deletes the invitations to an e-mail address whose account is being deleted, in the caller's transaction. */
export async function deleteInvitationsTo(em: EntityManager, email: string | null | undefined): Promise<void> {
  if (email != null) await tablesOf(em).deleteFrom('invitation').where('email', '=', email).execute();
}

/** The row of an invitation that was just written. */
export const invitationRow = ({ organization, inviter, ...properties }: Invitation): InvitationRow =>
  asRow({ ...properties, organizationId: organization.id, inviterId: inviter?.id }, SHOWN);
