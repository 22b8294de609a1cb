import type { Role } from '../../core/access.ts';
import type { OrganizationId, UserId } from '../../core/ids.ts';
import type { ExpressionBuilder } from 'kysely';
import type { OperationContext } from '../../core/operation.ts';
import { type Readable, type RowOf, anyOf, asRow, columns, queriesOn } from '../../core/postgres/reading/queries.ts';
import { type Columns, withColumns } from '../../core/postgres/reading/columns.ts';
import { USER_COLUMNS, type User, type UserTables } from './entity.ts';

/** The columns that decide whom a caller can see. The noun `organizations`, which has the table, needs users itself. */
interface Memberships {
  readonly membership: { readonly user_id: UserId; readonly organization_id: OrganizationId };
}

const db = queriesOn<UserTables & Memberships>();

type AccountRow = RowOf<Readable<UserTables>['user_account']>;
type OfServiceAccounts = 'serviceOrganizationId' | 'serviceRole' | 'serviceRoleSince' | 'serviceDeletedAt';

/** A person. A row has the selected columns only; without a selection it has all columns. */
export type UserRow = Omit<AccountRow, OfServiceAccounts>;

/** A person, or a service account, which alone has a role. */
export interface ActorRow extends UserRow {
  readonly role: Role | null;
}

export interface ServiceAccountRow extends ActorRow {
  readonly name: string;
  readonly role: Role;
}

export const isServiceAccount = (row: UserRow | ActorRow): row is ServiceAccountRow =>
  'role' in row && row.role !== null;

const SHOWN = USER_COLUMNS.filter((name): name is keyof UserRow => !name.startsWith('service'));
const isOfUser = (name: string): name is keyof UserRow => SHOWN.some((each) => each === name);

/** The people with these ids that the caller can see: themselves and the other members of the acting organization. */
export const findUsers = (
  { actor, sql: reader }: OperationContext,
  ids: readonly UserId[],
  asked?: Columns<UserRow>,
): Promise<UserRow[]> =>
  reader.all(
    db
      .selectFrom('user_account as u')
      .select(columns('u', withColumns<UserRow>(asked, SHOWN, 'id')))
      .where('u.id', '=', anyOf('uuid', ids))
      .where('u.service_organization_id', 'is', null)
      .where((eb) => isVisiblePerson(eb, actor)),
  );

/** The same, and the service accounts of the acting organization. */
export const findActors = (
  { actor, sql: reader }: OperationContext,
  ids: readonly UserId[],
  asked?: Columns<ActorRow>,
): Promise<ActorRow[]> =>
  reader.all(
    db
      .selectFrom('user_account as u')
      .select(columns('u', withColumns<UserRow>(asked?.filter(isOfUser), SHOWN, 'id')))
      .select('u.service_role as role')
      .where('u.id', '=', anyOf('uuid', ids))
      .where('u.service_deleted_at', 'is', null)
      .where((eb) => {
        const isVisible = isVisiblePerson(eb, actor);
        return actor.organization
          ? eb.or([isVisible, eb('u.service_organization_id', '=', actor.organization.id)])
          : isVisible;
      }),
  );

type Tables = Readable<UserTables> & Memberships;

function isVisiblePerson(
  eb: ExpressionBuilder<Tables & { u: Tables['user_account'] }, 'u'>,
  { userId, organization }: OperationContext['actor'],
) {
  const isSelf = eb('u.id', '=', userId);
  if (!organization) return isSelf;
  const membership = eb
    .selectFrom('membership as m')
    .select('m.user_id')
    .whereRef('m.user_id', '=', 'u.id')
    .where('m.organization_id', '=', organization.id);
  return eb.or([isSelf, eb.exists(membership)]);
}

/** The row of a user that was just written. */
export const userRow = (user: User): UserRow => asRow(user, SHOWN);
