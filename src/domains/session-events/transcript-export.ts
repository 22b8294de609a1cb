import { sql } from 'kysely';
import { requireOrganization } from '../../core/access.ts';
import { ConflictError } from '../../core/errors.ts';
import { pagesWithRights } from '../../core/exported-pages.ts';
import type { SessionId } from '../../core/ids.ts';
import type { OperationContext } from '../../core/operation.ts';
import { queriesOn } from '../../core/postgres/reading/queries.ts';
import { WORK } from '../../core/work-budget.ts';
import {
  READ_SESSIONS,
  type SessionRow,
  type SessionTables,
  type TranscriptFileState,
  readStreamHead,
  transcriptFilesOf,
} from '../sessions/public.ts';
import type { SessionEventTables } from './entity.ts';
import { storedLine } from './stored-lines.ts';

/** The files of a transcript as they were received, so that the agent can go on with them on another machine. */

const db = queriesOn<SessionEventTables & SessionTables>();

/** The agents whose files are received as they are, and which find them when they are written to another machine. */
const AGENTS: ReadonlySet<string> = new Set(['claude', 'codex']);

export interface FileLine {
  readonly file: string;
  readonly line: string;
}
export type FileLines = AsyncGenerator<readonly FileLine[], void, undefined>;

/** @throws ConflictError (409) where the session has no transcript, or not all of it */
export async function transcriptOf(context: OperationContext, { id, source }: SessionRow): Promise<FileLines> {
  if (!AGENTS.has(source.transcript?.agent ?? '')) throw unavailable('it has no transcript of Claude Code or Codex');
  const files = await transcriptFilesOf(context, id);
  if (files.length === 0)
    throw unavailable('its lines were received without their files; send them again with: node record.mjs import');
  if (await isPruned(context, id)) throw unavailable('its oldest events were deleted');
  return linesOfFiles(context, id, files);
}

/** 409 with its code in REST too. */
class NoTranscriptError extends ConflictError {
  override get details(): Readonly<Record<string, unknown>> {
    return { code: this.faults[0].code };
  }
}

const unavailable = (why: string) => new NoTranscriptError('WRONG_STATE', `the session cannot be taken back: ${why}`);

async function isPruned({ sql: reader, actor }: OperationContext, sessionId: SessionId): Promise<boolean> {
  const first = db
    .selectFrom('session_event')
    .select(sql<number>`coalesce(min(id), 9223372036854775807)`.as('id'))
    .where('session_id', '=', sessionId)
    .where('organization_id', '=', requireOrganization(actor).id);
  const found = await reader.primary.first(
    db
      .selectFrom('transcript_line')
      .select('line')
      .where('session_id', '=', sessionId)
      .where('organization_id', '=', requireOrganization(actor).id)
      .where('file', '<>', '')
      .where('text', 'is', null)
      .where('event_id', '<', first)
      .limit(1),
  );
  return found !== undefined;
}

/** The rights of the caller are checked again before every page. Only one page is in memory. */
async function* linesOfFiles(
  context: OperationContext,
  sessionId: SessionId,
  files: readonly TranscriptFileState[],
): FileLines {
  const next = pagesWithRights(context, READ_SESSIONS);
  try {
    // The file of the session itself is before those of its subagents.
    for (const { name: file, lines } of files.toSorted((one, other) => (one.name < other.name ? -1 : 1)))
      for (let after = 0; after < lines;) {
        const current = await next();
        await readStreamHead(current, sessionId);
        const until = Math.min(lines, after + WORK.exportedEvents);
        const { rows, isCut } = await pageOfLines(current, sessionId, { file, after, until });
        const last = isCut ? (rows.at(-1)?.line ?? until) : until;
        const byNumber = new Map(rows.map((row) => [row.line, textIn(row)]));
        // Nothing is stored of an empty line.
        yield Array.from({ length: last - after }, (_, at) => ({ file, line: byNumber.get(after + at + 1) ?? '' }));
        after = last;
      }
  } finally {
    context.budget.close();
  }
}

interface LineRow {
  readonly line: number;
  readonly text: string | null;
  readonly encoding: string | null;
  readonly hasReturn: boolean;
}

function textIn({ line, text, encoding, hasReturn }: LineRow): string {
  if (text === null) throw new Error(`line ${line} has no event`);
  const whole = encoding === 'base64' ? Buffer.from(text, 'base64').toString() : text;
  return hasReturn ? `${whole}\r` : whole;
}

function pageOfLines(
  { sql: reader, actor }: OperationContext,
  sessionId: SessionId,
  { file, after, until }: { readonly file: string; readonly after: number; readonly until: number },
) {
  const organizationId = requireOrganization(actor).id;
  return reader.primary.page<LineRow>(
    db
      .selectFrom('transcript_line as l')
      .leftJoinLateral(storedLine('l', { sessionId, organizationId }), (join) => join.onTrue())
      .select([
        'l.line',
        sql<string | null>`coalesce(l.text, e.text)`.as('text'),
        sql<string | null>`case when l.text is null then e.encoding end`.as('encoding'),
        'l.has_return as hasReturn',
      ])
      .where('l.session_id', '=', sessionId)
      .where('l.organization_id', '=', organizationId)
      .where('l.file', '=', file)
      .where('l.line', '>', after)
      .where('l.line', '<=', until)
      .orderBy('l.line'),
    { maxBytes: WORK.exportedBytes, isJson: true },
  );
}
