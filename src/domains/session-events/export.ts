import { auditEntry, recordAudit } from '../../core/audit.ts';
import { ConflictError, NotFoundError } from '../../core/errors.ts';
import { type OperationContext, defineOperation } from '../../core/operation.ts';
import { pagesOf, pagesWithRights } from '../../core/exported-pages.ts';
import type { SessionId } from '../../core/ids.ts';
import type { PageArguments } from '../../core/postgres/reading/keyset.ts';
import { WORK } from '../../core/work-budget.ts';
import {
  READ_SESSIONS,
  type SessionRow,
  type SessionUsage,
  readSessionUsage,
  readSessions,
  readStreamHead,
  sessionNotFound,
} from '../sessions/public.ts';
import { exportSessionInput } from './input.ts';
import { ALL_COLUMNS, type SessionEventRow, pageOfEvents } from './queries.ts';
import { type FileLines, transcriptOf } from './transcript-export.ts';

/** Reads a whole session, page by page. Only one page is in memory. */

export type ExportedSession = ExportedEvents | { readonly session: SessionRow; readonly lines: FileLines };

export interface ExportedEvents {
  readonly session: SessionRow;
  readonly usage: SessionUsage;
  readonly pages: Pages;
}

export const exportSession = defineOperation({
  name: 'exportSession',
  description:
    'Exports a session as a file: every event, one on a line (`ndjson`), the transcript as a person reads it (`markdown`), or the files of Claude Code or Codex as they were received (`transcript`), which `record.mjs pull` writes to another machine; that one is in the audit log.',
  access: READ_SESSIONS,
  input: exportSessionInput,
  errors: [NotFoundError, ConflictError],
  run: async (context, { sessionId, format }): Promise<ExportedSession> => {
    const { lastId } = await readStreamHead(context, sessionId);
    const [session] = await readSessions(context, [sessionId]);
    if (!session) throw sessionNotFound();
    if (format === 'transcript') {
      const lines = await transcriptOf(context, session);
      const target = { type: 'Session' as const, id: sessionId, detail: format };
      await recordAudit(context.em.fork(), auditEntry(context, 'exportSession', target));
      return { session, lines };
    }
    const usage = await readSessionUsage(context, { sessionId });
    return { session, usage, pages: pagesUpTo(context, sessionId, lastId) };
  },
});

/** Events in their order. */
export type Pages = AsyncGenerator<readonly SessionEventRow[], void, undefined>;

/** The events that were stored at the beginning. The rights of the caller are checked again before every page. */
async function* pagesUpTo(context: OperationContext, sessionId: SessionId, lastId: number): Pages {
  const read = async (current: OperationContext, asked: PageArguments) => {
    const page = { ...asked, first: WORK.exportedEvents, before: String(lastId + 1) };
    const found = await pageOfEvents(current, sessionId, {
      page,
      maxBytes: WORK.exportedBytes,
      selected: ALL_COLUMNS,
    });
    if (!found) throw sessionNotFound();
    return found;
  };
  try {
    if (lastId > 0) yield* pagesOf(pagesWithRights(context, READ_SESSIONS), read);
  } finally {
    context.budget.close();
  }
}
