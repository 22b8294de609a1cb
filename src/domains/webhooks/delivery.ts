import type { EntityManager } from '@mikro-orm/postgresql';
import { jobEntry, recordAudit } from '../../core/audit.ts';
import { FEED_TYPES, publishToFeed } from '../../core/feed.ts';
import type { WorkContext } from '../../core/operation.ts';
import type { Timing } from '../../core/timing.ts';
import { DAY_MS } from '../../core/text/timestamps.ts';
import { type FeedReader, findFeedEntriesById, readFeedPage, visibleTypes } from '../feed/public.ts';
import {
  type StateAfterDelivery,
  type LeasedWebhook,
  type WebhookReference,
  extendLeases,
  findQueued,
  findSubscriptions,
  returnLease,
  settleQueued,
  takeLease,
} from './delivery-queries.ts';
import type { DeliveryKind } from './entity.ts';
import { type WebhookMessage, headersOf, messageOf, pingOf } from './message.ts';
import { type DeliveryRow, insertDelivery } from './queries.ts';
import { type Result, send } from './request.ts';
import { webhookActor } from './policy.ts';
import { signingSecrets } from './secrets.ts';

/** The pauses before the retries of an entry. After the last one the entry is given up. */
const RETRY_MS = [5_000, 300_000, 1_800_000, 7_200_000, 18_000_000, 36_000_000, 36_000_000];
/** A webhook whose deliveries all fail for this time is disabled. */
const FAILING_MS = 5 * DAY_MS;
/** How long a lease lasts. It is renewed while the process lives, in the interval in which it looks for due webhooks. */
const LEASE_MS = 5_000;

/** What deliveries need. */
export interface DeliveryContext extends WorkContext {
  readonly timing: Pick<Timing, 'webhookPollMs' | 'webhookTimeoutMs'>;
  /** The leases of this process, which must be renewed. */
  readonly leases: Map<string, WebhookReference>;
  readonly observeDelivery: (delivery: { readonly kind: DeliveryKind; readonly result: Result }) => void;
}

/**
 * Sends the next message of a webhook, if there is one and no other process sends to it. Nothing is locked while it waits for the answer: the
 * lease keeps other processes away, and ends by itself if this one dies. Then the message is sent again.
 * @returns whether there may be another message.
 */
export async function deliverNext(
  context: DeliveryContext,
  reference: WebhookReference,
  signal: AbortSignal,
): Promise<boolean> {
  const webhook = await takeLease(context.sql, reference, context.newId(), LEASE_MS);
  if (!webhook) return false;
  context.leases.set(webhook.leaseId, reference);
  try {
    return await deliverTo(context, webhook, signal);
  } catch (error) {
    // The next process need not wait for the end of the lease.
    if (signal.aborted) await returnLease(context.em.fork(), webhook);
    throw error;
  } finally {
    context.leases.delete(webhook.leaseId);
  }
}

/** Renews the leases of this process. Those that another one has taken meanwhile stay lost. */
export async function renewLeases({ sql, leases }: Pick<DeliveryContext, 'sql' | 'leases'>): Promise<void> {
  if (leases.size > 0) await extendLeases(sql, leases, LEASE_MS);
}

async function deliverTo(context: DeliveryContext, webhook: LeasedWebhook, signal: AbortSignal): Promise<boolean> {
  const reader = await readerOf(context, webhook);
  const queued = await findQueued(context.sql, webhook);
  if (queued) return deliverQueued(context, webhook, { queued, reader, signal });
  const isDue = webhook.nextAttemptAt === null || Date.parse(webhook.nextAttemptAt) <= context.now().getTime();
  if (webhook.disabledAt !== null || !isDue) return release(context, webhook, {});
  const types = FEED_TYPES.filter((type) => webhook.types?.includes(type) ?? true);
  const { entries, nextCursor } = await readFeedPage(reader, { after: webhook.cursor, limit: 1, types });
  const [entry] = entries;
  if (!entry) return release(context, webhook, { cursor: Number(nextCursor), attempts: 0, nextAttemptAt: null });
  const message = messageOf(entry);
  const result = await request(context, webhook, message, signal);
  const isReplay = entry.id <= (webhook.replayUntil ?? 0);
  const kind = isReplay ? 'replay' : 'entry';
  const state = isReplay
    ? afterReplay(webhook, entry.id, result)
    : afterEntry(webhook, entry.id, result, context.now());
  await settle(context, webhook, state, async (em) => {
    const { id: webhookId, organizationId } = webhook;
    const attempt = isReplay ? 1 : webhook.attempts + 1;
    const row = {
      webhookId,
      organizationId,
      kind,
      type: entry.type,
      feedEntryId: entry.id,
      attempt,
      ...result,
    } as const;
    await insertDelivery(em, { ...row, id: context.newId(), createdAt: context.now().toISOString() });
  });
  context.observeDelivery({ kind, result });
  return true;
}

async function readerOf({ em, sql }: WorkContext, { organizationId }: WebhookReference): Promise<FeedReader> {
  return { em, sql, actor: webhookActor(organizationId, (await findSubscriptions(sql, organizationId)) ?? {}) };
}

async function release({ em }: WorkContext, webhook: LeasedWebhook, state: StateAfterDelivery): Promise<false> {
  await returnLease(em.fork(), webhook, state);
  return false;
}

async function request(
  context: DeliveryContext,
  webhook: LeasedWebhook,
  message: WebhookMessage,
  signal: AbortSignal,
): Promise<Result> {
  const { em, secrets, now, timing } = context;
  const signing = await signingSecrets(em.fork(), secrets, webhook, now());
  const headers = headersOf(message, signing, now());
  return send(context, { url: webhook.url, headers, body: message.body, timeoutMs: timing.webhookTimeoutMs, signal });
}

/** A replay ends with its last entry, or with one that fails: then the webhook goes on where it was. */
function afterReplay({ replayUntil }: LeasedWebhook, entryId: number, { state }: Result): StateAfterDelivery {
  if (state === 'failed' && replayUntil !== null) return { cursor: replayUntil, replayUntil: null };
  return { cursor: entryId, ...(entryId === replayUntil && { replayUntil: null }) };
}

function afterEntry(webhook: LeasedWebhook, entryId: number, { state, status }: Result, at: Date): StateAfterDelivery {
  const begun = { attempts: 0, nextAttemptAt: null };
  if (state === 'succeeded') return { ...begun, cursor: entryId, failingSince: null, lastDeliveredAt: at };
  const failingSince = webhook.failingSince === null ? at : new Date(webhook.failingSince);
  const isGone = status === 410;
  if (isGone || at.getTime() - failingSince.getTime() >= FAILING_MS)
    return { ...begun, failingSince, disabledAt: at, disabledReason: isGone ? 'gone' : 'failing' };
  const pause = RETRY_MS[webhook.attempts];
  if (pause === undefined) return { ...begun, failingSince, cursor: entryId };
  return { attempts: webhook.attempts + 1, nextAttemptAt: new Date(at.getTime() + pause), failingSince };
}

/** Saves the state, the log, and if the webhook is disabled, the audit log entry and the entry of the feed, in one transaction. */
async function settle(
  context: DeliveryContext,
  webhook: LeasedWebhook,
  state: StateAfterDelivery,
  log: (em: EntityManager) => Promise<void>,
): Promise<void> {
  const { id, organizationId, leaseId } = webhook;
  await context.em.fork().transactional(async (em) => {
    if (!(await returnLease(em, webhook, state))) return;
    await log(em);
    const { disabledReason: reason } = state;
    if (reason === undefined) return;
    const target = { type: 'Webhook' as const, id, organizationId, detail: reason };
    await recordAudit(em, jobEntry(context, leaseId, 'disableWebhook', target));
    const subject = { organizationId, subjectType: 'Webhook', subjectId: id } as const;
    publishToFeed(em, { ...subject, type: 'webhook.disabled', data: { reason } });
  });
}

interface QueuedDelivery {
  readonly queued: DeliveryRow;
  readonly reader: FeedReader;
  readonly signal: AbortSignal;
}

/** Sends a message that somebody asked for, once. It does not count as health. */
async function deliverQueued(
  context: DeliveryContext,
  webhook: LeasedWebhook,
  { queued, reader, signal }: QueuedDelivery,
): Promise<true> {
  const message = await queuedMessage(reader, queued);
  const result = message ? await request(context, webhook, message, signal) : NOT_IN_FEED;
  await settle(context, webhook, {}, (em) => settleQueued(em, queued, result));
  context.observeDelivery({ kind: queued.kind, result });
  return true;
}

const NOT_IN_FEED: Result = {
  state: 'failed',
  status: null,
  error: 'the entry is no longer in the feed, or administrators can no longer see it',
  answer: null,
  durationMs: 0,
};

async function queuedMessage(reader: FeedReader, queued: DeliveryRow): Promise<WebhookMessage | undefined> {
  if (queued.feedEntryId === null) return pingOf(queued);
  const [entry] = await findFeedEntriesById(reader, visibleTypes(reader.actor, undefined), [queued.feedEntryId]);
  return entry && messageOf(entry);
}
