import { auditEntry, recordAudit } from '../../core/audit.ts';
import { ConflictError, NotFoundError } from '../../core/errors.ts';
import { type OperationContext, defineOperation } from '../../core/operation.ts';
import { pagesOf, pagesWithRights } from '../../core/exported-pages.ts';
import type { Page, PageArguments } from '../../core/postgres/reading/keyset.ts';
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
import { type EntryRow, pagesOfEntries } from './entry-queries.ts';
import { exportSessionInput } from './input.ts';
import { type SessionEventRow, pageOfEvents } from './queries.ts';
import { type FileLines, transcriptOf } from './transcript-export.ts';

/** Reads a whole session, page by page. Only one page is in memory. */

export type ExportedSession = ExportedEvents | ExportedEntries | { readonly session: SessionRow; readonly lines: FileLines };

export interface ExportedEvents {
  readonly session: SessionRow;
  readonly pages: Pages<SessionEventRow>;
}

export interface ExportedEntries {
  readonly session: SessionRow;
  readonly usage: SessionUsage;
  readonly entries: Pages<EntryRow>;
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
    if (format === 'ndjson') {
      const pages = pagesUpTo(context, lastId, (current, asked) =>
        pageOfEvents(current, sessionId, { ...asked, page: { ...asked.page, first: WORK.exportedEvents } }),
      );
      return { session, pages };
    }
    const usage = await readSessionUsage(context, { sessionId });
    const entries = pagesUpTo(context, lastId, async (current, asked) =>
      (await pagesOfEntries(current, { ...asked, filter: {} })([sessionId])).get(sessionId),
    );
    return { session, usage, entries };
  },
});

/** Events or entries in their order. */
type Pages<Row> = AsyncGenerator<readonly Row[], void, undefined>;

/** What was stored at the beginning. The rights of the caller are checked again before every page. */
async function* pagesUpTo<Row>(
  context: OperationContext,
  lastId: number,
  readPage: (
    current: OperationContext,
    asked: { readonly page: PageArguments; readonly maxBytes: number },
  ) => Promise<Page<Row> | undefined>,
): Pages<Row> {
  const read = async (current: OperationContext, asked: PageArguments) => {
    const page = { ...asked, before: String(lastId + 1) };
    const found = await readPage(current, { page, maxBytes: WORK.exportedBytes });
    if (!found) throw sessionNotFound();
    return found;
  };
  try {
    if (lastId > 0) yield* pagesOf(pagesWithRights(context, READ_SESSIONS), read);
  } finally {
    context.budget.close();
  }
}
