import { createHash } from 'node:crypto';
import { sql } from 'kysely';
import { DomainError, invalid } from '../../core/errors.ts';
import type { SessionId } from '../../core/ids.ts';
import { type Actor, operatorIn } from '../../core/access.ts';
import type { OperationContext } from '../../core/operation.ts';
import { anyOf, queriesOn } from '../../core/postgres/reading/queries.ts';
import type { Sql } from '../../core/postgres/reading/sql.ts';
import { parseInput } from '../../core/input/validation.ts';
import { parseExactJson } from '../../core/text/exact-json.ts';
import { WORK } from '../../core/work-budget.ts';
import type { OrganizationTables } from '../organizations/public.ts';
import type { SessionTables } from '../sessions/public.ts';
import type { SessionEventTables } from './entity.ts';
import { type RecordedEvent, recordedEvent } from './event-data.ts';
import { MAX_BATCH } from './input.ts';
import { append } from './append-operations.ts';
import { LineConverter, withoutReturn } from './line-converter.ts';
import { FormatMemory } from './formats/format-memory.ts';
import { TABLE } from './formats/jsonl.ts';
import type { FormatName } from './formats/names.ts';
import type { TableEntry } from './formats/member-table.ts';

const db = queriesOn<SessionEventTables & SessionTables & OrganizationTables>();

/** Maximum length of a line: an event of at most 1 MiB, in which every character can be escaped. */
const MAX_LINE_BYTES = 8 * 1024 * 1024;
/** Maximum size of a batch. A batch ends here even when it has few events. */
const MAX_BATCH_BYTES = 4 * 1024 * 1024;

export interface ImportProgress {
  /** Number of bytes of the source that were read. */
  readonly bytes: number;
  readonly imported: number;
  readonly skipped: number;
}

export interface ImportedEvents {
  readonly imported: number;
  /** Number of events that an earlier run had stored. */
  readonly skipped: number;
  /** Id of the last event of the file; 0 when the file has no events. */
  readonly lastId: number;
  /** How many credentials were replaced in the events that were imported now. */
  readonly redactedSecrets: number;
}

/** The actor of an operator, who acts as an administrator of the session's organization. Undefined when the session does not exist. */
export async function findOperator(reader: Sql, sessionId: SessionId): Promise<Actor | undefined> {
  const row = await reader.first(
    db
      .selectFrom('session as s')
      .innerJoin('organization as o', 'o.id', 's.organization_id')
      .select(['o.id', 'o.number', 's.creator_id as creatorId'])
      .where('s.id', '=', sessionId),
  );
  if (!row) return undefined;
  return operatorIn({ id: row.id, number: row.number }, row.creatorId);
}

/**
 * Appends events from NDJSON in batches of at most 1000 lines, in constant memory. Each line is a `RecordedEvent`, or, with a
 * format, one that an agent has written; blank lines are ignored. When it is run again after an interruption, or after lines were added to the file, it continues
 * after the stored events. A batch is identified by its first line and its content.
 * @throws ValidationError that names the faulty line; nothing of its batch is stored. ConflictError when the session is finished.
 */
export async function importSessionEvents(
  context: OperationContext,
  {
    sessionId,
    source,
    format,
    map,
    onProgress = () => undefined,
  }: {
    sessionId: SessionId;
    source: AsyncIterable<Uint8Array>;
    format?: FormatName | undefined;
    map?: readonly TableEntry[] | undefined;
    onProgress?: (progress: ImportProgress) => void;
  },
): Promise<ImportedEvents> {
  const batch: Line[] = [];
  const convert = format ? formatConverter(format, map) : parseLine;
  let [bytes, imported, skipped, lastId, redactedSecrets] = [0, 0, 0, 0, 0];

  async function store(): Promise<void> {
    const ids = batchIdsOf(batch, format);
    // Looked up first, because a batch of an earlier run can be shorter: it ended where the file ended then.
    const known = await findLongest(context.sql, sessionId, ids);
    if (known) {
      skipped += known.lastId - known.firstId + 1;
      lastId = known.lastId;
      batch.splice(0, ids.indexOf(known.batchId) + 1);
    } else {
      const events = batch.flatMap((line) => line.events);
      const appended = await append(context, { sessionId, batchId: ids.at(-1) ?? null, events });
      if (appended.isReplayed) skipped += events.length;
      else imported += events.length;
      redactedSecrets += appended.redactedSecrets;
      lastId = appended.lastId;
      batch.length = 0;
    }
    onProgress({ bytes, imported, skipped });
  }

  for await (const line of readLines(source, format === undefined)) {
    bytes = line.end;
    if (line.text.trim() === '') continue;
    const events = await convert(line);
    if (batch.reduce((sum, each) => sum + each.events.length, events.length) > WORK.lineEvents) await store();
    batch.push({ ...line, events });
    if (batch.length >= MAX_BATCH || line.end - (batch[0]?.end ?? 0) >= MAX_BATCH_BYTES) await store();
  }
  while (batch.length > 0) await store();
  return { imported, skipped, lastId, redactedSecrets };
}

/** Converts the lines of an agent, in their order. */
function formatConverter(
  format: FormatName,
  map: readonly TableEntry[] | undefined,
): (line: TextLine) => Promise<RecordedEvent[]> {
  const memory = new FormatMemory();
  memory.set(TABLE, map);
  const converter = new LineConverter(format, memory);
  return ({ text }) => converter.convert(withoutReturn(text));
}

interface TextLine {
  /** Line number, from 1. */
  readonly number: number;
  readonly text: string;
  /** Position of the end of the line in the file, in bytes. */
  readonly end: number;
}

interface Line extends TextLine {
  readonly events: readonly RecordedEvent[];
}

function parseLine({ number, text }: TextLine): RecordedEvent[] {
  const inLine = (message: string) => invalid('', `line ${number}: ${message}`);
  let json: unknown;
  try {
    json = parseExactJson(text);
  } catch {
    throw inLine('is not JSON');
  }
  try {
    return [parseInput(recordedEvent, json)];
  } catch (error) {
    throw error instanceof DomainError ? inLine(error.message) : error;
  }
}

/** For each line of the batch, the id of the batch that ends with that line. */
function batchIdsOf(batch: readonly Line[], format: FormatName | undefined): string[] {
  const hash = createHash('sha256');
  const name = format === undefined ? 'import' : `import:${format}`;
  return batch.map(({ text }) => `${name}:${batch[0]?.number}:${hash.update(`${text}\n`).copy().digest('base64url')}`);
}

const findLongest = async (
  reader: Sql,
  sessionId: SessionId,
  batchIds: readonly string[],
): Promise<{ firstId: number; lastId: number; batchId: string } | undefined> =>
  reader.first(
    db
      .selectFrom('session_event_batch')
      .select(['first_id as firstId', 'last_id as lastId', 'batch_id as batchId'])
      .where('session_id', '=', sessionId)
      .where('batch_id', '=', anyOf('text', batchIds))
      .orderBy(sql`last_id - first_id`, 'desc')
      .limit(1),
  );

/** Yields the lines one at a time. At most one line of the maximum length is in memory. Unless `isStrict`, bytes that are no UTF-8 become U+FFFD. */
async function* readLines(
  source: AsyncIterable<Uint8Array>,
  isStrict: boolean,
): AsyncGenerator<TextLine, void, undefined> {
  const decoder = new TextDecoder('utf-8', { fatal: isStrict });
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
    if (held > MAX_LINE_BYTES) throw invalid('', `line ${number}: must be at most ${MAX_LINE_BYTES} bytes`);
    parts.push(rest);
  }
  if (held > 0) yield lineOf(Buffer.alloc(0));
}
