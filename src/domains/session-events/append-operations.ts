import { createHash } from 'node:crypto';
import { auditEntry } from '../../core/audit.ts';
import { ConflictError, DomainError, NotFoundError } from '../../core/errors.ts';
import type { SessionId } from '../../core/ids.ts';
import { type OperationContext, defineOperation, requireAuthority } from '../../core/operation.ts';
import { violatedConstraint } from '../../core/postgres/failures.ts';
import { RECORD_SESSIONS, requireSessionChange, sessionTopic } from '../sessions/public.ts';
import { type Appended, appendStatement } from './append.ts';
import { findBatch, isSameBatch } from './batches.ts';
import { convertLines, linesOf, readMemory } from './convert-lines.ts';
import { type AppendSessionEventsInput, appendSessionEventsInput, appendSessionLinesInput } from './input.ts';
import { redactDocuments } from '../../core/redaction/redact.ts';
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
  run: async (context, { sessionId, format, batchId, text }): Promise<AppendedEvents> => {
    const memory = await readMemory(context, sessionId);
    const { events, repairedTexts, lineOf, memory: next } = convertLines(format, linesOf(text), memory);
    const contentHash = createHash('sha256').update(`${format}\n${text}`).digest('base64url');
    const appended = await append(context, { sessionId, batchId, events, contentHash, formatMemory: next }, lineOf);
    return { ...appended, repairedTexts };
  },
});

/** @param lineOf given for lines of an agent: a secret counts once in all of them, because texts that grow have it again and again */
export async function append(
  context: OperationContext,
  { events: given, ...rest }: Appended,
  lineOf?: (index: number) => number,
): Promise<AppendedEvents> {
  const { sessionId } = rest;
  const { events, redactedSecrets } = await redacted(context, given, lineOf);
  const repairedTexts = given.reduce((sum, event) => sum + event.repairedTexts, 0);
  const usage = usageOf(events.map(({ eventData }) => eventData));
  const target = { type: 'Session' as const, id: sessionId };
  context.onChange?.('appendSessionEvents', target);
  const entry = auditEntry(context, 'appendSessionEvents', target);
  const statement = appendStatement(context, { ...rest, events, usage }, entry);
  const [head] = await inAppendQueue(context, sessionId, () =>
    context.sql.attempt(statement).catch((error: unknown) => {
      if (isDuplicateBatch(error)) return [];
      throw error;
    }),
  );
  const stored = head
    ? { firstId: head.base + 1, lastId: head.base + events.length, isReplayed: false }
    : await replay(context, { ...rest, events });
  if (!stored.isReplayed) context.notifier.publish(sessionTopic(sessionId));
  return { sessionId, ...stored, events: stored.lastId - stored.firstId + 1, repairedTexts, redactedSecrets };
}

async function redacted(
  { settings }: OperationContext,
  events: AppendSessionEventsInput['events'],
  lineOf?: (index: number) => number,
): Promise<Pick<AppendSessionEventsInput, 'events'> & { redactedSecrets: number }> {
  if (!settings.isRecordRedacted) return { events, redactedSecrets: 0 };
  const { documents, secrets } = await redactDocuments(
    events.map(({ eventData }) => eventData),
    lineOf && (() => 0),
  );
  if (secrets === 0) return { events, redactedSecrets: 0 };
  return {
    events: events.map((event, index) => ({ ...event, eventData: documents[index] ?? event.eventData })),
    redactedSecrets: secrets,
  };
}

/**
 * Runs one append of a session at a time in this process. Otherwise each would use a connection of the pool while it
 * waits for the row lock.
 * @throws DomainError (503 with `Retry-After`) when earlier appends take too long.
 */
async function inAppendQueue<Result>(
  { appendQueue, timing }: OperationContext,
  sessionId: SessionId,
  run: () => Promise<Result>,
): Promise<Result> {
  if (!appendQueue) return run();
  const end = await appendQueue.take(`append ${sessionId}`, timing.appendWaitMs);
  if (!end)
    throw new DomainError('unavailable', 'too many requests append to this session at the same time; try again', {
      headers: { 'Retry-After': '1' },
    });
  try {
    return await run();
  } finally {
    end();
  }
}

function isDuplicateBatch(error: unknown): boolean {
  return violatedConstraint(error) === 'session_event_batch_pkey';
}

/**
 * Called when nothing was stored: the batch is already stored, the session is finished, or the caller cannot append.
 * @throws ConflictError when other events are stored under the batch id.
 */
async function replay(
  context: OperationContext,
  { sessionId, batchId, events, contentHash = null }: Appended,
): Promise<{ firstId: number; lastId: number; isReplayed: true }> {
  await requireAuthority(context);
  await requireSessionChange(context, sessionId);
  const batch = batchId === null ? undefined : await findBatch(context, sessionId, batchId);
  if (!batch) throw new ConflictError('WRONG_STATE', 'the session is finished; queue it again before recording events');
  const { contentHash: known, ...ids } = batch;
  // Lines are compared themselves: what they become also depends on earlier lines.
  const isSame = known === null ? await isSameBatch(context, sessionId, ids, events) : known === contentHash;
  if (!isSame)
    throw new ConflictError('BATCH_REUSED', 'already used for other events; use another batchId', ['batchId']);
  return { ...ids, isReplayed: true };
}
