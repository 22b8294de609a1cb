import { REDACTED } from '../../core/redaction/redact.ts';
import { parseExactJson } from '../../core/text/exact-json.ts';
import { isDeepStrictEqual } from 'node:util';
import type { SessionId } from '../../core/ids.ts';
import type { OperationContext } from '../../core/operation.ts';
import { queriesOn } from '../../core/postgres/reading/queries.ts';
import type { SessionEventTables } from './entity.ts';
import type { RecordedEvent } from './event-data.ts';
import { type SessionEventRow, pageOfEvents } from './queries.ts';

/** Finds stored batches by the id that the client gave them. */

const db = queriesOn<SessionEventTables>();

export interface StoredBatch {
  readonly firstId: number;
  readonly lastId: number;
  /** Identifies the lines from which the events were made; null when the events themselves were sent. */
  readonly contentHash: string | null;
}

export const findBatch = async (
  { sql: reader }: OperationContext,
  sessionId: SessionId,
  batchId: string,
): Promise<StoredBatch | undefined> =>
  reader.first(
    db
      .selectFrom('session_event_batch')
      .select(['first_id as firstId', 'last_id as lastId', 'content_hash as contentHash'])
      .where('session_id', '=', sessionId)
      .where('batch_id', '=', batchId),
  );

/** Upper bound of a stored batch: a request body has at most 4 MiB, and PostgreSQL returns the JSON as it was stored. */
const MAX_BYTES = 8 * 1024 * 1024;

/** Whether the stored batch contains these events. Data is compared by value; the order of fields does not matter. */
export async function isSameBatch(
  context: OperationContext,
  sessionId: SessionId,
  { firstId, lastId }: Omit<StoredBatch, 'contentHash'>,
  events: readonly RecordedEvent[],
): Promise<boolean> {
  if (lastId - firstId + 1 !== events.length) return false;
  const page = { first: events.length, after: String(firstId - 1), before: String(lastId + 1) };
  const stored = (await pageOfEvents(context, sessionId, { page, maxBytes: MAX_BYTES }))?.rows ?? [];
  return stored.length === events.length && stored.every((row, index) => isSame(row, events[index]));
}

/** Compares two events. The time is compared only when it was given, because otherwise it is the time of storing. */
const isSame = (row: SessionEventRow, event: RecordedEvent | undefined): boolean =>
  event !== undefined &&
  isSameText(row.eventType, event.eventType) &&
  isSameText(row.provider, event.provider) &&
  row.messageId === (event.messageId?.toLowerCase() ?? null) &&
  (event.createdAt === null || row.createdAt === event.createdAt) &&
  (row.eventData === event.eventData || isSameData(row.eventData, event.eventData));

const isSameText = (stored: string, given: string) => stored === given || isRedacted(stored, given);

function isSameData(stored: string, given: string): boolean {
  const data = parseExactJson(given);
  return isDeepStrictEqual(parseExactJson(stored), data) || isRedacted(stored, JSON.stringify(data));
}

/** Whether the stored text is the given one with some of its texts redacted since. */
function isRedacted(stored: string, given: string): boolean {
  const [beginning = '', ...others] = stored.split(REDACTED);
  const end = others.pop();
  if (end === undefined || !given.startsWith(beginning)) return false;
  let at = beginning.length;
  for (const kept of others) {
    const found = given.indexOf(kept, at);
    if (found === -1) return false;
    at = found + kept.length;
  }
  return given.length - end.length >= at && given.endsWith(end);
}
