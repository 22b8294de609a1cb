import { sql } from 'kysely';
import { requireOrganization } from '../../core/access.ts';
import { ConflictError } from '../../core/errors.ts';
import type { SessionId } from '../../core/ids.ts';
import type { OperationContext } from '../../core/operation.ts';
import { anyOf, queriesOn } from '../../core/postgres/reading/queries.ts';
import { type SessionTables, type TranscriptFileState, transcriptFilesOf } from '../sessions/public.ts';
import type { SessionEventTables } from './entity.ts';
import { type Key, keyOf, keysOf, markOf } from './line-keys.ts';

/**
 * Which lines of transcripts a session has. A line is known by the id that its agent gave it, or else by its bytes, of which the k-th is known
 * where k were received. So lines are stored once, whatever the client remembers.
 */

const db = queriesOn<SessionEventTables & SessionTables>();

/** The place of the lines of a request: a file, and the number of the first of them, from 1. */
export interface FilePlace {
  readonly file: string;
  readonly fromLine: number;
}

export interface GivenLines {
  readonly lines: readonly string[];
  /** The number of each line in the body, from 0. Blank lines count. */
  readonly numbers: readonly number[];
  /** How many lines the body has, with the blank ones. */
  readonly count: number;
}

interface Received {
  readonly isKnown: boolean;
  readonly key: string;
  /** The event of the line with the same bytes, if there is one. */
  readonly eventId: number | null;
}

/** What a request adds to the known lines; see `rememberLines`. */
export interface LinePlaces {
  readonly file: string;
  /** JSON of the rows. */
  readonly places: string;
  /** The new state of the file; absent for lines without a file. */
  readonly state?: { readonly lines: number; readonly mark: string } | undefined;
}

export interface SortedLines {
  /** The lines that become events. */
  readonly fresh: readonly string[];
  readonly repeated: number;
  /** Whether there is anything to remember. */
  readonly isNew: boolean;
  /** @param stored for each fresh line the number of its first event in the request, and its text as it is stored */
  places(stored: readonly { readonly offset: number; readonly text: string }[]): LinePlaces;
}

/**
 * Says which lines a session has already. Call it after the version of the stream was read, in which the answer is then stored.
 * @throws DomainError (409) when lines before these are missing
 */
export async function sortLines(
  context: OperationContext,
  sessionId: SessionId,
  given: GivenLines,
  place: FilePlace | undefined,
): Promise<SortedLines> {
  const { lines, numbers, count } = given;
  const files = await transcriptFilesOf(context, sessionId);
  const file = files.find(({ name }) => name === place?.file);
  const before = file?.lines ?? 0;
  if (place && place.fromLine > before + 1) throw gap(place, files);
  const keys = await keysOf(context, lines);
  const overlap = place && place.fromLine <= before ? await placedKeys(context, sessionId, place, count) : undefined;
  const lineOf = (index: number) => (place?.fromLine ?? 0) + (numbers[index] ?? 0);
  const isSame = overlap !== undefined && isUnchanged(overlap, keys, { lineOf, before });
  if (overlap && !isSame && place) await forgetPlaces(context, sessionId, place);
  const received = await receivedOf(context, { sessionId, keys, place });
  const until = place ? place.fromLine + count - 1 : 0;
  const state =
    place && (!isSame || until > before)
      ? { lines: until, mark: markOf(numbers.at(-1) === count - 1 ? (lines.at(-1) ?? '') : '') }
      : undefined;
  const fresh = lines.filter((_, index) => !received[index]?.isKnown);
  return {
    fresh,
    repeated: lines.length - fresh.length,
    isNew: fresh.length > 0 || state !== undefined,
    places: (stored) => {
      let next = 0;
      const rows = received.flatMap(({ isKnown, key, eventId }, index) => {
        const own = isKnown ? undefined : stored[next++];
        const line = place ? lineOf(index) : null;
        if (isKnown && (line === null || (isSame && line <= before))) return [];
        const storedKey = own && own.text !== lines[index] ? keyOf(own.text).key : null;
        return [{ line, key, stored: storedKey === key ? null : storedKey, at: own?.offset ?? null, of: eventId }];
      });
      return { file: place?.file ?? '', places: JSON.stringify(rows), state };
    },
  };
}

/** 409 with what was received of the files. */
class LinesMissingError extends ConflictError {
  readonly #files: readonly TranscriptFileState[];

  constructor({ file, fromLine }: FilePlace, files: readonly TranscriptFileState[]) {
    const lines = files.find(({ name }) => name === file)?.lines ?? 0;
    super('WRONG_STATE', `${lines} lines of the file were received: line ${lines + 1} is the next, not ${fromLine}`, [
      'fromLine',
    ]);
    this.#files = files;
  }

  override get details(): Readonly<Record<string, unknown>> {
    return { files: this.#files };
  }
}

const gap = (place: FilePlace, files: readonly TranscriptFileState[]) => new LinesMissingError(place, files);

/** The keys of the lines that were received for these places. */
async function placedKeys(
  { sql: reader, actor }: OperationContext,
  sessionId: SessionId,
  { file, fromLine }: FilePlace,
  count: number,
): Promise<ReadonlyMap<number, string>> {
  const rows = await reader.primary.all(
    db
      .selectFrom('transcript_line')
      .select(['line', 'key'])
      .where('session_id', '=', sessionId)
      .where('organization_id', '=', requireOrganization(actor).id)
      .where('file', '=', file)
      .where('line', '>=', fromLine)
      .where('line', '<', fromLine + count),
  );
  return new Map(rows.map(({ line, key }) => [line, key]));
}

function isUnchanged(
  placed: ReadonlyMap<number, string>,
  keys: readonly (readonly [Key, Key | undefined])[],
  { lineOf, before }: { readonly lineOf: (index: number) => number; readonly before: number },
): boolean {
  const within = keys.filter((_, index) => lineOf(index) <= before);
  return within.length === placed.size && within.every(([{ key }], index) => placed.get(lineOf(index)) === key);
}

/** The file was rewritten from a line on: what was received of it before stays known, but has no place in it. */
async function forgetPlaces(
  { sql: reader, actor }: OperationContext,
  sessionId: SessionId,
  { file, fromLine }: FilePlace,
): Promise<void> {
  const organizationId = requireOrganization(actor).id;
  await reader.attempt(
    db
      .with('gone', (on) =>
        on
          .deleteFrom('transcript_line')
          .where('session_id', '=', sessionId)
          .where('organization_id', '=', organizationId)
          .where('file', '=', file)
          .where('line', '>=', fromLine)
          .returning(['session_id', 'organization_id', 'key', 'stored_key', 'event_id', 'is_repeated']),
      )
      .insertInto('transcript_line')
      .columns(['session_id', 'file', 'line', 'organization_id', 'key', 'stored_key', 'event_id', 'is_repeated'])
      .expression((on) =>
        on
          .selectFrom('gone')
          .select([
            'session_id',
            sql<string>`''`.as('file'),
            'event_id as line',
            'organization_id',
            'key',
            'stored_key',
          ])
          .select(['event_id', 'is_repeated'])
          .where('is_repeated', '=', false),
      ),
  );
}

interface Looked {
  readonly sessionId: SessionId;
  readonly keys: readonly (readonly [Key, Key | undefined])[];
  readonly place: FilePlace | undefined;
}

/** Whether the session was ensured for a transcript. */
export async function isOfSource({ sql: reader, actor }: OperationContext, sessionId: SessionId): Promise<boolean> {
  const found = await reader.primary.first(
    db
      .selectFrom('session')
      .select(sql<boolean>`source ->> 'type' = 'transcript'`.as('isOfSource'))
      .where('id', '=', sessionId)
      .where('organization_id', '=', requireOrganization(actor).id),
  );
  return found?.isOfSource === true;
}

/** Which of the lines are known, in their order. */
async function receivedOf(context: OperationContext, { sessionId, keys, place }: Looked): Promise<Received[]> {
  const known = await knownOf(context, { sessionId, keys, place });
  const seen = new Map<string, number>();
  return keys.map(([{ key, isId }, redacted]) => {
    const found = known.get(key) ?? (redacted && known.get(redacted.key));
    const nth = (seen.get(key) ?? found?.before ?? 0) + 1;
    seen.set(key, nth);
    const isKnown = isId ? found !== undefined || nth > 1 : nth <= (found?.received ?? 0);
    return { key, isKnown, eventId: found?.eventId ?? null };
  });
}

interface Known {
  readonly received: number;
  /** How many of them are in the file before the first line. */
  readonly before: number;
  readonly eventId: number | null;
}

async function knownOf(
  { sql: reader, actor }: OperationContext,
  { sessionId, keys, place }: Looked,
): Promise<ReadonlyMap<string, Known>> {
  const asked = [...new Set(keys.flatMap(([key, redacted]) => (redacted ? [key.key, redacted.key] : [key.key])))];
  if (asked.length === 0) return new Map();
  const inFile = sql<boolean>`file = ${place?.file ?? ''} and line < ${place?.fromLine ?? 0} and file <> ''`;
  const countBy = (column: 'key' | 'stored_key') =>
    db
      .selectFrom('transcript_line')
      .select([`${column} as key`])
      .select([
        sql<number>`count(*) filter (where not is_repeated)::int`.as('received'),
        sql<number>`count(*) filter (where ${inFile})::int`.as('before'),
        sql<number | null>`min(event_id) filter (where not is_repeated)`.as('eventId'),
      ])
      .where('session_id', '=', sessionId)
      .where('organization_id', '=', requireOrganization(actor).id)
      .where(column, '=', anyOf('uuid', asked))
      .groupBy(column);
  const rows = [...(await reader.primary.all(countBy('key'))), ...(await reader.primary.all(countBy('stored_key')))];
  return new Map(rows.flatMap(({ key, ...found }) => (key === null ? [] : [[key, found]])));
}

/** Lines that were stored without being remembered, by a gateway of 1.0: their keys are those of what is stored. */
export async function rememberStored(
  context: OperationContext,
  sessionId: SessionId,
  { linesUntil, lastId }: { readonly linesUntil: number; readonly lastId: number },
): Promise<void> {
  const organizationId = requireOrganization(context.actor).id;
  for (let after = linesUntil; after < lastId;) {
    const events = await storedLines(context, sessionId, after, lastId);
    const until = events.length < STORED_PAGE ? lastId : (events.findLast(({ part }) => part === 1)?.id ?? lastId) - 1;
    const rows = wholeLines(events.filter(({ id }) => id <= until)).map(({ id, text }) => ({
      id,
      key: keyOf(text).key,
    }));
    await context.sql.attempt(
      db
        .with('advanced', (on) =>
          on
            .updateTable('session_stream')
            .set({ lines_until: until })
            .where('session_id', '=', sessionId)
            .where('organization_id', '=', organizationId)
            .returning('session_id'),
        )
        .insertInto('transcript_line')
        .columns(['session_id', 'file', 'line', 'organization_id', 'key', 'event_id', 'is_repeated'])
        .expression((on) =>
          on
            .selectFrom([
              'advanced',
              sql<{ id: number; key: string }>`json_to_recordset(${JSON.stringify(rows)}::json)`.as<'r'>(
                sql`r(id bigint, key uuid)`,
              ),
            ])
            .select([sql<string>`${sessionId}::uuid`.as('session_id'), sql<string>`''`.as('file'), 'r.id as line'])
            .select([sql<string>`${organizationId}::uuid`.as('organization_id'), 'r.key', 'r.id as event_id'])
            .select(sql<boolean>`false`.as('is_repeated')),
        )
        .onConflict((conflict) => conflict.doNothing()),
    );
    after = until;
  }
}

const STORED_PAGE = 500;

interface StoredPart {
  readonly id: number;
  readonly message: string;
  readonly part: number;
  readonly encoding: string | null;
}

function storedLines(
  { sql: reader, actor }: OperationContext,
  sessionId: SessionId,
  after: number,
  until: number,
): Promise<StoredPart[]> {
  const line = (name: string) => sql`event_data -> 'line' ->> ${sql.lit(name)}`;
  return reader.primary.all(
    db
      .selectFrom('session_event')
      .select('id')
      .select([
        sql<string>`event_data -> 'event' ->> 'message'`.as('message'),
        sql<number>`coalesce((${line('event')})::int, 1)`.as('part'),
        sql<string | null>`${line('encoding')}`.as('encoding'),
      ])
      .where('session_id', '=', sessionId)
      .where('organization_id', '=', requireOrganization(actor).id)
      .where('id', '>', after)
      .where('id', '<=', until)
      .where(sql<boolean>`event_data ->> 'providerEvent' = 'true'`)
      .where(sql<boolean>`coalesce((${line('event')})::int, 1) <= coalesce((${line('parts')})::int, 1)`)
      .where(sql<boolean>`event_data -> 'event' ->> 'message' is not null`)
      .orderBy('id')
      .limit(STORED_PAGE),
  );
}

/** The lines that parts make, each with the id of its first event. */
function wholeLines(parts: readonly StoredPart[]): { readonly id: number; readonly text: string }[] {
  const lines: { id: number; text: string; encoding: string | null }[] = [];
  for (const { id, message, part, encoding } of parts) {
    const last = lines.at(-1);
    if (part > 1 && last) last.text += message;
    else lines.push({ id, text: message, encoding });
  }
  return lines.map(({ id, text, encoding }) => ({
    id,
    text: encoding === 'base64' ? Buffer.from(text, 'base64').toString() : text,
  }));
}
