import { jobEntry, recordAudit } from '../../core/audit.ts';
import { FEED_TYPES, type FeedType, publishToFeed } from '../../core/feed.ts';
import type { WorkContext } from '../../core/operation.ts';
import { sqlWithin } from '../../core/postgres/reading/sql.ts';
import type { Timing } from '../../core/timeouts.ts';
import { WORK } from '../../core/work-budget.ts';
import { type FeedEntryRow, type FeedReader, findFeedEntriesById, readFeedPage, visibleTypes } from '../feed/public.ts';
import {
  type LeasedWebhook,
  type WebhookReference,
  endNumberedIds,
  extendLeases,
  findFailedEntries,
  findQueued,
  findSubscriptions,
  takeLease,
} from './delivery-queries.ts';
import { releaseLease, returnLease, saveEntryResult, saveQueuedResult } from './result-queries.ts';
import { type DeliveryKind, KNOWS_SECRET_ADDRESSES } from './entity.ts';
import { type WebhookMessage, headersOf, messageOf, pingOf, randomIdOf } from './message.ts';
import type { DeliveryRow } from './queries.ts';
import { type Result, type SentResult, send } from './request.ts';
import { webhookActor } from './policy.ts';
import { afterEntry, afterReplay, afterTry, timeLimit } from './retry-and-disable.ts';
import { type SendingSecrets, sendingSecrets } from './secrets.ts';

/** How long a lease lasts. It is renewed while the process lives, in the interval in which it looks for due webhooks. */
const LEASE_MS = 5_000;

export interface DeliveryContext extends WorkContext {
  readonly timing: Pick<Timing, 'webhookPollMs' | 'webhookTimeoutMs'>;
  /** The leases of this process, which must be renewed. */
  readonly leases: Set<Lease>;
  readonly observeDelivery: (delivery: { readonly kind: DeliveryKind; readonly result: Result }) => void;
}

export interface Lease {
  readonly webhook: LeasedWebhook;
  /** Aborts when the webhook was changed or deleted, or another process has taken the lease: the answer would not count. */
  readonly lost: AbortController;
}

/** Messages that are sent under one lease, with what was read once for all of them. */
interface Turn {
  readonly context: DeliveryContext;
  readonly lease: Lease;
  readonly reader: FeedReader;
  /** Read with the first message. */
  readonly secretsOf: () => Promise<SendingSecrets>;
  /** Aborts when the process stops, or the lease is lost. */
  readonly signal: AbortSignal;
  /** After that, what was read is read again, so that messages follow what administrators can see now. */
  readonly endsAt: number;
}

/**
 * Sends the next messages of a webhook, if there are some and no other process sends to it. Nothing is locked while it waits for answers: the
 * lease keeps other processes away, and ends by itself if this one dies. Then the last message is sent again.
 */
export async function deliverTurn(
  context: DeliveryContext,
  reference: WebhookReference,
  signal: AbortSignal,
): Promise<void> {
  const taken = await takeLease(context.sql, reference, context.newId(), LEASE_MS);
  if (!taken) return;
  const webhook = await withRandomIds(context, taken);
  const lease = { webhook, lost: new AbortController() };
  context.leases.add(lease);
  try {
    const cursor = await sendMessages(await beginTurn(context, lease, signal));
    await returnLease(context.sql, webhook, cursor);
  } catch (error) {
    // The next process need not wait for the end of the lease.
    if (signal.aborted || lease.lost.signal.aborted) await releaseLease(context.sql, webhook);
    if (error !== lease.lost.signal.reason) throw error;
  } finally {
    context.leases.delete(lease);
  }
}

/** Renews the leases of this process, and ends the requests of those that are lost. */
export async function renewLeases({ sql, leases }: Pick<DeliveryContext, 'sql' | 'leases'>): Promise<void> {
  const held = [...leases];
  if (held.length === 0) return;
  const generations = await extendLeases(
    sql,
    held.map(({ webhook }) => webhook),
    LEASE_MS,
  );
  for (const { webhook, lost } of held)
    if (generations.get(webhook.leaseId) !== webhook.generation) lost.abort(new Error('the webhook was changed'));
}

/** Ids of 1.0 end when no process is left that makes them, because all tries of an entry have the same id. */
async function withRandomIds(context: DeliveryContext, webhook: LeasedWebhook): Promise<LeasedWebhook> {
  if (webhook.numberedUntil !== null || (await context.hasOlderProcess(KNOWS_SECRET_ADDRESSES))) return webhook;
  return { ...webhook, numberedUntil: await endNumberedIds(context.sql, webhook) };
}

async function beginTurn(context: DeliveryContext, lease: Lease, signal: AbortSignal): Promise<Turn> {
  const { em, sql, secrets, now, timing } = context;
  const { webhook, lost } = lease;
  const endsAt = performance.now() + timing.webhookPollMs;
  const subscriptions = (await findSubscriptions(sql, webhook.organizationId)) ?? {};
  const reader = { em, sql, actor: webhookActor(webhook.organizationId, subscriptions) };
  let read: Promise<SendingSecrets> | undefined;
  const secretsOf = () => (read ??= sendingSecrets(em.fork(), secrets, webhook, now()));
  return { context, lease, reader, secretsOf, signal: AbortSignal.any([signal, lost.signal]), endsAt };
}

/** @returns the new cursor if nothing more waits. */
async function sendMessages(turn: Turn): Promise<number | undefined> {
  let webhook = await sendQueued(turn);
  const at = turn.context.now().getTime();
  const isDue = !webhook?.nextAttemptAt || webhook.isTryAsked || Date.parse(webhook.nextAttemptAt) <= at;
  if (!webhook || webhook.disabledAt !== null || !isDue) return undefined;
  const types = FEED_TYPES.filter((type) => webhook?.types?.includes(type) ?? true);
  if (webhook.replaysOnlyFailed) webhook = await replayFailed(turn, webhook, types);
  const limit = WORK.webhookEntries;
  while (webhook) {
    const { cursor: after, sessionStates } = webhook;
    const { entries, nextCursor, hasMore } = await readFeedPage(turn.reader, { after, limit, types, sessionStates });
    for (const entry of entries) {
      webhook = await sendEntry(turn, webhook, entry);
      if (!webhook) return undefined;
    }
    if (!hasMore) return Number(nextCursor);
    if (entries.length === limit || turn.signal.aborted) return undefined;
    // As many entries were looked at as for one page. The next ones for this webhook are beyond them.
    webhook = movedTo(webhook, Number(nextCursor));
  }
  return undefined;
}

/** Sends the entries of a replay that were never delivered. @returns the state after the replay; undefined at the end of the turn. */
async function replayFailed(
  turn: Turn,
  webhook: LeasedWebhook,
  types: readonly FeedType[],
): Promise<LeasedWebhook | undefined> {
  const { reader, context } = turn;
  let current = webhook;
  while (current.replayUntil !== null) {
    const ids = await findFailedEntries(context.sql, current, WORK.webhookEntries);
    const last = ids.at(-1);
    if (last === undefined) return { ...current, cursor: current.replayUntil, replayUntil: null };
    const entries = await findFeedEntriesById(reader, visibleTypes(reader.actor, types), ids);
    for (const entry of entries.toSorted((one, other) => one.id - other.id)) {
      const next = await sendEntry(turn, current, entry);
      if (!next) return undefined;
      current = next;
    }
    // Entries that nobody can see any more are passed.
    current = movedTo(current, last);
  }
  return current;
}

const movedTo = (webhook: LeasedWebhook, cursor: number): LeasedWebhook => ({ ...webhook, cursor });

const askedToTry = (webhook: LeasedWebhook): LeasedWebhook => ({ ...webhook, isTryAsked: true });
const withTry = (webhook: LeasedWebhook, ...given: Tried): LeasedWebhook => ({
  ...webhook,
  ...afterTry(webhook, ...given),
});
type Tried = Parameters<typeof afterTry> extends [unknown, ...infer Rest] ? Rest : never;

/** Sends the messages that somebody asked for, each once. They do not count as health, but a success makes the next try due. */
async function sendQueued(turn: Turn): Promise<LeasedWebhook | undefined> {
  const { context, reader } = turn;
  let { webhook } = turn.lease;
  for (const queued of await findQueued(context.sql, webhook)) {
    const message = await queuedMessage(reader, queued);
    const result = message ? await request(turn, message, webhook, true) : NOT_IN_FEED;
    if (message) webhook = withTry(webhook, result, context.now());
    if (result.state === 'succeeded') webhook = askedToTry(webhook);
    const goesOn = await saveQueuedResult(context.sql, webhook, { ...queued, ...result }, LEASE_MS);
    context.observeDelivery({ kind: queued.kind, result });
    if (!goesOn) return undefined;
  }
  return webhook;
}

/** @returns the state for the next entry; undefined at the end of the turn. */
async function sendEntry(turn: Turn, webhook: LeasedWebhook, entry: FeedEntryRow): Promise<LeasedWebhook | undefined> {
  const { context, signal, endsAt, lease } = turn;
  const isReplay = entry.id <= (webhook.replayUntil ?? 0);
  const kind = isReplay ? 'replay' : 'entry';
  // Another entry than the one that failed begins anew, such as after the deletion of a session.
  const isOther = isReplay || (webhook.failedEntryId ?? entry.id) !== entry.id;
  const attempts = isOther ? 0 : webhook.attempts;
  const isAsked = isReplay || webhook.isTryAsked;
  const messageId = randomIdOf(webhook, entry);
  const result = await request(turn, messageOf(entry, messageId), webhook, isAsked).catch((error: unknown) => {
    if (error === lease.lost.signal.reason) return CHANGED;
    throw error;
  });
  const at = context.now();
  const tried = { entryId: entry.id, result, at };
  const after = {
    ...webhook,
    isTryAsked: false,
    ...afterTry(webhook, result, at),
    ...(isReplay
      ? afterReplay(webhook, tried)
      : afterEntry({ ...webhook, attempts, ...(isOther && { nextAttemptAt: null }) }, tried)),
  };
  const goesOn = await saveResult(context, webhook, after, {
    id: context.newId(),
    webhookId: webhook.id,
    organizationId: webhook.organizationId,
    kind,
    type: entry.type,
    messageId,
    feedEntryId: entry.id,
    attempt: attempts + 1,
    createdAt: at.toISOString(),
    ...result,
  });
  context.observeDelivery({ kind, result });
  return goesOn && result.state === 'succeeded' && !signal.aborted && performance.now() < endsAt ? after : undefined;
}

/** What the feed says of a webhook is written in the same transaction as its state. */
async function saveResult(
  context: DeliveryContext,
  { disableAfter }: LeasedWebhook,
  after: LeasedWebhook,
  row: DeliveryRow,
): Promise<boolean | undefined> {
  const { id, organizationId, leaseId, disabledReason } = after;
  const isAnnounced = after.disableAfter !== null && disableAfter === null && disabledReason === null;
  if (disabledReason === null && !isAnnounced) return saveEntryResult(context.sql, after, row, LEASE_MS);
  return context.em.fork().transactional(async (em) => {
    const goesOn = await saveEntryResult(sqlWithin(em), after, row, LEASE_MS);
    if (goesOn === undefined) return goesOn;
    const subject = { organizationId, subjectType: 'Webhook', subjectId: id } as const;
    if (disabledReason === null) {
      publishToFeed(em, { ...subject, type: 'webhook.failing', data: { disableAfter: after.disableAfter } });
    } else {
      const target = { type: 'Webhook', id, organizationId, detail: disabledReason } as const;
      await recordAudit(em, jobEntry(context, leaseId, 'disableWebhook', target));
      publishToFeed(em, { ...subject, type: 'webhook.disabled', data: { reason: disabledReason } });
    }
    return goesOn;
  });
}

async function request(
  { context, secretsOf, signal }: Turn,
  message: WebhookMessage,
  webhook: LeasedWebhook,
  isAsked: boolean,
): Promise<SentResult> {
  const at = context.now();
  const { url, signing } = await secretsOf();
  const headers = headersOf(message, signing, at);
  const timeoutMs = timeLimit(webhook, { isAsked, at, usualMs: context.timing.webhookTimeoutMs });
  return send(context, { url, headers, body: message.body, timeoutMs, signal });
}

const UNANSWERED = { state: 'failed', status: null, answer: null, durationMs: 0 } as const;
const CHANGED: Result = { ...UNANSWERED, error: 'the webhook was changed before the answer' };
const NOT_IN_FEED: Result = {
  ...UNANSWERED,
  error: 'the entry is no longer in the feed, or administrators can no longer see it',
};

async function queuedMessage(reader: FeedReader, queued: DeliveryRow): Promise<WebhookMessage | undefined> {
  if (queued.feedEntryId === null) return pingOf(queued);
  const [entry] = await findFeedEntriesById(reader, visibleTypes(reader.actor, undefined), [queued.feedEntryId]);
  return entry && messageOf(entry, queued.messageId);
}
