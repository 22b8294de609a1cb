import type { EntityManager } from '@mikro-orm/postgresql';
import { type RawBuilder, sql } from 'kysely';
import type { OrganizationId } from '../ids.ts';

/** Rows that readers follow by their numbers, which are given after the commit. */
interface Numbered {
  readonly table: string;
  /** Has the last number of each organization. Numbering locks its row until the commit, so that numbers become visible in their order. */
  readonly stream: string;
  /** The column with the number, and in the stream that with the last one. */
  readonly number: string;
  readonly last: string;
  /** The columns that identify a row of an organization. */
  readonly key: readonly string[];
  /** The columns in whose order the rows of several transactions are numbered. */
  readonly order: readonly string[];
}

/** Maximum number of rows that are numbered at once. The next reader numbers the others. */
const MAX_NUMBERED = 10_000;

/**
 * Numbers the rows of committed transactions. It is done by readers, so that changes need not wait for each other. A row gets a number after all
 * rows that were visible before it, so that a reader who follows the numbers misses none.
 */
export async function numberRows(
  em: EntityManager,
  organizationId: OrganizationId,
  { table, stream, number, last, key, order }: Numbered,
  condition: RawBuilder<boolean> = sql`true`,
): Promise<void> {
  const columns = (names: readonly string[], alias: string) =>
    sql.join(names.map((name) => sql.ref(`${alias}.${name}`)));
  const [head, count] = [sql.ref(last), sql.ref(number)];
  await em.fork().transactional(async (transaction) => {
    const tables = transaction.getKysely();
    await sql`insert into ${sql.table(stream)} (organization_id, ${head}) values (${organizationId}, 0) on conflict do nothing`.execute(
      tables,
    );
    await sql`select from ${sql.table(stream)} where organization_id = ${organizationId} for update`.execute(tables);
    // Its snapshot is taken after the lock was obtained, so that it sees what the previous one has numbered.
    await sql`
      with numbered as (
        update ${sql.table(table)} as e set ${count} = s.${head} + n.place
        from ${sql.table(stream)} as s, (
          select ${columns(key, 'p')}, row_number() over (order by ${columns(order, 'p')}) as place
          from ${sql.table(table)} as p where p.organization_id = ${organizationId} and p.${count} is null and ${condition}
          order by ${columns(order, 'p')} limit ${MAX_NUMBERED}
        ) as n
        where e.organization_id = ${organizationId} and s.organization_id = ${organizationId}
          and (${columns(key, 'e')}) = (${columns(key, 'n')})
        returning 1
      )
      update ${sql.table(stream)} as s set ${head} = ${head} + (select count(*) from numbered) where s.organization_id = ${organizationId}`.execute(
      tables,
    );
  });
}
