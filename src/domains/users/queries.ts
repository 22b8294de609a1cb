import type { OrganizationId, UserId } from '../../core/ids.ts';
import type { OperationContext } from '../../core/operation.ts';
import { type Readable, type RowOf, anyOf, asRow, columns, queriesOn } from '../../core/postgres/reading/queries.ts';
import { type Columns, withColumns } from '../../core/postgres/reading/columns.ts';
import { USER_COLUMNS, type User, type UserTables } from './entity.ts';

/** The columns that decide whom a caller can see. The noun `organizations`, which has the table, needs users itself. */
interface Memberships {
  readonly membership: { readonly user_id: UserId; readonly organization_id: OrganizationId };
}

const db = queriesOn<UserTables & Memberships>();

/** A row has the selected columns only; without a selection it has all columns. */
export type UserRow = RowOf<Readable<UserTables>['user_account']>;

/** The users with these ids that the caller can see: themselves and the other members of the acting organization. */
export async function findUsers(
  { actor, sql: reader }: OperationContext,
  ids: readonly UserId[],
  asked?: Columns<UserRow>,
): Promise<UserRow[]> {
  const { userId, organization } = actor;
  return reader.all(
    db
      .selectFrom('user_account as u')
      .select(columns('u', withColumns<UserRow>(asked, USER_COLUMNS, 'id')))
      .where('u.id', '=', anyOf('uuid', ids))
      .where((eb) => {
        const isSelf = eb('u.id', '=', userId);
        if (!organization) return isSelf;
        const membership = eb
          .selectFrom('membership as m')
          .select('m.user_id')
          .whereRef('m.user_id', '=', 'u.id')
          .where('m.organization_id', '=', organization.id);
        return eb.or([isSelf, eb.exists(membership)]);
      }),
  );
}

/** The row of a user that was just written. */
export function userRow(user: User): UserRow {
  return asRow(user, USER_COLUMNS);
}
