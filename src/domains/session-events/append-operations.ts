import { createHash } from 'node:crypto';
import { auditEntry } from '../../core/audit.ts';
import { ConflictError, DomainError, NotFoundError } from '../../core/errors.ts';
import type { SessionId } from '../../core/ids.ts';
import { type OperationContext, defineOperation, requireAuthority } from '../../core/operation.ts';
import { violatedConstraint } from '../../core/postgres/failures.ts';
import { RECORD_SESSIONS, requireSessionChange, sessionTopic } from '../sessions/public.ts';
import { type Appended, appendStatement } from './append.ts';
import { findBatch, isSameBatch } from './batches.ts';
import { convertLines, linesOf } from './convert-lines.ts';
import { type AppendSessionEventsInput, appendSessionEventsInput, appendSessionLinesInput } from './input.ts';
import { TABLE } from './formats/jsonl.ts';
import { redactDocuments } from '../../core/redaction/redact.ts';
import { readMemory } from './read-memory.ts';
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
  run: async (context, { sessionId, format, batchId, map, subagent, resumed, text }): Promise<AppendedEvents> => {
    const lines = await linesOf(text);
    if (lines.length === 0) return appendNothing(context, sessionId);
    const contentHash = createHash('sha256').update(`${format}\n${text}`).digest('base64url');
    return inAppendQueue(context, sessionId, async () => {
      for (let attempt = 0; attempt < MAX_ATTEMPTS; attempt += 1) {
        const { version, memory } = await readMemory(context, sessionId);
        memory.set('resumed', resumed === 'true' ? true : undefined);
        memory.set(TABLE, map);
        memory.set('subagent', subagent);
        const given = await convertLines(format, lines, memory);
        // A secret counts once in all lines, because texts that grow have it again and again.
        const { events, redactedSecrets } = await redacted(context, given, () => 0);
        const stored = await store(context, {
          sessionId,
          batchId,
          events,
          contentHash,
          format: { memory: memory.toJson(), version },
        });
        if (stored) return answerOf(sessionId, { given, stored, redactedSecrets });
      }
      throw busy();
    });
  },
});

/** So often lines are converted again because the stream has changed meanwhile: another gateway has appended, or its memory was redacted. */
const MAX_ATTEMPTS = 20;

/** For a body without lines. @throws NotFoundError and ForbiddenError like an append. */
async function appendNothing(context: OperationContext, sessionId: SessionId): Promise<AppendedEvents> {
  await requireSessionChange(context, sessionId);
  const { lastId } = await readMemory(context, sessionId);
  const stored = { firstId: lastId + 1, lastId, isReplayed: false };
  return answerOf(sessionId, { given: [], stored, redactedSecrets: 0 });
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
    stored,
    redactedSecrets,
  }: {
    readonly given: AppendSessionEventsInput['events'];
    readonly stored: StoredIds;
    readonly redactedSecrets: number;
  },
): AppendedEvents {
  const repairedTexts = given.reduce((sum, event) => sum + event.repairedTexts, 0);
  return { sessionId, ...stored, events: stored.lastId - stored.firstId + 1, repairedTexts, redactedSecrets };
}

/** Undefined when the stream has changed since the memory of the format was read. */
async function store(context: OperationContext, appended: Appended): Promise<StoredIds | undefined> {
  const { sessionId, events } = appended;
  const usage = await usageOf(events.map(({ eventData }) => eventData));
  const target = { type: 'Session' as const, id: sessionId };
  context.onChange?.('appendSessionEvents', target);
  const entry = auditEntry(context, 'appendSessionEvents', target);
  const [head] = await context.sql
    .attempt(appendStatement(context, { ...appended, usage }, entry))
    .catch((error: unknown) => {
      if (isDuplicateBatch(error)) return [];
      throw error;
    });
  if (!head) return replay(context, appended);
  context.notifier.publish(sessionTopic(sessionId));
  return { firstId: head.base + 1, lastId: head.base + events.length, isReplayed: false };
}

async function redacted(
  { settings }: OperationContext,
  events: AppendSessionEventsInput['events'],
  groupOf?: (index: number) => number,
): Promise<Pick<AppendSessionEventsInput, 'events'> & { redactedSecrets: number }> {
  if (!settings.isRecordRedacted) return { events, redactedSecrets: 0 };
  const { documents, secrets } = await redactDocuments(
    events.map(({ eventData }) => eventData),
    groupOf,
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
    if (format && !(await readMemory(context, sessionId)).isClosed) return undefined;
    throw new ConflictError('WRONG_STATE', 'the session is finished; queue it again before recording events');
  }
  const { contentHash: known, ...ids } = batch;
  // Lines are compared themselves: what they become also depends on earlier lines.
  const isSame = known === null ? await isSameBatch(context, sessionId, ids, events) : known === contentHash;
  if (!isSame)
    throw new ConflictError('BATCH_REUSED', 'already used for other events; use another batchId', ['batchId']);
  return { ...ids, isReplayed: true };
}
