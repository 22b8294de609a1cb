import type { Logger } from 'pino';
import { type Owner, inSlot } from '../../core/fair-shares.ts';
import { DELIVERIES } from '../../core/pools.ts';
import { isDatabaseAway } from '../../core/postgres/failures.ts';
import { settlesWithin } from '../../core/concurrency.ts';
import { type DeliveryContext, type Lease, deliverTurn, renewLeases } from './delivery.ts';
import { type DueWebhook, type WebhookReference, findDue } from './delivery-queries.ts';

/** Maximum number of webhooks to which this process sends at once, of an organization and of all organizations of a person. */
const MAX_AT_ONCE = 8;
/** Slots that only webhooks can have whose last delivery has not failed: of an organization, and half of all. */
const KEPT = 2;
/** Those that are looked at: more than can begin, because some are of persons who have as many as they can. */
const LOOKED_AT = { all: 4 * DELIVERIES, ofOrganization: MAX_AT_ONCE };

export interface LoopContext extends Omit<DeliveryContext, 'leases'> {
  readonly log: Logger;
}

/**
 * Sends messages until none is due. Webhooks do not wait for each other: while one does not answer, the others are looked for again in the
 * usual interval.
 * @returns 0, so that the loop pauses
 */
export async function deliverDue(given: LoopContext, signal: AbortSignal): Promise<number> {
  const context = { ...given, leases: new Set<Lease>() };
  const { sql, now, timing, pools } = context;
  const running = new Map<string, Promise<void>>();
  let renewedAt = performance.now();
  try {
    while (!signal.aborted) {
      // The end of a delivery during the search can make another one due.
      const wereRunning = running.size > 0;
      const due = pools.deliveries.isFull ? [] : await findDue(sql, now(), LOOKED_AT);
      for (const webhook of due) {
        const slot = running.has(webhook.id) ? undefined : pools.deliveries.tryTake(ownerOf(webhook));
        if (!slot) continue;
        const turn = inSlot(slot, () => deliver(context, webhook, signal)).finally(() => running.delete(webhook.id));
        running.set(webhook.id, turn);
      }
      if (running.size === 0 && wereRunning) continue;
      if (running.size === 0) break;
      await settlesWithin(Promise.race(running.values()), timing.webhookPollMs);
      if (performance.now() - renewedAt < timing.webhookPollMs) continue;
      await renewLeases(context);
      renewedAt = performance.now();
    }
  } finally {
    await Promise.all(running.values());
  }
  return 0;
}

function ownerOf({ organizationId: organization, creatorId, hasFailed }: DueWebhook): Owner {
  const bounds = [{ name: organization, max: MAX_AT_ONCE }];
  if (hasFailed)
    bounds.push({ name: 'failed', max: DELIVERIES / 2 }, { name: `failed ${organization}`, max: MAX_AT_ONCE - KEPT });
  return { kind: 'person', person: creatorId ?? organization, max: MAX_AT_ONCE, organization, bounds };
}

async function deliver(
  context: LoopContext & DeliveryContext,
  webhook: WebhookReference,
  signal: AbortSignal,
): Promise<void> {
  try {
    await deliverTurn(context, webhook, signal);
  } catch (error) {
    if (!signal.aborted && !isDatabaseAway(error))
      context.log.error(
        { err: error, webhookId: webhook.id },
        'a delivery to a webhook was not completed; it is sent again',
      );
  }
}
