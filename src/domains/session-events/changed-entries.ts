import type { EntityManager } from '@mikro-orm/postgresql';
import { sql } from 'kysely';
import { listOf } from '../../core/postgres/reading/queries.ts';
import { NO_MEMORY, withEntries, withNames } from './fold-memory.ts';
import type { Place } from './redaction-queries.ts';

/** Changes stored entries with their events, in the transaction of the caller. */

/**
 * Takes the events before an id out of the entries, and keeps which entries are no more. One of which some events are left gets the id of the first
 * of these.
 */
export async function pruneEntries(
  em: EntityManager,
  { sessionId, organizationId, until }: Place & { readonly until: number },
): Promise<void> {
  const db = em.getKysely<never>();
  const pruned = sql`int8multirange(int8range(null, ${until}))`;
  const left = sql`events - ${pruned}`;
  const ofPruned = sql`session_id = ${sessionId}::uuid and organization_id = ${organizationId}::uuid and id < ${until}`;
  // Another version: what was read before is not folded.
  const folds = await sql<{ memory: string }>`
    insert into session_fold (session_id, organization_id, folded_id, closed_id, version, memory, pruned_until)
    values (${sessionId}, ${organizationId}, 0, 0, 1, ${NO_MEMORY}, ${until})
    on conflict (session_id, organization_id) do update set version = session_fold.version + 1, pruned_until = excluded.pruned_until
    returning memory`.execute(db);
  const removed = await sql<{ id: number; next: number | null }>`
    insert into removed_entry (session_id, id, organization_id, kind, next_id)
    (select session_id, id, organization_id, kind, lower(${left}) from session_entry where ${ofPruned})
    returning id::float8 as id, next_id::float8 as next`.execute(db);
  await sql`delete from session_entry where ${ofPruned} and isempty(${left})`.execute(db);
  await sql`update session_entry set id = lower(${left}), events = ${left}, parts = parts - ${pruned},
    failed_events = failed_events - ${pruned},
    output_id = case when output_id >= ${until} then output_id end where ${ofPruned}`.execute(db);
  const memory = withEntries(
    folds.rows[0]?.memory ?? NO_MEMORY,
    new Map(removed.rows.map(({ id, next }) => [id, next ?? undefined])),
  );
  await sql`update session_fold set memory = ${memory}
    where session_id = ${sessionId}::uuid and organization_id = ${organizationId}::uuid`.execute(db);
}

const NAMES = ['tool_name', 'call_id', 'subagent_id', 'model'] as const;

/** Changes the names that entries have of their events. What a fold has read before is not stored. */
export async function redactEntries(
  em: EntityManager,
  { sessionId, organizationId }: Place,
  rename: (name: string) => string,
): Promise<void> {
  const db = em.getKysely<never>();
  const ofSession = sql`session_id = ${sessionId}::uuid and organization_id = ${organizationId}::uuid`;
  const folds = await sql<{ memory: string }>`select memory from session_fold where ${ofSession} for update`.execute(
    db,
  );
  for (const { memory } of folds.rows)
    await sql`update session_fold set version = version + 1, memory = ${withNames(memory, rename)} where ${ofSession}`.execute(
      db,
    );
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
