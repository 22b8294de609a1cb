import { createHash } from 'node:crypto';
import { auditEntry } from '../../core/audit.ts';
import { ConflictError, DomainError, NotFoundError } from '../../core/errors.ts';
import type { SessionId } from '../../core/ids.ts';
import { type OperationContext, defineOperation, requireAuthority } from '../../core/operation.ts';
import { violatedConstraint } from '../../core/postgres/failures.ts';
import { RECORD_SESSIONS, requireSessionChange, sessionTopic } from '../sessions/public.ts';
import { type Appended, appendStatement, latestOf } from './append.ts';
import { findBatch, isSameBatch } from './batches.ts';
import { countedElsewhere, messageKey } from './counted-messages.ts';
import { foldFirst } from './fold-jobs.ts';
import { convertLines, linesOf } from './line-converter.ts';
import {
  type AppendSessionEventsInput,
  type AppendSessionLinesInput,
  appendSessionEventsInput,
  appendSessionLinesInput,
} from './input.ts';
import { FormatMemory } from './formats/format-memory.ts';
import { TABLE } from './formats/jsonl.ts';
import { lineIn } from './line-keys.ts';
import { redactDocuments } from '../../core/redaction/redact.ts';
import { type CutParts, SEARCHED_END, cutPartedCredentials } from './parted-credentials.ts';
import { type StoredMemory, readMemory } from './read-memory.ts';
import { RecordedTwice } from './recorded-twice.ts';
import { type GivenLines, type SortedLines, type FilePlace, rememberForms, sortLines } from './received-lines.ts';
import { cutStoredEnd } from './redaction-operations.ts';
import { rememberStored } from './stored-lines.ts';
import { usageOf } from './totals.ts';

export interface AppendedEvents {
  readonly sessionId: SessionId;
  readonly firstId: number;
  readonly lastId: number;
  /** Whether the batch was already stored, so that nothing was stored now. */
  readonly isReplayed: boolean;
  readonly events: number;
  readonly repairedTexts: number;
  readonly redactedSecrets: number;
  /** Lines of a transcript that the session had already. */
  readonly repeatedLines: number;
}

/**
 * One statement in one transaction. It first updates, and so locks, the head of the stream: ids become visible in the
 * order in which they were assigned. Concurrent retries of a batch wait for the same row, and the later one violates
 * the primary key of the batch. Concurrent appends to one session wait in a queue without a database connection.
 */
export const appendSessionEvents = defineOperation({
  name: 'appendSessionEvents',
  description:
    'Appends events to a session. Either all events are stored or none; they are numbered in the given order. With a `batchId`, a retry with the same events stores nothing and returns the stored ids; other events with a known `batchId` are refused. NUL characters and lone surrogates are replaced by U+FFFD, and texts of the shapes of known credentials by `[redacted]`. A finished session takes no events. Only the creator of the session and administrators can append events.',
  access: RECORD_SESSIONS,
  input: appendSessionEventsInput,
  errors: [NotFoundError, ConflictError],
  run: async (context, input): Promise<AppendedEvents> => append(context, input),
});

/** Lines of agents, which only REST and the command line take. Every line becomes at least one event. */
export const appendSessionLines = defineOperation({
  name: 'appendSessionLines',
  description: 'Appends lines that an agent has written to a session.',
  access: RECORD_SESSIONS,
  input: appendSessionLinesInput,
  errors: [NotFoundError, ConflictError],
  run: async (context, input): Promise<AppendedEvents> => {
    const { sessionId, batchId, file, fromLine = 1, text } = input;
    const given = await linesOf(text);
    if (input.pulled === 'true' && file !== undefined)
      return appendForms(context, sessionId, given, { file, fromLine });
    if (given.lines.length === 0 && (file === undefined || given.count === 0))
      return (await appendNothing(context, sessionId)).answer;
    const contentHash = createHash('sha256').update(`${input.format}\n${text}`).digest('base64url');
    return inAppendQueue(context, sessionId, async () => {
      const elsewhere = new Set<string>();
      for (let attempt = 0; attempt < MAX_ATTEMPTS; attempt += 1) {
        const memory = await readMemory(context, sessionId);
        const sorted = await sortedLines(context, input, { given, memory });
        if (sorted === 'again') continue;
        if (sorted?.isNew === false)
          return (
            (await replayed(context, { sessionId, batchId, contentHash })) ?? nothingNew(sessionId, memory, sorted)
          );
        const stored = await storeLines(
          context,
          { ...input, contentHash },
          { memory, sorted, elsewhere, lines: given.lines },
        );
        if (stored) return stored;
      }
      throw busy();
    });
  },
});

interface Kept {
  readonly memory: StoredMemory;
  readonly sorted: SortedLines | undefined;
  /** Messages whose usage counts in another session. */
  readonly elsewhere: Set<string>;
  readonly lines: readonly string[];
}

/** Undefined for lines that are stored as they come; 'again' when the stream has changed. */
async function sortedLines(
  context: OperationContext,
  { sessionId, file, fromLine, format, batchId }: AppendSessionLinesInput,
  { given, memory }: { readonly given: GivenLines; readonly memory: StoredMemory },
): Promise<SortedLines | 'again' | undefined> {
  const { linesUntil, lastId, transcript } = memory;
  const isOfFormat = FILE_FORMATS.has(format) && !OF_RUNS.test(batchId ?? '');
  const isOfFile = file !== undefined || isOfFormat || OF_OLD_FILES.test(batchId ?? '');
  if (!isOfFile || !transcript) return undefined;
  await requireSessionChange(context, sessionId);
  const place = file === undefined ? undefined : { file, fromLine: fromLine ?? 1 };
  if (linesUntil === lastId) return sortLines(context, sessionId, given, { ...transcript, place });
  await rememberStored(context, sessionId, { linesUntil, lastId });
  return 'again';
}

/** Formats of files, of which recorders of 1.0 do not name the file. */
const FILE_FORMATS: ReadonlySet<string> = new Set([
  'claude-transcript',
  'codex-rollout',
  'gemini-chat',
  'opencode-storage',
  'qwen-chat',
]);
/** The ids of their batches of files of other formats. */
const OF_OLD_FILES = /^[\da-f]{40}$/;
/** Those of a run, whose output has the format of a file. */
const OF_RUNS = /^[\da-f-]{36}:\d+$/;

/** Undefined when the stream has changed, or when more messages than were known count elsewhere. */
async function storeLines(
  context: OperationContext,
  {
    sessionId,
    batchId,
    format,
    map,
    subagent,
    resumed,
    contentHash,
  }: AppendSessionLinesInput & { contentHash: string },
  { memory: stored, sorted, elsewhere, lines }: Kept,
): Promise<AppendedEvents | undefined> {
  const { version, lastId, transcript } = stored;
  const way = sorted ? 'transcript' : 'command';
  const memory = (transcript && way === 'command' ? stored.ofCommand : stored.memory) ?? new FormatMemory();
  const twice = transcript && RecordedTwice.of(way, stored, memory, resumed === 'true');
  memory.set('resumed', resumed === 'true' ? true : undefined);
  memory.set(TABLE, map);
  memory.set('subagent', subagent);
  memory.elsewhere = elsewhere;
  const ends = memory.endsOf(SEARCHED_END);
  const firsts: number[] = [];
  const given = await convertLines(format, sorted?.fresh ?? lines, memory, (first) => firsts.push(first));
  const found = memory.counted.size > 0 ? await countedElsewhere(context, sessionId, memory.counted) : [];
  for (const id of found) elsewhere.add(id);
  if (found.length > 0) return undefined;
  // A secret counts once in all lines, because texts that grow have it again and again.
  const { events, redactedSecrets, beginnings, replaced } = await redacted(context, given, () => 0, ends);
  for (const [itemId, end] of replaced) memory.replaceEnd(itemId, end);
  for (const beginning of beginnings) await cutStoredEnd(context, { sessionId, lastId }, beginning);
  const received = sorted?.places(
    firsts.map((first, index) => {
      const isAsSent = events[first]?.eventData === given[first]?.eventData;
      const text = isAsSent ? sorted.fresh[index] : undefined;
      return { offset: first + 1, text: text ?? lineIn(events.slice(first, firsts[index + 1])) };
    }),
  );
  const uncounted = new Set<number>();
  for (const index of sorted?.uncounted ?? [])
    for (let event = firsts[index] ?? 0; event < (firsts[index + 1] ?? events.length); event += 1) uncounted.add(event);
  const ids = await store(context, {
    sessionId,
    batchId,
    events,
    counted: events.filter((_, event) => !uncounted.has(event)),
    isOfFile: sorted !== undefined,
    isTimed: FILE_FORMATS.has(format),
    contentHash,
    format: { memory: stored.memory.toJson(), version },
    twice,
    received,
    messages: Array.from(memory.counted, messageKey),
  });
  return ids && answerOf(sessionId, { given, stored: ids, redactedSecrets, repeatedLines: sorted?.repeated });
}

/** The answer to a retry of a batch of which all lines are known. */
async function replayed(
  context: OperationContext,
  { sessionId, batchId, contentHash }: Pick<Appended, 'sessionId' | 'batchId' | 'contentHash'>,
): Promise<AppendedEvents | undefined> {
  const batch = batchId === null ? undefined : await findBatch(context, sessionId, batchId);
  if (!batch || batch.contentHash !== contentHash) return undefined;
  return answerOf(sessionId, { given: [], stored: { ...batch, isReplayed: true }, redactedSecrets: 0 });
}

function nothingNew(sessionId: SessionId, { lastId }: StoredMemory, { repeated }: SortedLines): AppendedEvents {
  const stored = { firstId: lastId + 1, lastId, isReplayed: false };
  return answerOf(sessionId, { given: [], stored, redactedSecrets: 0, repeatedLines: repeated });
}

/** So often lines are converted again because the stream has changed meanwhile: another gateway has appended, or its memory was redacted. */
const MAX_ATTEMPTS = 20;

/** Nothing is stored of the lines but how a pull has written them. @throws NotFoundError and ForbiddenError like an append. */
async function appendForms(
  context: OperationContext,
  sessionId: SessionId,
  given: GivenLines,
  place: FilePlace,
): Promise<AppendedEvents> {
  const { answer, transcript } = await appendNothing(context, sessionId);
  if (!transcript) throw new ConflictError('WRONG_STATE', 'the session has no transcript', ['pulled']);
  await rememberForms(context, sessionId, given, place);
  return answer;
}

/** For a body without lines, by which a recorder also says that the agent still runs. @throws NotFoundError and ForbiddenError like an append. */
async function appendNothing(context: OperationContext, sessionId: SessionId) {
  await requireSessionChange(context, sessionId);
  const { lastId, ofCommand, isClosed, transcript } = await readMemory(context, sessionId);
  if (ofCommand && !isClosed) await store(context, { sessionId, batchId: null, events: [] });
  const stored = { firstId: lastId + 1, lastId, isReplayed: false };
  return { answer: answerOf(sessionId, { given: [], stored, redactedSecrets: 0 }), transcript };
}

interface StoredIds {
  readonly firstId: number;
  readonly lastId: number;
  readonly isReplayed: boolean;
}

export async function append(context: OperationContext, { events: given, ...rest }: Appended): Promise<AppendedEvents> {
  const { sessionId } = rest;
  const { events, redactedSecrets } = await redacted(context, given);
  const stored = await inAppendQueue(context, sessionId, () => store(context, { ...rest, events }));
  if (!stored) throw busy();
  return answerOf(sessionId, { given, stored, redactedSecrets });
}

function answerOf(
  sessionId: SessionId,
  {
    given,
    stored: { firstId, lastId, isReplayed },
    redactedSecrets,
    repeatedLines = 0,
  }: {
    readonly given: AppendSessionEventsInput['events'];
    readonly stored: StoredIds;
    readonly redactedSecrets: number;
    readonly repeatedLines?: number | undefined;
  },
): AppendedEvents {
  const repairedTexts = given.reduce((sum, event) => sum + event.repairedTexts, 0);
  const events = lastId - firstId + 1;
  return { sessionId, firstId, lastId, isReplayed, events, repairedTexts, redactedSecrets, repeatedLines };
}

/** Undefined when the stream has changed since the memory of the format was read. */
async function store(context: OperationContext, appended: Appended): Promise<StoredIds | undefined> {
  const { sessionId, events, counted = events, twice } = appended;
  const today = context.now().toISOString().slice(0, 'yyyy-mm-dd'.length);
  const reported = await usageOf(counted, appended.isOfFile === true ? today : undefined);
  const usage = reported && twice ? twice.added(reported, today) : reported;
  twice?.extendTo(latestOf(events));
  const target = { type: 'Session' as const, id: sessionId };
  context.onChange?.('appendSessionEvents', target);
  await foldFirst(context, sessionId, events.length);
  const entry = auditEntry(context, 'appendSessionEvents', target);
  const [head] = await context.sql
    .attempt(appendStatement(context, { ...appended, usage }, entry))
    .catch((error: unknown) => {
      if (isDuplicateBatch(error)) return [];
      throw error;
    });
  if (!head) return replay(context, appended);
  context.notifier.publish(sessionTopic(sessionId));
  context.unfolded.add(sessionId, events.length);
  // What is superseded takes entries out that have been folded. What cannot be folded now stays left.
  await foldFirst(context, sessionId, twice?.way === 'transcript' ? Infinity : 0).catch(() => undefined);
  return { firstId: head.base + 1, lastId: head.base + events.length, isReplayed: false };
}

interface RedactedEvents extends Pick<AppendSessionEventsInput, 'events'>, Pick<CutParts, 'beginnings' | 'replaced'> {
  readonly redactedSecrets: number;
}

async function redacted(
  { settings }: OperationContext,
  events: AppendSessionEventsInput['events'],
  groupOf?: (index: number) => number,
  ends: ReadonlyMap<string, string> = new Map(),
): Promise<RedactedEvents> {
  if (!settings.isRecordRedacted) return { events, redactedSecrets: 0, beginnings: [], replaced: new Map() };
  const given = events.map(({ eventData }) => eventData);
  const cut = await cutPartedCredentials(given, ends);
  const { documents, secrets } = await redactDocuments(cut.documents, groupOf, cut.secrets);
  return {
    ...cut,
    events:
      secrets === 0
        ? events
        : events.map((event, index) => ({ ...event, eventData: documents[index] ?? event.eventData })),
    redactedSecrets: secrets,
  };
}

/**
 * Runs one append of a session at a time in this process. Otherwise each would use a connection of the pool while it
 * waits for the row lock.
 * @throws DomainError (503 with `Retry-After`) when earlier appends take too long.
 */
async function inAppendQueue<Result>(
  { appendQueue, timing, budget }: OperationContext,
  sessionId: SessionId,
  run: () => Promise<Result>,
): Promise<Result> {
  if (!appendQueue) return run();
  const end = await appendQueue.take(`append ${sessionId}`, timing.appendWaitMs, (work) => budget.waiting(work));
  if (!end) throw busy();
  try {
    return await run();
  } finally {
    end();
  }
}

const busy = () =>
  new DomainError('unavailable', 'too many requests append to this session at the same time; try again', {
    headers: { 'Retry-After': '1' },
  });

function isDuplicateBatch(error: unknown): boolean {
  return violatedConstraint(error) === 'session_event_batch_pkey';
}

/**
 * Called when nothing was stored: the batch is already stored, the session is finished, the caller cannot append, or, then it returns
 * undefined, the stream has changed since the memory of the format was read.
 * @throws ConflictError when other events are stored under the batch id.
 */
async function replay(
  context: OperationContext,
  { sessionId, batchId, events, contentHash = null, format }: Appended,
): Promise<StoredIds | undefined> {
  await requireAuthority(context);
  await requireSessionChange(context, sessionId);
  const batch = batchId === null ? undefined : await findBatch(context, sessionId, batchId);
  if (!batch) {
    if (format && (events.length === 0 || !(await readMemory(context, sessionId)).isClosed)) return undefined;
    throw new ConflictError('WRONG_STATE', 'the session is finished; queue it again before recording events');
  }
  const { contentHash: known, ...ids } = batch;
  // Lines are compared themselves: what they become also depends on earlier lines.
  const isSame = known === null ? await isSameBatch(context, sessionId, ids, events) : known === contentHash;
  if (!isSame)
    throw new ConflictError('BATCH_REUSED', 'already used for other events; use another batchId', ['batchId']);
  return { ...ids, isReplayed: true };
}
