import { DAY_MS } from '../core/text/timestamps.ts';
import { DomainError } from '../core/errors.ts';
import type { OperationContext } from '../core/operation.ts';
import {
  type SendEventOccurrenceInput,
  sendEventOccurrences,
  sendEventOccurrencesInput,
} from '../domains/event-occurrences/public.ts';
import type { ContextAt } from './demo-sessions.ts';
import DEMO from './demo.json' with { type: 'json' };

const DAYS = 30;
/** Visits on each day of a week, which grow by a tenth from week to week. */
const VISITS = [4, 9, 7, 8, 12, 14, 6];
const PEOPLE = ['ann', 'ben', 'cleo', 'dan', 'eve'];
const PRODUCTS = [
  ['mug-blue', 12.5],
  ['tea-green', 6.9],
  ['kettle-1l', 49],
] as const;
const PAYMENTS = ['card', 'card', 'invoice', 'card', 'voucher'] as const;
/** Number of visits for each order. */
const VISITS_PER_ORDER = 4;

/** Time between two visits of a day. */
const STEP_MS = 25 * 60_000;

/** Sends occurrences of a month for plots and lists, and some that are refused, unless they would exceed the monthly limit. */
export async function sendDemoOccurrences(contextAt: ContextAt, now: Date): Promise<void> {
  const context = contextAt(0, now);
  const { monthlyOccurrenceLimit: limit } = context.settings;
  const inputs = occurrencesUntil(now);
  if (limit > 0 && limit < inputs.length) return;
  await sendEventOccurrences(context, sendEventOccurrencesInput.parse({ inputs }));
  for (const hours of [2, 26, 27, 50, 98]) await sendRefused(contextAt(0, new Date(now.getTime() - hours * 3_600_000)));
}

/** An older shop sends the total as a text, and a payment method that the definition does not have. */
async function sendRefused(context: OperationContext): Promise<void> {
  const sent = sendEventOccurrences(context, sendEventOccurrencesInput.parse({ inputs: [DEMO.refusedOrder] }));
  await sent.catch((error: unknown) => {
    if (!(error instanceof DomainError)) throw error;
  });
}

function occurrencesUntil(now: Date): SendEventOccurrenceInput[] {
  const moments = Array.from({ length: DAYS }, (_, index) => {
    const latest = now.getTime() - (DAYS - 1 - index) * DAY_MS;
    const count = Math.round((VISITS[new Date(latest).getUTCDay()] ?? 0) * (1 + Math.floor(index / 7) / 10));
    return Array.from({ length: count }, (_each, visit) => new Date(latest - visit * STEP_MS).toISOString());
  }).flat();
  return moments.flatMap((occurredAt, index) => {
    const [product, price] = PRODUCTS[index % PRODUCTS.length] ?? PRODUCTS[0];
    const viewed = {
      eventName: 'product_viewed',
      email: `${PEOPLE[index % PEOPLE.length]}@example.com`,
      occurredAt,
      properties: { product_id: product, price },
    };
    const number = String(1001 + Math.floor(index / VISITS_PER_ORDER));
    const order = {
      eventName: 'order_completed',
      objectId: number,
      occurredAt,
      properties: {
        order_id: number,
        total: price * (1 + (index % 3)),
        payment_method: PAYMENTS[Math.floor(index / VISITS_PER_ORDER) % PAYMENTS.length],
      },
    };
    return index % VISITS_PER_ORDER === 0 ? [viewed, order] : [viewed];
  });
}
