import type { EntityManager } from '@mikro-orm/postgresql';
import { sql } from 'kysely';
import type { SessionId } from '../../core/ids.ts';
import { listOf } from '../../core/postgres/reading/queries.ts';
import { withEntries } from './entry-fold.ts';
import type { Place } from './redaction-queries.ts';

/** Changes stored entries with their events, in the transaction of the caller. */

/** Takes the events before an id out of the entries. An entry of which some are left gets the id of the first of these. */
export async function pruneEntries(
  em: EntityManager,
  { sessionId, until }: { readonly sessionId: SessionId; readonly until: number },
): Promise<void> {
  const db = em.getKysely<never>();
  const memories = await sql<{ memory: string }>`
    select memory from session_fold where session_id = ${sessionId}::uuid for update`.execute(db);
  const pruned = sql`int8multirange(int8range(null, ${until}))`;
  const left = sql`events - ${pruned}`;
  const ofPruned = sql`session_id = ${sessionId}::uuid and id < ${until}`;
  const { rows } = await sql<{ id: number; next: number | null }>`
    select id::float8 as id, lower(${left})::float8 as next from session_entry where ${ofPruned}`.execute(db);
  await sql`delete from session_entry where ${ofPruned} and isempty(${left})`.execute(db);
  await sql`update session_entry set id = lower(${left}), events = ${left}, parts = parts - ${pruned},
    output_id = case when output_id >= ${until} then output_id end where ${ofPruned}`.execute(db);
  const [found] = memories.rows;
  if (!found || rows.length === 0) return;
  const memory = withEntries(found.memory, new Map(rows.map(({ id, next }) => [id, next ?? undefined])));
  await sql`update session_fold set memory = ${memory}, version = version + 1 where session_id = ${sessionId}::uuid`.execute(
    db,
  );
}

const NAMES = ['tool_name', 'call_id', 'subagent_id', 'model'] as const;

/** Changes the names that entries have of their events. */
export async function redactEntries(
  em: EntityManager,
  { sessionId, organizationId }: Place,
  rename: (name: string) => string,
): Promise<void> {
  const db = em.getKysely<never>();
  const ofSession = sql`session_id = ${sessionId}::uuid and organization_id = ${organizationId}::uuid`;
  for (const name of NAMES) {
    const column = sql.ref(name);
    const { rows } = await sql<{ name: string }>`
      select distinct ${column} as name from session_entry where ${ofSession} and ${column} is not null`.execute(db);
    const changed = rows.filter((row) => rename(row.name) !== row.name);
    if (changed.length === 0) continue;
    const [before, after] = [changed.map((row) => row.name), changed.map((row) => rename(row.name))];
    await sql`update session_entry e set ${column} = n.after from unnest(${listOf('text', before)}, ${listOf('text', after)}) as n(before, after)
      where e.session_id = ${sessionId}::uuid and e.organization_id = ${organizationId}::uuid and e.${column} = n.before`.execute(
      db,
    );
  }
}
