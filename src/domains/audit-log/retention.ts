import type { EntityManager } from '@mikro-orm/postgresql';

/** Deletes a batch of the entries from before a time, the earliest first. @returns how many. */
export async function deleteAuditEntries(em: EntityManager, before: Date, batch: number): Promise<number> {
  const deleted = await em.execute<unknown[]>(
    `delete from audit_entry where (occurred_at, id) in
      (select occurred_at, id from audit_entry where occurred_at < ? order by occurred_at, id limit ${batch}) returning 1`,
    [before],
  );
  return deleted.length;
}
