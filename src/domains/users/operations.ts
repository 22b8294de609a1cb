import type { OperationContext } from '../../core/operation.ts';
import type { Timestamp } from '../../core/sql.ts';

export interface UserRow {
  readonly id: string;
  readonly email?: string | null;
  readonly name?: string | null;
  readonly createdAt: Timestamp;
}

/** Those of the ids that the caller may see: themselves, and the other members of their organization. */
export async function readUsers({ actor, sql }: OperationContext, ids: readonly string[]): Promise<UserRow[]> {
  return sql.query<UserRow>(
    `select u.id, u.email, u.name, u.created_at as "createdAt" from user_account u where u.id = any($1)
      and (u.id = $2 or exists (select 1 from membership m where m.user_id = u.id and m.organization_id = $3))`,
    [ids, actor.userId, actor.organization?.id ?? null],
  );
}
