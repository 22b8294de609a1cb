import type { EntityManager } from '@mikro-orm/postgresql';
import { ConflictError } from '../../core/errors.ts';

// Organizations that would be left with members and without an admin.
const ONLY_ADMIN_OF = `
  select o.name, o.id from membership m join organization o on o.id = m.organization_id
  where m.user_id = ? and m.role = 'admin'
    and not exists (select from membership a where a.organization_id = o.id and a.role = 'admin' and a.user_id <> m.user_id)
    and exists (select from membership b where b.organization_id = o.id and b.user_id <> m.user_id)
  order by o.created_at, o.id limit 10`;

/** Why the user must not be deleted: the organizations that have other members and this user as their only admin. */
export async function onlyAdminConflict(em: EntityManager, userId: string): Promise<ConflictError | undefined> {
  const organizations = await em.execute<{ name: string; id: string }[]>(ONLY_ADMIN_OF, [userId]);
  if (organizations.length === 0) return undefined;
  const names = organizations.map(({ name, id }) => `${name} (${id})`).join(', ');
  return new ConflictError(
    `the user is the only admin of an organization that has other members: ${names}; make another member an admin first`,
  );
}
