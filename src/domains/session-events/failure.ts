import { type SqlBool, sql } from 'kysely';
import { NotFoundError } from '../../core/errors.ts';
import type { LoadBatch } from '../../core/graphql/batches.ts';
import type { SessionId } from '../../core/ids.ts';
import { type OperationContext, defineOperation } from '../../core/operation.ts';
import { READ_SESSIONS, readSessions, sessionNotFound, sessionReference } from '../sessions/public.ts';
import { type EntryRow, findRows } from './entry-queries.ts';
import { readSessionEvents } from './operations.ts';

/** Why a session failed, as its entries say: the last one that failed. */
export interface Failure {
  readonly sessionId: SessionId;
  readonly reason: string;
  readonly eventId: number;
}

/** Of the last entries of a session, so that a long one is not read to its beginning. */
const MAX_LAST = 1_000;
const IS_FAILURE = sql<SqlBool>`s.state = 'failed' and n.is_failed and n.id >= coalesce((select o.id from session_entry as o
  where o.session_id = s.id and o.organization_id = s.organization_id order by o.id desc offset ${sql.lit(MAX_LAST - 1)} limit 1), 0)`;

/** The failures of those that are failed and have a failed entry. */
export function failuresOf(context: OperationContext): LoadBatch<SessionId, Failure> {
  return async (sessionIds) => {
    const entries = await findRows(context, { sessionIds, isWanted: IS_FAILURE, order: sql`n.id desc`, limit: 1 });
    return new Map(entries.map((entry) => [entry.sessionId, failureOf(entry)]));
  };
}

function failureOf({ sessionId, id, outputId, kind, toolName, content: { text, output } }: EntryRow): Failure {
  if (kind !== 'toolCall') return { sessionId, reason: firstLine(text), eventId: id };
  const said = firstLine(output);
  return { sessionId, reason: `${toolName}${said === '' ? ' failed' : `: ${said}`}`, eventId: outputId ?? id };
}

const firstLine = (text: string): string => text.trim().split('\n', 1)[0] ?? '';

export const readSessionFailure = defineOperation({
  name: 'readSessionFailure',
  description:
    'Reads why a session failed: the last failed call, or error of the provider, among its last 1,000 entries. Both members are null for a session that has not failed, and when no entry has.',
  access: READ_SESSIONS,
  input: sessionReference,
  errors: [NotFoundError],
  run: async (context, { sessionId }) => {
    const [session] = await readSessions(context, [sessionId], ['id']);
    if (!session) throw sessionNotFound();
    const failure = (await failuresOf(context)([sessionId])).get(sessionId);
    const [event] = failure ? await readSessionEvents(context, [{ sessionId, id: failure.eventId }]) : [];
    return { reason: failure?.reason ?? null, event: event ?? null };
  },
});
