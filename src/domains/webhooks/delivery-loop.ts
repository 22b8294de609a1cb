import type { Logger } from 'pino';
import { isDatabaseAway } from '../../core/postgres/failures.ts';
import { settlesWithin } from '../../core/settles-within.ts';
import { type DeliveryContext, type Lease, deliverTurn, renewLeases } from './delivery.ts';
import { type WebhookReference, findDue } from './delivery-queries.ts';

/** Number of webhooks to which this process sends at once. An organization has at most 20. */
const MAX_CONCURRENT = 64;

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
  const { sql, now, timing } = context;
  const running = new Map<string, Promise<void>>();
  let renewedAt = performance.now();
  try {
    while (!signal.aborted) {
      const due = running.size < MAX_CONCURRENT ? await findDue(sql, now(), MAX_CONCURRENT) : [];
      for (const webhook of due.slice(0, MAX_CONCURRENT - running.size)) {
        if (running.has(webhook.id)) continue;
        const turn = deliver(context, webhook, signal).finally(() => running.delete(webhook.id));
        running.set(webhook.id, turn);
      }
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
