import { DAY_MS } from '../core/text/timestamps.ts';
import type { OperationContext } from '../core/operation.ts';
import {
  type SendEventOccurrenceInput,
  sendEventOccurrences,
  sendEventOccurrencesInput,
} from '../domains/event-occurrences/public.ts';

/** Visits on each of the last days, oldest first. */
const VISITS = [5, 7, 4, 9, 12, 8, 3, 6, 11, 14, 10, 16, 13, 9];
const PEOPLE = ['ann', 'ben', 'cleo', 'dan', 'eve'];
const PRODUCTS = [
  ['mug-blue', 12.5],
  ['tea-green', 6.9],
  ['kettle-1l', 49],
] as const;
/** Number of visits for each order. */
const VISITS_PER_ORDER = 4;

/** Time between two visits of a day. */
const STEP_MS = 25 * 60_000;

/** Sends occurrences of two weeks for plots and lists, unless they would exceed the monthly limit. */
export async function sendDemoOccurrences(context: OperationContext): Promise<void> {
  const { monthlyOccurrenceLimit: limit } = context.settings;
  const inputs = occurrencesUntil(context.now());
  if (limit > 0 && limit < inputs.length) return;
  await sendEventOccurrences(context, sendEventOccurrencesInput.parse({ inputs }));
}

function occurrencesUntil(now: Date): SendEventOccurrenceInput[] {
  const moments = VISITS.flatMap((count, index) => {
    const latest = now.getTime() - (VISITS.length - 1 - index) * DAY_MS;
    return Array.from({ length: count }, (_, visit) => new Date(latest - visit * STEP_MS).toISOString());
  });
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
        order_number: number,
        total: price * (1 + (index % 3)),
        payment_method: index % 3 === 0 ? 'invoice' : 'card',
      },
    };
    return index % VISITS_PER_ORDER === 0 ? [viewed, order] : [viewed];
  });
}
