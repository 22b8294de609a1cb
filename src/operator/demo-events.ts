import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { DomainError } from '../core/errors.ts';
import { parseInput } from '../core/input/validation.ts';
import { DAY_MS } from '../core/text/timestamps.ts';
import { applyTrackingPlan, applyTrackingPlanInput } from '../domains/event-definitions/public.ts';
import { sendEventOccurrences, sendEventOccurrencesInput } from '../domains/event-occurrences/public.ts';
import type { ContextAt } from './demo-sessions.ts';
import { inputOf } from './tracking-plan/plan-commands.ts';
import { decodePlan, parsePlan } from './tracking-plan/plan-file.ts';

const DAYS = 30;
/** Visits on each day of a week, which grow by a tenth from week to week. */
const VISITS = [4, 9, 7, 8, 12, 14, 6];
const STEP_MS = 25 * 60_000;
const PEOPLE = ['ann', 'ben', 'cleo', 'dan', 'eve'];
const PRICES = { 'mug-blue': 12.5, 'tea-green': 6.9, 'kettle-1l': 49 };
const PAYMENTS = ['card', 'card', 'invoice', 'card', 'voucher'];
const VISITS_PER_ORDER = 4;
/** An older shop sends the total as a text, and a payment method that the definition does not have. */
const REFUSED = { order_id: '1', total: 'about 20', payment_method: 'cash' };
const REFUSED_HOURS_AGO = [2, 26, 27, 50, 98];

/** Applies the plan of a shop, and sends occurrences of a month, some of which are refused, unless they would exceed the monthly limit. */
export async function createDemoEvents(contextAt: ContextAt, now: Date): Promise<void> {
  const context = contextAt(0, now);
  const path = join(import.meta.dirname, 'demo-plan.yaml');
  const plan = parsePlan(decodePlan(await readFile(path), path), path);
  const definitions = [...plan.values()].map((event) => inputOf(event, undefined));
  await applyTrackingPlan(context, parseInput(applyTrackingPlanInput, { definitions }));
  const { monthlyOccurrenceLimit: limit } = context.settings;
  const inputs = occurrencesUntil(now);
  if (limit > 0 && limit < inputs.length) return;
  await sendEventOccurrences(context, sendEventOccurrencesInput.parse({ inputs }));
  const refused = [{ eventName: 'order_completed', objectId: '1', properties: REFUSED }];
  for (const hours of REFUSED_HOURS_AGO) {
    const then = contextAt(0, new Date(now.getTime() - hours * 3_600_000));
    await sendEventOccurrences(then, sendEventOccurrencesInput.parse({ inputs: refused })).catch((error: unknown) => {
      if (!(error instanceof DomainError)) throw error;
    });
  }
}

function occurrencesUntil(now: Date): object[] {
  const moments = Array.from({ length: DAYS }, (_, index) => {
    const latest = now.getTime() - (DAYS - 1 - index) * DAY_MS;
    const count = Math.round((VISITS[new Date(latest).getUTCDay()] ?? 0) * (1 + Math.floor(index / 7) / 10));
    return Array.from({ length: count }, (_each, visit) => new Date(latest - visit * STEP_MS).toISOString());
  }).flat();
  const products = Object.entries(PRICES);
  return moments.flatMap((occurredAt, index) => {
    const [product, price = 0] = products[index % products.length] ?? [];
    const email = `${PEOPLE[index % PEOPLE.length]}@example.com`;
    const viewed = { eventName: 'product_viewed', email, occurredAt, properties: { product_id: product, price } };
    const order = Math.floor(index / VISITS_PER_ORDER);
    const number = String(1001 + order);
    const paid = { total: price * (1 + (index % 3)), payment_method: PAYMENTS[order % PAYMENTS.length] };
    const completed = { eventName: 'order_completed', objectId: number, occurredAt };
    return index % VISITS_PER_ORDER === 0
      ? [viewed, { ...completed, properties: { order_id: number, ...paid } }]
      : [viewed];
  });
}
