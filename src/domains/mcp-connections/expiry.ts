import type { EntityManager } from '@mikro-orm/postgresql';

/** Deletes a batch of the authorizations that nobody has completed in time, with their secrets. @returns how many. */
export async function deleteExpiredAuthorizations(em: EntityManager, at: Date, batch: number): Promise<number> {
  const deleted = await em.execute<unknown[]>(
    `with gone as (
      delete from mcp_authorization where id in
        (select id from mcp_authorization where expires_at <= ? limit ${batch} for update skip locked)
      returning id
    ), secrets as (
      delete from secret where owner_table = 'mcp_authorization' and owner_id in (select id from gone)
    )
    select 1 from gone`,
    [at],
  );
  return deleted.length;
}
