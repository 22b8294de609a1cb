import { sql } from 'kysely';
import type { LoadBatch } from '../../core/graphql/batches.ts';
import { NotFoundError } from '../../core/errors.ts';
import type { SessionId } from '../../core/ids.ts';
import { requireAccess } from '../../core/access.ts';
import { type OperationContext, defineOperation } from '../../core/operation.ts';
import { anyOf, queriesOn, snake } from '../../core/postgres/reading/queries.ts';
import { within } from '../../core/postgres/reading/reach.ts';
import { USAGE_FIELDS, type UsageField } from './vocabulary.ts';
import type { SessionTables } from './entity.ts';
import { sessionReference } from './input.ts';
import { READ_SESSION_CONTENT, callerOf, readableBy, sessionNotFound } from './policy.ts';

/** The totals of sessions: tokens, costs and calls, as the events of their agents have reported them. */

/** A total is null when nothing was reported. */
export type SessionUsage = Readonly<Record<UsageField, number | null>>;

const db = queriesOn<SessionTables>();

/** The totals of the sessions that the caller can read, with one statement. */
export function usageOf(context: OperationContext): LoadBatch<SessionId, SessionUsage> {
  requireAccess(context.actor, READ_SESSION_CONTENT);
  return async (sessionIds) => {
    const rows = await context.sql.all(
      db
        .selectFrom('session as s')
        .innerJoin('session_stream as h', (join) =>
          join.onRef('h.session_id', '=', 's.id').onRef('h.organization_id', '=', 's.organization_id'),
        )
        .select('s.id as sessionId')
        .select(USAGE_FIELDS.map((field) => sql<number | null>`${sql.ref(`h.${snake(field)}`)}`.as(field)))
        .where('s.id', '=', anyOf('uuid', sessionIds))
        .where(within(readableBy(callerOf(context.actor)), 's')),
    );
    return new Map(rows.map(({ sessionId, ...usage }) => [sessionId, usage]));
  };
}

export const readSessionUsage = defineOperation({
  name: 'readSessionUsage',
  description:
    'Reads the totals of a session: tokens, costs and calls, as its events have reported them. Each is null when none was reported.',
  access: READ_SESSION_CONTENT,
  input: sessionReference,
  errors: [NotFoundError],
  run: async (context, { sessionId }): Promise<SessionUsage> => {
    const usage = (await usageOf(context)([sessionId])).get(sessionId);
    if (!usage) throw sessionNotFound();
    return usage;
  },
});
