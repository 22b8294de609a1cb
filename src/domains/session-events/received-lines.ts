import { sql } from 'kysely';
import { requireOrganization } from '../../core/access.ts';
import { ConflictError } from '../../core/errors.ts';
import type { SessionId } from '../../core/ids.ts';
import type { OperationContext } from '../../core/operation.ts';
import { anyOf, queriesOn } from '../../core/postgres/reading/queries.ts';
import { type SessionTables, type TranscriptFileState, transcriptFilesOf } from '../sessions/public.ts';
import type { SessionEventTables } from './entity.ts';
import { type Key, keyFrom, keyOf, keysOf, markOf } from './line-keys.ts';
import type { TranscriptSession } from './read-memory.ts';
import { type Received, differing } from './stored-lines.ts';

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
  /** Blank lines that are not empty, with their numbers. */
  readonly blanks: readonly (readonly [number, string])[];
  /** The numbers of the lines with a carriage return at their end. */
  readonly returns: ReadonlySet<number>;
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
  /** The indexes of those that count in the session which this one was continued from. */
  readonly uncounted: ReadonlySet<number>;
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
  { place, continuedFrom, isRedacted }: TranscriptSession & { readonly place: FilePlace | undefined },
): Promise<SortedLines> {
  const { lines, numbers, count } = given;
  const files = await transcriptFilesOf(context, sessionId);
  const file = files.find(({ name }) => name === place?.file);
  const before = file?.lines ?? 0;
  if (place && place.fromLine > before + 1) throw gap(place, files);
  const keys = await keysOf(context, lines);
  const overlap = place && place.fromLine <= before ? await placedKeys(context, sessionId, place, count) : undefined;
  const lineOf = (index: number) => (place?.fromLine ?? 0) + (numbers[index] ?? 0);
  const received = await receivedOf(context, { sessionId, keys, place });
  const hasKeys = overlap !== undefined && isUnchanged(overlap, keys, { lineOf, before });
  const known = [...lines.keys()].filter((index) => place && received[index]?.isKnown);
  // Of lines with ids, the bytes can have changed.
  const compared = hasKeys ? known.filter((index) => lineOf(index) > before || keys[index]?.[0].isId) : known;
  const texts = isRedacted
    ? new Map<number, string>()
    : await differing(context, sessionId, { lines, received, compared });
  const isSame =
    hasKeys &&
    compared.every(
      (index) => (texts.get(index) ?? null) === (overlap.get(lineOf(index))?.text ?? null) || lineOf(index) > before,
    );
  if (overlap && !isSame && place) await forgetPlaces(context, sessionId, place);
  const isPlaced = (line: number) => place !== undefined && (!isSame || line > before);
  const until = place ? place.fromLine + count - 1 : 0;
  const state =
    place && (!isSame || until > before)
      ? { lines: until, mark: markOf(numbers.at(-1) === count - 1 ? (lines.at(-1) ?? '') : '') }
      : undefined;
  const fresh = lines.filter((_, index) => !received[index]?.isKnown);
  const freshKeys = keys.filter((_, index) => !received[index]?.isKnown);
  const rows = rowsOf(given, { place, received, texts, isPlaced });
  return {
    fresh,
    uncounted: await countedBefore(context, [sessionId, continuedFrom], freshKeys),
    repeated: lines.length - fresh.length,
    isNew: fresh.length > 0 || state !== undefined,
    places: (stored) => ({ file: place?.file ?? '', places: JSON.stringify(rows(stored)), state }),
  };
}

/** A line that is remembered, as JSON. */
export interface LineRow {
  readonly line: number | null;
  readonly key: string;
  readonly stored?: string | null;
  /** The number of its event in the request. */
  readonly at?: number | undefined;
  /** The event that it repeats. */
  readonly of?: number | null;
  readonly is_repeated: boolean;
  readonly text?: string | undefined;
  readonly cr?: boolean;
}

interface Sorted {
  readonly place: FilePlace | undefined;
  readonly received: readonly Received[];
  readonly texts: ReadonlyMap<number, string>;
  readonly isPlaced: (line: number) => boolean;
}

/** The rows of new lines, and of known ones that get a place. */
function rowsOf({ lines, numbers, blanks, returns }: GivenLines, { place, received, texts, isPlaced }: Sorted) {
  const numberOf = (index: number) => (place ? place.fromLine + index : null);
  return (stored: Parameters<SortedLines['places']>[0]): LineRow[] => {
    const offsets = new Map<string, number>();
    let next = 0;
    const rows = received.flatMap(({ isKnown, key, eventId }, index): LineRow[] => {
      const line = numberOf(numbers[index] ?? 0);
      const common = { line, key, cr: returns.has(numbers[index] ?? -1) };
      if (isKnown) {
        const at = eventId === null ? offsets.get(key) : undefined;
        const row = { ...common, at, of: eventId, is_repeated: true, text: texts.get(index) };
        return line !== null && isPlaced(line) ? [row] : [];
      }
      const own = stored[next++];
      const storedKey = own && own.text !== lines[index] ? keyOf(own.text).key : null;
      offsets.set(key, own?.offset ?? 0);
      return [{ ...common, stored: storedKey === key ? null : storedKey, at: own?.offset, is_repeated: false }];
    });
    for (const [number, text] of blanks) {
      const line = numberOf(number);
      if (line !== null && isPlaced(line)) rows.push({ line, key: keyFrom(`blank ${text}`), is_repeated: true, text });
    }
    return rows;
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
): Promise<ReadonlyMap<number, PlacedLine>> {
  const rows = await reader.primary.all(
    db
      .selectFrom('transcript_line')
      .select(['line', 'key', 'text', 'stored_key as storedKey', 'event_id as eventId'])
      .where('session_id', '=', sessionId)
      .where('organization_id', '=', requireOrganization(actor).id)
      .where('file', '=', file)
      .where('line', '>=', fromLine)
      .where('line', '<', fromLine + count)
      // Blank lines have none.
      .where('event_id', 'is not', null),
  );
  return new Map(rows.map((row) => [row.line, row]));
}

interface PlacedLine {
  readonly line: number;
  readonly key: string;
  readonly text: string | null;
  readonly storedKey: string | null;
  readonly eventId: number | null;
}

function isUnchanged(
  placed: ReadonlyMap<number, PlacedLine>,
  keys: readonly (readonly [Key, Key | undefined])[],
  { lineOf, before }: { readonly lineOf: (index: number) => number; readonly before: number },
): boolean {
  const within = keys.filter((_, index) => lineOf(index) <= before);
  return within.length === placed.size && within.every(([{ key }], index) => placed.get(lineOf(index))?.key === key);
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

/** The indexes of lines that the session has from the one that it was continued from, in which they count. */
async function countedBefore(
  { sql: reader, actor }: OperationContext,
  [sessionId, continuedFrom]: readonly [SessionId, string | null],
  keys: readonly (readonly [Key, Key | undefined])[],
): Promise<ReadonlySet<number>> {
  if (continuedFrom === null) return new Set();
  const asked = anyOf('uuid', [...new Set(keys.flatMap((pair) => pair.flatMap((key) => key?.key ?? [])))]);
  const rows = await reader.primary.all(
    db
      .selectFrom('transcript_line')
      .select(['key', 'stored_key as storedKey'])
      .where('organization_id', '=', requireOrganization(actor).id)
      .where((eb) =>
        eb.or([eb('session_id', '=', continuedFrom as SessionId), eb.and({ session_id: sessionId, file: FORM })]),
      )
      .where((eb) => eb.or([eb('key', '=', asked), eb('stored_key', '=', asked)])),
  );
  const counted = new Set(rows.flatMap(({ key, storedKey }) => [key, storedKey]));
  return new Set([...keys.keys()].filter((index) => keys[index]?.some((key) => key && counted.has(key.key))));
}

/** Forms of lines are in no file. Their numbers are below 0. */
const FORM = '';

/**
 * Remembers how a pull has written the lines of a file, whose folders differ on each machine, so that these forms of them are known too. In a session that was
 * continued from another one, they are the forms of lines of that one.
 */
export async function rememberForms(
  context: OperationContext,
  sessionId: SessionId,
  { lines, numbers, count }: GivenLines,
  place: FilePlace,
): Promise<void> {
  const organizationId = requireOrganization(context.actor).id;
  const placed = await placedKeys(context, sessionId, place, count);
  const rows = lines.flatMap((line, index) => {
    const number = place.fromLine + (numbers[index] ?? 0);
    const { key, isId } = keyOf(line);
    const own = placed.get(number);
    if (isId || own?.key === key || own?.storedKey === key) return [];
    const hash = markOf(`${place.file} ${number} ${key}`).slice(0, 13);
    return [{ line: -1 - Number.parseInt(hash, 16), key, of: own?.eventId ?? null, is_repeated: own === undefined }];
  });
  if (rows.length === 0) return;
  const forms = sql<{ line: number; key: string; of: number | null; is_repeated: boolean }>`
    json_to_recordset(${JSON.stringify(rows)}::json)`.as<'f'>(
    sql`f(line bigint, key uuid, "of" bigint, is_repeated boolean)`,
  );
  await context.sql.attempt(
    db
      .insertInto('transcript_line')
      .columns(['session_id', 'file', 'line', 'organization_id', 'key', 'event_id', 'is_repeated'])
      .expression((on) =>
        on
          .selectFrom(forms)
          .select([sql<string>`${sessionId}::uuid`.as('session_id'), sql<string>`${FORM}`.as('file'), 'f.line'])
          .select([sql<string>`${organizationId}::uuid`.as('organization_id'), 'f.key', 'f.of as event_id'])
          .select('f.is_repeated'),
      )
      .onConflict((conflict) => conflict.doNothing()),
  );
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
