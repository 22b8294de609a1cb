import { sql } from 'kysely';
import type { SessionId } from '../../core/ids.ts';
import { requireOrganization } from '../../core/access.ts';
import type { OperationContext } from '../../core/operation.ts';
import { queriesOn, snake } from '../../core/postgres/reading/queries.ts';
import { WORK } from '../../core/work-budget.ts';
import { type SessionTables, USAGE_FIELDS, type UsageField, isOfTranscript } from '../sessions/public.ts';
import { FormatMemory } from './formats/format-memory.ts';

const db = queriesOn<SessionTables>();

/** A session that was ensured for a transcript. */
export interface TranscriptSession {
  readonly continuedFrom: string | null;
  /** Whether anything was redacted: no other bytes of its lines are stored then. */
  readonly isRedacted: boolean;
}

export interface StoredMemory {
  /** Id of the last event, up to which the memory is. */
  readonly lastId: number;
  /** Changes with each change of the stream: an append, another state, or a redaction of the memory. */
  readonly version: string;
  readonly isClosed: boolean;
  /** Id of the event up to which it is known which lines of transcripts were stored. */
  readonly linesUntil: number;
  readonly memory: FormatMemory;
  /** That of lines that the command of a run has written; undefined if there are none. */
  readonly ofCommand: FormatMemory | undefined;
  readonly transcript: TranscriptSession | undefined;
  readonly totals: Readonly<Record<UsageField, number | null>> | undefined;
}

/** What the format remembers of the lines that were appended before. Memory of an earlier version without a bound is forgotten. */
export async function readMemory(
  { sql: reader, actor }: OperationContext,
  sessionId: SessionId,
): Promise<StoredMemory> {
  const memoryIn = (column: 'format_memory' | 'command_memory') => {
    const text = sql.ref(`h.${column}`);
    return sql<
      string | null
    >`case when octet_length(${text}) <= ${sql.lit(2 * WORK.formatMemoryBytes)} then ${text} end`;
  };
  const row = await reader.primary.first(
    db
      .selectFrom('session_stream as h')
      .innerJoin('session as s', (join) =>
        join.onRef('s.id', '=', 'h.session_id').onRef('s.organization_id', '=', 'h.organization_id'),
      )
      .select(['h.last_id as lastId', 'h.is_closed as isClosed', 'h.lines_until as linesUntil'])
      .select([sql<string>`h.xmin::text`.as('version'), isOfTranscript('s').as('isOfTranscript')])
      .select([memoryIn('format_memory').as('formatMemory'), memoryIn('command_memory').as('commandMemory')])
      .select([
        sql<string | null>`s.source -> 'transcript' ->> 'continuedFrom'`.as('continuedFrom'),
        sql<boolean>`s.redacted_at is not null`.as('isRedacted'),
      ])
      .select(USAGE_FIELDS.map((field) => sql<number | null>`${sql.ref(`h.${snake(field)}`)}`.as(field)))
      .where('h.session_id', '=', sessionId)
      .where('h.organization_id', '=', requireOrganization(actor).id),
  );
  const { continuedFrom = null, isRedacted = false } = row ?? {};
  return {
    lastId: row?.lastId ?? 0,
    version: row?.version ?? '0',
    isClosed: row?.isClosed ?? false,
    linesUntil: row?.linesUntil ?? 0,
    memory: FormatMemory.parse(row?.formatMemory),
    ofCommand: row?.commandMemory == null ? undefined : FormatMemory.parse(row.commandMemory),
    transcript: row?.isOfTranscript ? { continuedFrom, isRedacted } : undefined,
    totals: row,
  };
}
