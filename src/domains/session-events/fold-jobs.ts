import { sql } from 'kysely';
import type { Backlog } from '../../core/backlog.ts';
import type { SessionId } from '../../core/ids.ts';
import type { OperationContext } from '../../core/operation.ts';
import { queriesOn } from '../../core/postgres/reading/queries.ts';
import type { Sql } from '../../core/postgres/reading/sql.ts';
import type { SessionTables } from '../sessions/public.ts';
import type { SessionEventTables } from './entity.ts';
import { IS_BEHIND, MAX_EVENTS, foldAll } from './fold-store.ts';

/** Folds events behind their recording: of this process, and what others have left. */

const db = queriesOn<SessionEventTables & SessionTables>();

/** Streams that are looked at in one run. */
const STREAMS = 1_000;
const SESSIONS = 20;

/**
 * Makes what folds the events that no process has folded behind their append: those of earlier versions, and of processes that have died. Each
 * run looks at the next streams. @returns a function that says how many sessions it has folded
 */
export function createFolding(reader: Sql): (signal?: AbortSignal) => Promise<number> {
  let after = NONE;
  return async (signal) => {
    const streams = db
      .selectFrom('session_stream as st')
      .leftJoin('session_fold as f', (join) =>
        join.onRef('f.session_id', '=', 'st.session_id').onRef('f.organization_id', '=', 'st.organization_id'),
      )
      .where('st.session_id', '>', after)
      .orderBy('st.session_id')
      .limit(sql.lit(STREAMS))
      .select(['st.session_id as id', IS_BEHIND.as('isBehind')]);
    const found = await reader.all(streams);
    const behind = found.filter(({ isBehind }) => isBehind).map(({ id }) => id);
    const some = behind.slice(0, SESSIONS);
    const isAll = some.length === behind.length;
    for (const id of some) {
      if (signal?.aborted) return 0;
      await foldAll(reader, [id], { signal });
    }
    after = isAll ? (found.length < STREAMS ? NONE : (found.at(-1)?.id ?? NONE)) : (some.at(-1) ?? NONE);
    return some.length;
  };
}
const NONE = '00000000-0000-0000-0000-000000000000' as SessionId;

/** Folds what this process has appended. */
export async function foldAppended(reader: Sql, unfolded: Backlog<SessionId>): Promise<number> {
  const { next: id } = unfolded;
  if (id === undefined) return 0;
  await unfolded.finish(id, () => foldAll(reader, [id]));
  return 1;
}

/** Folds what this process has left of a session, if a page could not fold that and more. */
export async function foldFirst(
  { sql: reader, unfolded }: Pick<OperationContext, 'sql' | 'unfolded'>,
  id: SessionId,
  more: number,
): Promise<void> {
  if (unfolded.leftOf(id) + more <= MAX_EVENTS) return;
  const fold = () => foldAll(reader, [id]);
  // Another fold may wait for what this transaction has locked; and nobody may count on what is not committed.
  await (reader.isTransaction ? fold() : unfolded.finish(id, fold));
}
