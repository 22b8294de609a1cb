import { NotFoundError, notFound } from '../../core/errors.ts';
import { type OperationContext, defineOperation } from '../../core/operation.ts';
import { pagesWithRights } from '../../core/exported-pages.ts';
import type { SessionId } from '../../core/ids.ts';
import { WORK } from '../../core/work-budget.ts';
import {
  READ_SESSIONS,
  type SessionRow,
  type SessionUsage,
  readSessionUsage,
  readSessions,
  readStreamHead,
} from '../sessions/public.ts';
import { exportSessionInput } from './input.ts';
import { type SessionEventRow, findSlice } from './queries.ts';

/** Reads a whole session, page by page. Only one page is in memory. */

export interface ExportedSession {
  readonly session: SessionRow;
  readonly usage: SessionUsage;
  readonly pages: Pages;
}

export const exportSession = defineOperation({
  name: 'exportSession',
  description:
    'Exports a session as a file: every event, one on a line (`ndjson`), or the transcript as a person reads it (`markdown`).',
  access: READ_SESSIONS,
  input: exportSessionInput,
  errors: [NotFoundError],
  run: async (context, { sessionId }): Promise<ExportedSession> => {
    const { lastId } = await readStreamHead(context, sessionId);
    const [session] = await readSessions(context, [sessionId]);
    if (!session) throw notFound('session');
    const usage = await readSessionUsage(context, { sessionId });
    return { session, usage, pages: pagesUpTo(context, sessionId, lastId) };
  },
});

/** Events in their order. */
export type Pages = AsyncGenerator<readonly SessionEventRow[], void, undefined>;

/** The events that were stored at the beginning. The rights of the caller are checked again before every page. */
async function* pagesUpTo(context: OperationContext, sessionId: SessionId, lastId: number): Pages {
  const next = pagesWithRights(context, READ_SESSIONS);
  try {
    for (let after = 0; after < lastId;) {
      const window = { after, before: lastId + 1, limit: WORK.exportedRows, maxBytes: WORK.exportedBytes };
      const slice = await findSlice(await next(), sessionId, {}, window);
      if (!slice) throw notFound('session');
      const last = slice.events.at(-1);
      // The operator may have deleted the events.
      if (!last) return;
      // Nothing is held while the client reads.
      context.budget.renew();
      yield slice.events;
      after = last.id;
    }
  } finally {
    context.budget.close();
  }
}
