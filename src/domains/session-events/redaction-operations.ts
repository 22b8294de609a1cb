import type { EntityManager } from '@mikro-orm/postgresql';
import { auditEntry, recordAudit } from '../../core/audit.ts';
import { ConflictError, NotFoundError, limitReached } from '../../core/errors.ts';
import { requireOrganization } from '../../core/access.ts';
import { type OperationContext, defineOperation, transact } from '../../core/operation.ts';
import { freeTexts } from '../../core/input/shape-bounds.ts';
import { eraseLateAnswers, eraseStoredAnswers } from '../../core/stored-answers.ts';
import { REDACTED } from '../../core/redaction/redact.ts';
import { parseExactJson } from '../../core/text/exact-json.ts';
import { isUuid } from '../../core/ids.ts';
import { BatchSize, WORK, WorkSlices } from '../../core/work-budget.ts';
import {
  WRITE_SESSIONS,
  createSessionInput,
  lockSessionWithStream,
  requireNotHeld,
  sessionsTopic,
  toPlainText,
} from '../sessions/public.ts';
import type { EventData } from './event-data.ts';
import { FormatMemory } from './formats/format-memory.ts';
import { redactSessionEventsInput } from './input.ts';
import { type Redaction, type TextRedaction, allTexts, cutTo, occurrencesOf, sameName } from './redacted-texts.ts';
import {
  type Place,
  type ChangedEvent,
  type RedactedEvent,
  type Searched,
  countEvents,
  findEvents,
  findLastParts,
  findPullRequests,
  forgetLineTexts,
  lockForRedaction,
  noteRedaction,
  writeEvents,
  writePullRequest,
} from './redaction-queries.ts';
import { redactEntries } from './changed-entries.ts';
import { indexAgain, indexTitle, redactNames } from './search-index.ts';
import { type ChangedPart, SplitTexts, withPart } from './split-texts.ts';
import type { Beginning } from './parted-credentials.ts';

export const redactSessionEvents = defineOperation({
  name: 'redactSessionEvents',
  description:
    'Replaces texts of a session by `[redacted]`, for example a password that an agent has printed. With `text`, each occurrence in events, in the texts of the session (title, description, agent, branches and others), and in titles, branches, agents and diffs of pull requests; sums of usage keep their names; with `eventIds`, every text in the data of these events but types, providers, ids, names of tools and values of closed lists. Ids, order and number of the events stay. The answer comes when all is done, and searches, exports and later reads no longer have the text. Only the creator and administrators can redact a session, and nobody while it is held.',
  access: WRITE_SESSIONS,
  input: redactSessionEventsInput,
  errors: [NotFoundError, ConflictError],
  // One transaction around all batches would lock the session until the last one.
  callsOut: true,
  run: async (context, { sessionId, text, eventIds }) => {
    const { actor, now } = context;
    const place = { sessionId, organizationId: requireOrganization(actor).id };
    const target = { type: 'Session' as const, id: sessionId };
    const by: Redactor = {
      actor,
      now,
      transact: (run) => transact(context, ({ em }) => run(em)),
      record: (em) => recordAudit(em, auditEntry(context, 'redactSessionEvents', target)),
    };
    const ids = eventIds?.map(({ id }) => id);
    const foreign = eventIds?.flatMap(({ sessionId: of }, index) => (of === null || of === sessionId ? [] : [index]));
    const redacted = await redactIn(by, place, { text, ids, foreign });
    context.onChange?.('redactSessionEvents', target);
    context.notifier.publish(sessionsTopic(place.organizationId));
    return redacted;
  },
});

/** Who redacts a session, and how the transactions are made. */
export interface Redactor extends Pick<OperationContext, 'actor' | 'now'> {
  readonly transact: <Result>(run: (em: EntityManager) => Promise<Result>) => Promise<Result>;
  /** Writes the audit log entry. Absent for a part of a redaction of many sessions, which has one and is as long as it takes. */
  readonly record?: (em: EntityManager) => Promise<void>;
}

/** Redacts a session, by its text or its events. @throws NotFoundError; ConflictError (409) where it is held */
export async function redactIn(
  by: Redactor,
  place: Place,
  { text, ids, foreign }: Omit<Begun, 'ofText'> & { readonly text: string | undefined },
): Promise<{ readonly redactedEvents: number; readonly redactedTexts: number }> {
  const ofText = text === undefined ? undefined : occurrencesOf(text);
  const redaction = ofText ?? allTexts();
  await by.transact((em) => begin(by, em, place, { ids, foreign, ofText }));
  if (ofText) await redactPullRequests(by, place, ofText);
  const redacted = new Set<number>();
  await redactEvents(by, place, { redaction, ids, redacted });
  if (ofText) await redactSplit(by, place, ofText, redacted);
  await by.transact((em) => eraseLateAnswers(em, place.organizationId, [place.sessionId]));
  await by.transact((em) => finish(by, em, place, redaction, ofText));
  return { redactedEvents: redacted.size, redactedTexts: redaction.count };
}

interface Begun {
  readonly ids?: readonly number[] | undefined;
  /** The positions of ids of events of other sessions. */
  readonly foreign?: readonly number[] | undefined;
  readonly ofText: TextRedaction | undefined;
}

/** Checks the request, changes the session itself, and writes the audit log entry. */
async function begin(
  { actor, now, record }: Redactor,
  em: EntityManager,
  place: Place,
  { ids, foreign = [], ofText }: Begun,
): Promise<void> {
  const { session, stream } = await lockSessionWithStream(em, actor, place.sessionId);
  requireNotHeld(session);
  if (ids) {
    const items = await requireEvents(em, place, ids, foreign);
    for (const name of MEMORIES)
      if (stream?.[name] != null) stream[name] = FormatMemory.parse(stream[name]).withoutTexts(items);
  } else if (record && (await countEvents(em, place)) > WORK.redactedEvents)
    throw limitReached(
      WORK.redactedEvents,
      `a text can be redacted in at most ${WORK.redactedEvents} events of a session; redact the events that have it by eventIds`,
      ['text'],
    );
  if (ofText) {
    await redactSession(session, ofText);
    await indexTitle(em, place, session);
    await redactMemory(stream, ofText);
  }
  if (record) session.updatedAt = now();
  await eraseStoredAnswers(em, place.organizationId, [place.sessionId]);
  await record?.(em);
}

type Locked = Awaited<ReturnType<typeof lockSessionWithStream>>['session'];

async function redactSession(session: Locked, redaction: TextRedaction): Promise<void> {
  const slices = new WorkSlices();
  const { richContent, agentOptions, source, sourcePullRequest } = session;
  const texts: Record<string, unknown> = session;
  for (const [name, max] of FREE_TEXTS) {
    const before = texts[name];
    if (typeof before !== 'string' || (name === 'projectId' && isUuid(before))) continue;
    texts[name] = cutTo(max, redaction.replace(before));
  }
  for (const name of ['externalUrl', 'htmlUrl'] as const) {
    const address = session[name] == null ? null : redaction.replace(session[name]);
    session[name] = address !== null && URL.canParse(address) ? address : null;
  }
  const given = { richContent, agentOptions, source, sourcePullRequest };
  const before = redaction.count;
  const changed = (await redaction.redact(structuredClone(given), slices)) as typeof given;
  // Only texts differ.
  if (redaction.count > before) Object.assign(session, changed);
  if (session.richContent == null) return;
  // A text can be in several parts of the rich text: then it has no formatted form any more.
  const plain = toPlainText(session.richContent as Parameters<typeof toPlainText>[0]);
  if (redaction.replace(plain) !== plain) session.richContent = null;
}

/** What clients may send, with its bounds. */
const FREE_TEXTS = freeTexts(createSessionInput);
/** The bounds of pull requests. */
const MAX_TITLE = 1_000;
const MAX_SHORT = 500;

const MEMORIES = ['formatMemory', 'commandMemory'] as const;
type Stream = Awaited<ReturnType<typeof lockSessionWithStream>>['stream'];

/**
 * What the format of the agent remembers becomes texts of later events, so it is redacted before the events. Lines of later requests can have
 * completed the text, so it is redacted after them too. The changed texts are not counted: nobody reads them.
 */
async function redactMemory(stream: Stream, redaction: TextRedaction): Promise<void> {
  const { count } = redaction;
  for (const name of MEMORIES)
    if (stream?.[name] != null)
      stream[name] = JSON.stringify(await redaction.redact(parseExactJson(stream[name]), new WorkSlices()));
  redaction.count = count;
}

/**
 * Readers who see `redactedAt` load again what they have, so it comes last. The lock of the stream has waited for appends whose answers can
 * have texts that were not redacted yet.
 */
async function finish(
  { actor, now }: Redactor,
  em: EntityManager,
  place: Place,
  redaction: Redaction,
  ofText: TextRedaction | undefined,
): Promise<void> {
  const { session, stream } = await lockSessionWithStream(em, actor, place.sessionId);
  if (ofText) await redactMemory(stream, ofText);
  const { count } = redaction;
  const wasInLines = await forgetLineTexts(em, place, ofText?.forms);
  if (ofText) await redactNames(em, place, ofText.rename);
  if (ofText) await redactEntries(em, place, ofText.rename);
  // Nobody reads the names as texts.
  redaction.count = count;
  await eraseStoredAnswers(em, place.organizationId, [place.sessionId]);
  if (redaction.count > 0 || wasInLines) session.redactedAt = session.updatedAt = now();
}

/** @returns the items whose parts the events have. @throws NotFoundError that names the ids which are not found. */
async function requireEvents(
  em: EntityManager,
  place: Place,
  ids: readonly number[],
  foreign: readonly number[],
): Promise<ReadonlySet<string>> {
  const found = new Set<number>();
  const items = new Set<string>();
  for (let after = 0; ;) {
    const events = await findEvents(em, place, { after, clue: '', ids, batch: MAX_BATCH });
    for (const { id, eventData } of events) {
      found.add(id);
      const { itemId } = JSON.parse(eventData) as EventData;
      if (itemId != null) items.add(itemId);
    }
    const last = events.at(-1);
    if (!last) break;
    after = last.id;
  }
  const missing = ids.flatMap((id, index) => (found.has(id) && !foreign.includes(index) ? [] : [index]));
  if (missing.length > 0)
    throw new NotFoundError(
      missing.map((index) => ({
        path: ['eventIds', String(index)],
        code: 'NOT_FOUND',
        message: 'no such event in the session',
      })),
    );
  return items;
}

/** Events that one transaction changes. */
const MAX_BATCH = 500;

interface Redacting {
  readonly redaction: Redaction;
  readonly ids: readonly number[] | undefined;
  /** Gets the ids of the events that were changed. */
  readonly redacted: Set<number>;
}

/** Each batch in its own transaction. */
async function redactEvents(by: Redactor, place: Place, { redaction, ids, redacted }: Redacting): Promise<void> {
  const batch = new BatchSize(MAX_BATCH);
  for (let after: number | undefined = 0; after !== undefined;) {
    const from: number = after;
    after = await batch.measure((size) =>
      by.transact(async (em) => {
        const events = await lockEvents(em, place, { after: from, clue: redaction.clue, ids, batch: size });
        for (const { id } of await redactBatch(em, place, redaction, events)) redacted.add(id);
        return events.at(-1)?.id;
      }),
    );
  }
}

/** Redacts the text where it is in several parts of a message or of a line, and in none of them as a whole. Nothing is locked while it is searched. */
async function redactSplit(by: Redactor, place: Place, ofText: TextRedaction, redacted: Set<number>): Promise<void> {
  const split = new SplitTexts(ofText.forms);
  const slices = new WorkSlices();
  for (let after: number | undefined = 0; after !== undefined;) {
    const searched: Searched = { after, clue: '', isPart: true, batch: MAX_BATCH };
    const events = await by.transact((em) => findEvents(em, place, searched));
    for (const { id, eventData } of events) {
      split.add(id, JSON.parse(eventData) as EventData);
      if (slices.isOver()) await slices.pause();
    }
    after = events.at(-1)?.id;
  }
  const redaction = redactionOfParts(split.changed);
  const ids = [...split.changed.keys()];
  for (let start = 0; start < ids.length; start += MAX_BATCH)
    await redactEvents(by, place, { redaction, ids: ids.slice(start, start + MAX_BATCH), redacted });
  ofText.count += redaction.count;
}

function redactionOfParts(changed: ReadonlyMap<number, ChangedPart>): Redaction {
  const redaction: Redaction = {
    clue: '',
    count: 0,
    rename: sameName,
    redact: async (value, _, id = 0) => {
      const part = changed.get(id);
      if (!part) return value;
      redaction.count += 1;
      return withPart(value as EventData, part);
    },
  };
  return redaction;
}

async function lockEvents(em: EntityManager, place: Place, searched: Searched): Promise<RedactedEvent[]> {
  await lockForRedaction(em, place);
  return findEvents(em, place, searched);
}

async function redactBatch(
  em: EntityManager,
  place: Place,
  redaction: Redaction,
  events: readonly RedactedEvent[],
): Promise<ChangedEvent[]> {
  const slices = new WorkSlices();
  const changed: ChangedEvent[] = [];
  for (const event of events) {
    const { count } = redaction;
    const { eventData: before } = event;
    const value = await redaction.redact(parseExactJson(before), slices, event.id);
    const [eventType, provider] = [redaction.rename(event.eventType), redaction.rename(event.provider)];
    if (redaction.count > count)
      changed.push({ ...event, eventType, provider, before, eventData: JSON.stringify(value) });
  }
  if (changed.length > 0) {
    await writeEvents(em, place, changed);
    await indexAgain(em, place, changed);
  }
  return changed;
}

/** How far back the parts of a text are looked for, in events. */
const MAX_BACK = 20_000;

/**
 * Cuts the beginning of a credential out of the last parts of a text, when the next part has shown what it is. What was redacted or removed
 * meanwhile stays, and so does what a held session has.
 */
export async function cutStoredEnd(
  context: OperationContext,
  { sessionId, lastId }: { readonly sessionId: Place['sessionId']; readonly lastId: number },
  { itemId, text }: Beginning,
): Promise<void> {
  const place = { sessionId, organizationId: requireOrganization(context.actor).id };
  await transact(context, async ({ em, now }) => {
    await lockForRedaction(em, place);
    const events: RedactedEvent[] = [];
    const changed = new Map<number, ChangedPart>();
    for (let [left, before] = [text.length, lastId + 1]; left > 0;) {
      const some = await findLastParts(em, place, { itemId, after: lastId - MAX_BACK, before, batch: MAX_BATCH });
      const last = some.at(-1);
      if (!last) return;
      for (const event of some) {
        if (left <= 0) break;
        const { delta } = JSON.parse(event.eventData) as { readonly delta: string };
        if (delta === '') continue;
        const end = text.slice(0, left);
        const own = end.slice(-delta.length);
        if (!delta.endsWith(own)) return;
        left -= own.length;
        changed.set(event.id, { text: delta.slice(0, -own.length) + (left > 0 ? '' : REDACTED), endings: [end] });
        events.push(event);
      }
      before = last.id;
    }
    await redactBatch(em, place, redactionOfParts(changed), events);
    await noteRedaction(em, place, now());
  }).catch((error: unknown) => {
    if (!(error instanceof ConflictError)) throw error;
  });
}

async function redactPullRequests(by: Redactor, place: Place, redaction: TextRedaction): Promise<void> {
  for (let after: string | undefined = NONE; after !== undefined;) {
    const from: string = after;
    after = await by.transact(async (em) => {
      await lockForRedaction(em, place);
      const found = await findPullRequests(em, place, from, redaction.clue);
      for (const { id, title, diff, ...names } of found) {
        const { count } = redaction;
        const short = (text: string) => cutTo(MAX_SHORT, redaction.replace(text));
        const changed = {
          title: cutTo(MAX_TITLE, redaction.replace(title)),
          diff: redaction.replace(diff),
          sourceBranch: short(names.sourceBranch),
          baseBranch: short(names.baseBranch),
          agent: short(names.agent),
        };
        if (redaction.count > count) await writePullRequest(em, place, { id, ...changed });
      }
      return found.at(-1)?.id;
    });
  }
}

/** Before all ids. */
const NONE = '00000000-0000-0000-0000-000000000000';
