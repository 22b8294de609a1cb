import { sql } from 'kysely';
import type { SessionId } from '../../core/ids.ts';
import { requireOrganization } from '../../core/access.ts';
import type { OperationContext } from '../../core/operation.ts';
import { queriesOn } from '../../core/postgres/reading/queries.ts';
import { WORK } from '../../core/work-budget.ts';
import type { SessionTables } from '../sessions/public.ts';
import { FormatMemory } from './formats/format-memory.ts';

const db = queriesOn<SessionTables>();

export interface StoredMemory {
  /** Id of the last event, up to which the memory is. */
  readonly lastId: number;
  /** Changes with each change of the stream: an append, another state, or a redaction of the memory. */
  readonly version: string;
  readonly isClosed: boolean;
  /** Id of the event up to which it is known which lines of transcripts were stored. */
  readonly linesUntil: number;
  readonly memory: FormatMemory;
}

/** What the format remembers of the lines that were appended before. Memory of an earlier version without a bound is forgotten. */
export async function readMemory(
  { sql: reader, actor }: OperationContext,
  sessionId: SessionId,
): Promise<StoredMemory> {
  const row = await reader.primary.first(
    db
      .selectFrom('session_stream')
      .select(['last_id as lastId', 'is_closed as isClosed', 'lines_until as linesUntil'])
      .select(sql<string>`xmin::text`.as('version'))
      .select(
        sql<string | null>`case when octet_length(format_memory) <= ${sql.lit(2 * WORK.formatMemoryBytes)}
          then format_memory end`.as('formatMemory'),
      )
      .where('session_id', '=', sessionId)
      .where('organization_id', '=', requireOrganization(actor).id),
  );
  return {
    lastId: row?.lastId ?? 0,
    version: row?.version ?? '0',
    isClosed: row?.isClosed ?? false,
    linesUntil: row?.linesUntil ?? 0,
    memory: FormatMemory.parse(row?.formatMemory),
  };
}
