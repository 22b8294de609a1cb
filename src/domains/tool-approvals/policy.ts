import { type RawBuilder, type SqlBool, sql } from 'kysely';
import { type Access, type Actor, requireOrganization } from '../../core/access.ts';

export const SEE_TOOL_APPROVALS: Access = { scopes: ['mcp_connections.use'], inOrganization: true };
export const DECIDE_TOOL_APPROVALS: Access = { ...SEE_TOOL_APPROVALS, isForPeople: true, role: 'member' };

/** Whether an account is in a group that decides about calls of the connection `c`. */
const isApprover = ({ userId, organizationId }: Account) => sql<SqlBool>`exists (select from person_group_member as g
  where g.user_id = ${userId} and g.organization_id = ${organizationId} and g.group_id::text = any(c.approver_group_ids))`;

interface Account {
  readonly userId: unknown;
  readonly organizationId: unknown;
}

interface Reader extends Account {
  readonly isAdmin: unknown;
}

/** Whether a caller sees the approval `a`: administrators and approvers all of theirs, others their own. */
export const isSeenBy = ({ isAdmin, ...account }: Reader): RawBuilder<SqlBool> =>
  sql<SqlBool>`(${isAdmin} or a.user_id = ${account.userId} or ${isApprover(account)})`;

/** Whether a person decides about calls of the connection `c`: in its groups, or as an administrator where it names none. */
const decidesAt = ({ isAdmin, ...account }: Reader) =>
  sql<SqlBool>`case when c.approver_group_ids = '{}' then ${isAdmin} else ${isApprover(account)} end`;

/** Whether a person can decide about the approval `a`: never whose call it is, nor who made the key of the call. */
export const canDecide = (reader: Reader): RawBuilder<boolean> => sql<boolean>`(a.user_id <> ${reader.userId}
  and a.key_created_by_id is distinct from ${reader.userId} and ${decidesAt(reader)})`;

/** Whether the member `m` can decide about calls of the connection `c`. */
export const isDecider = (): RawBuilder<SqlBool> =>
  sql<SqlBool>`(m.organization_id = c.organization_id and m.role <> 'viewer'
    and ${decidesAt({ userId: sql.ref('m.user_id'), organizationId: sql.ref('m.organization_id'), isAdmin: sql`m.role = 'admin'` })})`;

/** A sign-in, or an own key: what a person has given to a client does not decide. */
export const isPersonThemselves = ({ kind, isServiceAccount, organization }: Actor): boolean =>
  kind !== 'OAUTH_GRANT' && isServiceAccount !== true && organization?.role !== 'viewer';

export function readerOf(actor: Actor) {
  const { id: organizationId, role } = requireOrganization(actor);
  return { organizationId, userId: actor.userId, isAdmin: role === 'admin' };
}
