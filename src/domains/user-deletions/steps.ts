import type { EntityManager } from '@mikro-orm/postgresql';
import { purgeOccurrences } from '../event-occurrences/operations.ts';

/**
 * What a deletion consists of; docs/deletion.md is the same as a table. Each step takes a batch of what there is, in the caller's
 * transaction, and says which rows it found: it is repeated until it finds none, so it may be cut off at any point and run again.
 * A table that refers to users or organizations without a foreign key that cascades needs a step here; test/domains/user-deletions/records.test.ts finds
 * those that were forgotten.
 */

/** Rows that a transaction changes, but for what hangs on them. */
const BATCH = 5_000;
/** Rows that have much hanging on them. */
const SMALL_BATCH = 100;

export interface Target {
  readonly deletionJobId: string;
  /** The user, or the organization. */
  readonly id: string;
}

export interface Step {
  readonly name: string;
  /** @returns the ids of the rows that it found. */
  readonly run: (em: EntityManager, target: Target) => Promise<readonly string[]>;
  /** Whether what it finds are sessions, which somebody may follow. */
  readonly endsSessions?: boolean;
}

/** What goes with the account, in organizations that stay. */
export const USER_STEPS: readonly Step[] = [
  {
    name: 'private sessions',
    run: (em, target) => deleteSessions(em, target, `creator_id = ? and visibility = 'private'`),
    endsSessions: true,
  },
  {
    name: 'public sessions',
    run: (em, { id }) => forget(em, { table: 'session', column: 'creator_id', condition: `visibility = 'public'`, id }),
  },
  {
    name: 'personal connections',
    run: (em, { id }) => deleteConnections(em, `owner_id = ? and visibility = 'personal'`, id),
  },
  {
    name: 'shared connections',
    run: (em, { id }) =>
      forget(em, { table: 'mcp_connection', column: 'owner_id', condition: `visibility = 'shared'`, id }),
  },
  { name: 'authorizations', run: (em, { id }) => deleteAuthorizations(em, 'user_id = ?', id) },
  // Who has done something is known by their keys, which go with the account; this is what was done to them.
  {
    name: 'audit entries',
    run: (em, { id }) =>
      forget(em, { table: 'audit_entry', column: 'target_id', condition: `target_type = 'User'`, id }),
  },
];

/** What an organization holds that is too much for one transaction; the rest goes with its row. */
export const ORGANIZATION_STEPS: readonly Step[] = [
  { name: 'sessions', run: (em, target) => deleteSessions(em, target, 'organization_id = ?'), endsSessions: true },
  { name: 'connections', run: (em, { id }) => deleteConnections(em, 'organization_id = ?', id) },
  { name: 'event definitions', run: (em, { id }) => deleteDefinitions(em, id) },
  { name: 'object identifiers', run: (em, { id }) => deleteByPlace(em, 'object_identifier', id) },
  {
    name: 'broadcasts',
    run: (em, { id }) => deleteRows(em, { table: 'broadcast', where: 'organization_id = ?', limit: BATCH, id }),
  },
  {
    name: 'audit entries',
    run: (em, { id }) => deleteByPlace(em, 'audit_entry', id),
  },
];

/**
 * Sessions vanish at once with all but their events, and are noted, so that the events follow. Their streams are locked first, as whoever
 * appends does: what is being appended comes before, and is found by the purge, or finds no session.
 */
async function deleteSessions(em: EntityManager, { id, deletionJobId }: Target, where: string): Promise<string[]> {
  const sessions = await em.execute<{ id: string }[]>(`select id from session where ${where} limit ${SMALL_BATCH}`, [
    id,
  ]);
  if (sessions.length === 0) return [];
  const ids = sessions.map((session) => session.id);
  await em.execute('select from session_stream where session_id = any(?::uuid[]) order by session_id for update', [
    arrayOf(ids),
  ]);
  await em.execute(
    `with gone as (delete from session where id = any(?::uuid[]) and ${where} returning id, organization_id)
      insert into deleted_session (session_id, organization_id, deletion_job_id) select id, organization_id, ? from gone`,
    [arrayOf(ids), id, deletionJobId],
  );
  return ids;
}

/** Shared records stay, and no longer say whose they were. */
async function forget(
  em: EntityManager,
  { table, column, condition, id }: { table: string; column: string; condition: string; id: string },
): Promise<string[]> {
  const where = `${column} = ? and ${condition}`;
  const rows = await em.execute<{ id: string }[]>(
    `update ${table} set ${column} = null where id in (select id from ${table} where ${where} limit ${BATCH}) and ${where} returning id`,
    [id, id],
  );
  return rows.map((row) => row.id);
}

/** Rows are locked before their secrets go: a token that is being renewed is stored before, or finds no connection. */
async function deleteConnections(em: EntityManager, where: string, id: string): Promise<string[]> {
  const connections = await em.execute<{ id: string }[]>(
    `select id from mcp_connection where ${where} order by id limit ${SMALL_BATCH} for update`,
    [id],
  );
  const ids = connections.map((connection) => connection.id);
  if (ids.length === 0) return ids;
  for (const connectionId of ids) await deleteAuthorizations(em, 'connection_id = ?', connectionId);
  await deleteSecretsOf(em, 'mcp_connection', ids);
  await em.execute('delete from mcp_connection where id = any(?::uuid[])', [arrayOf(ids)]);
  return ids;
}

async function deleteAuthorizations(em: EntityManager, where: string, id: string): Promise<string[]> {
  const ids = await deleteRows(em, { table: 'mcp_authorization', where, limit: BATCH, id });
  if (ids.length > 0) await deleteSecretsOf(em, 'mcp_authorization', ids);
  return ids;
}

/** Definitions are locked, so that nothing is sent any more; each goes when its occurrences are gone. */
async function deleteDefinitions(em: EntityManager, organizationId: string): Promise<string[]> {
  const definitions = await em.execute<{ id: string }[]>(
    `select id from event_definition where organization_id = ? order by id limit ${SMALL_BATCH} for update`,
    [organizationId],
  );
  for (const { id } of definitions) {
    // One batch is enough for one transaction.
    if ((await purgeOccurrences(em, id)) > 0) break;
    await em.execute('delete from event_definition where id = ?', [id]);
  }
  return definitions.map((definition) => definition.id);
}

/** Of tables without an `id` to find their rows by. @returns where the rows were. */
async function deleteByPlace(em: EntityManager, table: string, organizationId: string): Promise<string[]> {
  const rows = await em.execute<{ place: string }[]>(
    `delete from ${table} where ctid = any(array(select ctid from ${table} where organization_id = ? limit ${BATCH})) returning ctid::text as place`,
    [organizationId],
  );
  return rows.map(({ place }) => place);
}

async function deleteSecretsOf(em: EntityManager, table: string, ids: readonly string[]): Promise<void> {
  await em.execute('delete from secret where owner_table = ? and owner_id = any(?::uuid[])', [table, arrayOf(ids)]);
}

async function deleteRows(
  em: EntityManager,
  { table, where, limit, id }: { table: string; where: string; limit: number; id: string },
): Promise<string[]> {
  const rows = await em.execute<{ id: string }[]>(
    `delete from ${table} where id in (select id from ${table} where ${where} limit ${limit}) returning id`,
    [id],
  );
  return rows.map((row) => row.id);
}

/** A list of UUIDs as PostgreSQL writes an array. */
function arrayOf(ids: readonly string[]): string {
  return `{${ids.join(',')}}`;
}

/**
 * Deletes a batch of the events of a session that is gone, and at last the note of it. Ids of a session are consecutive, so a range of
 * them is a batch.
 * @returns how many were deleted; 0 when none are left.
 */
export async function purgeEvents(em: EntityManager, sessionId: string): Promise<number> {
  const [head] = await em.execute<{ first: string | null }[]>(
    'select min(id) as first from session_event where session_id = ?',
    [sessionId],
  );
  if (head?.first == null) {
    await em.execute('delete from deleted_session where session_id = ?', [sessionId]);
    return 0;
  }
  const first = Number(head.first);
  const { affectedRows } = await em.execute<{ affectedRows: number }>(
    'delete from session_event where session_id = ? and id >= ? and id < ?',
    [sessionId, first, first + BATCH],
    'run',
  );
  return affectedRows;
}
