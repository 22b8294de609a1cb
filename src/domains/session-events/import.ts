import { createHash } from 'node:crypto';
import { sql } from 'kysely';
import { DomainError, invalid } from '../../core/errors.ts';
import type { SessionId, UserId } from '../../core/ids.ts';
import { type Actor, type OperationContext, SCOPES } from '../../core/operation.ts';
import { anyOf, queriesOn } from '../../core/postgres/queries.ts';
import type { Sql } from '../../core/postgres/sql.ts';
import { parseInput } from '../../core/validation.ts';
import type { OrganizationTables } from '../organizations/entity.ts';
import type { SessionTables } from '../sessions/entity.ts';
import type { SessionEventTables } from './entity.ts';
import { type RecordedEvent, recordedEvent } from './event-data.ts';
import { MAX_BATCH } from './input.ts';
import { appendSessionEvents } from './operations.ts';

const db = queriesOn<SessionEventTables & SessionTables & OrganizationTables>();

/** A line contains an event of at most 1 MiB, perhaps with every character escaped. */
const MAX_LINE_BYTES = 8 * 1024 * 1024;
/** A batch ends here, however few events it has. */
const MAX_BATCH_BYTES = 4 * 1024 * 1024;

export interface ImportProgress {
  /** Bytes of the source that were read. */
  readonly bytes: number;
  readonly imported: number;
  readonly skipped: number;
}

export interface ImportedEvents {
  readonly imported: number;
  /** Events that an earlier run had stored. */
  readonly skipped: number;
  /** Id of the last of the file's events; 0 when it has none. */
  readonly lastId: number;
}

/** The nil UUID (RFC 9562, section 5.9), which no account has. */
const NO_USER: UserId = '00000000-0000-0000-0000-000000000000';

/** An operator: acts as an admin of the session's organization. Undefined when there is no such session. */
export async function findOperator(reader: Sql, sessionId: SessionId): Promise<Actor | undefined> {
  const row = await reader.first(
    db
      .selectFrom('session as s')
      .innerJoin('organization as o', 'o.id', 's.organization_id')
      .select(['o.id', 'o.number', 's.creator_id as creatorId'])
      .where('s.id', '=', sessionId),
  );
  if (!row) return undefined;
  const organization = { id: row.id, number: row.number, role: 'admin', subscriptions: {} } as const;
  return {
    keyId: 'command-line',
    userId: row.creatorId ?? NO_USER,
    scopes: new Set(SCOPES),
    organization,
    isOperator: true,
  };
}

/**
 * Appends the events of NDJSON (one `RecordedEvent` a line, blank lines ignored) in batches of at most 1000, in constant memory. Run
 * again after it was stopped, or after lines were added to the file, it goes on behind what is stored: a batch is known by the line it starts
 * at and by its content.
 * @throws ValidationError naming the line that is wrong; nothing of its batch is stored. ConflictError when the session is finished.
 */
export async function importSessionEvents(
  context: OperationContext,
  {
    sessionId,
    source,
    onProgress = () => undefined,
  }: {
    sessionId: SessionId;
    source: AsyncIterable<Uint8Array>;
    onProgress?: (progress: ImportProgress) => void;
  },
): Promise<ImportedEvents> {
  const batch: Line[] = [];
  let [bytes, imported, skipped, lastId] = [0, 0, 0, 0];

  async function store(): Promise<void> {
    const ids = batchIdsOf(batch);
    const known = await findLongest(context.sql, sessionId, ids);
    // Looked up first, because the batch of an earlier run may have ended sooner: where the file did.
    const appended =
      known ??
      (await appendSessionEvents(context, {
        sessionId,
        batchId: ids.at(-1) ?? null,
        events: batch.map(({ event }) => event),
      }));
    const count = appended.lastId - appended.firstId + 1;
    if (known || appended.isReplayed) skipped += count;
    else imported += count;
    lastId = appended.lastId;
    batch.splice(0, count);
    onProgress({ bytes, imported, skipped });
  }

  for await (const line of readLines(source)) {
    bytes = line.end;
    if (line.text.trim() === '') continue;
    batch.push({ ...line, event: parseLine(line) });
    if (batch.length >= MAX_BATCH || line.end - (batch[0]?.end ?? 0) >= MAX_BATCH_BYTES) await store();
  }
  while (batch.length > 0) await store();
  return { imported, skipped, lastId };
}

interface TextLine {
  /** Counts from 1. */
  readonly number: number;
  readonly text: string;
  /** Bytes of the file up to the end of the line. */
  readonly end: number;
}

interface Line extends TextLine {
  readonly event: RecordedEvent;
}

function parseLine({ number, text }: TextLine): RecordedEvent {
  const inLine = (message: string) => invalid('', `line ${number}: ${message}`);
  let json: unknown;
  try {
    json = JSON.parse(text);
  } catch {
    throw inLine('is not JSON');
  }
  try {
    return parseInput(recordedEvent, json);
  } catch (error) {
    throw error instanceof DomainError ? inLine(error.message) : error;
  }
}

/** For each line of the batch, the id of the batch that would end with it. */
function batchIdsOf(batch: readonly Line[]): string[] {
  const hash = createHash('sha256');
  return batch.map(({ text }) => `import:${batch[0]?.number}:${hash.update(`${text}\n`).copy().digest('base64url')}`);
}

async function findLongest(
  reader: Sql,
  sessionId: SessionId,
  batchIds: readonly string[],
): Promise<{ firstId: number; lastId: number; isReplayed: true } | undefined> {
  const row = await reader.first(
    db
      .selectFrom('session_event_batch')
      .select(['first_id as firstId', 'last_id as lastId'])
      .where('session_id', '=', sessionId)
      .where('batch_id', '=', anyOf('text', batchIds))
      .orderBy(sql`last_id - first_id`, 'desc')
      .limit(1),
  );
  return row && { ...row, isReplayed: true };
}

/** Lines in UTF-8, one at a time; keeps at most one line of the maximum length in memory. */
async function* readLines(source: AsyncIterable<Uint8Array>): AsyncGenerator<TextLine, void, undefined> {
  const decoder = new TextDecoder('utf-8', { fatal: true });
  let parts: Buffer[] = [];
  let [number, end, held] = [1, 0, 0];
  const lineOf = (last: Buffer): TextLine => {
    try {
      return { number, text: decoder.decode(Buffer.concat([...parts, last])), end };
    } catch {
      throw invalid('', `line ${number}: is not well-formed UTF-8`);
    }
  };
  for await (const bytes of source) {
    const chunk = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
    let start = 0;
    for (let stop = chunk.indexOf(10); stop !== -1; stop = chunk.indexOf(10, start)) {
      end += stop + 1 - start;
      yield lineOf(chunk.subarray(start, stop));
      [parts, held, start, number] = [[], 0, stop + 1, number + 1];
    }
    const rest = chunk.subarray(start);
    end += rest.length;
    held += rest.length;
    if (held > MAX_LINE_BYTES) throw invalid('', `line ${number}: is longer than ${MAX_LINE_BYTES} bytes`);
    parts.push(rest);
  }
  if (held > 0) yield lineOf(Buffer.alloc(0));
}
