import { sql } from 'kysely';
import { requireOrganization } from '../../core/access.ts';
import type { SessionId } from '../../core/ids.ts';
import type { OperationContext } from '../../core/operation.ts';
import { queriesOn } from '../../core/postgres/reading/queries.ts';
import type { SessionTables } from './entity.ts';

const db = queriesOn<SessionTables>();

/** Whether a session was ensured for a transcript. @param alias of its table */
export const isOfTranscript = (alias = 'session') =>
  sql<boolean>`${sql.ref(`${alias}.source`)} -> 'transcript' is not null`;

/** What was received of a file of a transcript. */
export interface TranscriptFileState {
  readonly name: string;
  readonly lines: number;
  readonly mark: string;
}

/** What was received of the files of a session. */
export const transcriptFilesOf = (
  { sql: reader, actor }: OperationContext,
  sessionId: SessionId,
): Promise<TranscriptFileState[]> =>
  reader.primary.all(
    db
      .selectFrom('transcript_file')
      .select(['name', 'lines', 'mark'])
      .where('session_id', '=', sessionId)
      .where('organization_id', '=', requireOrganization(actor).id)
      .orderBy('name'),
  );
