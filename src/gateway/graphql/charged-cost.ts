import { setTimeout as delay } from 'node:timers/promises';
import type { ExecutionArgs } from 'graphql';
import { DomainError } from '../../core/errors.ts';
import type { CostBudget, RateLimits, Sender } from '../admission/rate-limits.ts';
import type { Metrics } from '../telemetry/metrics.ts';
import { type CostedRequest, adviceFor, createCosts } from './document-cost.ts';
import { LIMITS } from '../../core/graphql/document-limits.ts';

/**
 * `extensions.cost` in points. `limit` is the budget of the key or browser per minute, of which `remaining` is left until
 * `resetAt`, or less if all keys or browsers of the user have less left together. When rate limits are off, `limit` is the maximum cost of one operation.
 */
export interface Cost {
  readonly requested: number;
  readonly limit: number;
  readonly remaining?: number;
  readonly resetAt?: Date;
}

export interface Price {
  readonly cost: Cost;
  /** Set when the budget of the minute is too small for the operation. */
  readonly refusal?: DomainError | undefined;
}

export interface Pricing {
  /** Calculates the cost of an operation and subtracts it from the budgets of the sender. @throws GraphQLError `TOO_COSTLY` */
  payFor(args: ExecutionArgs, sender: Sender): Price | Promise<Price>;
  /**
   * Yields the results of a subscription, each of which costs as much as the operation. When the budget of the minute is
   * used up, it waits for the next minute before the next event is executed.
   */
  metered<Result>(results: AsyncIterable<Result>, meter: Meter): AsyncGenerator<Result, void, undefined>;
}

export interface Meter {
  readonly sender: Sender;
  /** Points for each result. */
  readonly cost: number;
  /** Ends a wait. */
  readonly signal: AbortSignal;
}

/** Small costs are paid together, because each payment is a statement. */
const PAID_AT_ONCE = 200;

export function createPricing(metrics: Pick<Metrics, 'cost'>, limits: RateLimits | undefined): Pricing {
  const costOf = createCosts();

  const payFor: Pricing['payFor'] = (args, sender) => {
    const { schema, document, operationName, variableValues: variables } = args;
    const request = { schema, document, operationName, variables };
    const requested = costOf(request);
    metrics.cost.observe(requested);
    if (!limits) return { cost: { requested, limit: LIMITS.cost } };
    return limits.payCost(sender, requested).then((budget) => {
      const { limit, remaining, resetAt } = budget;
      const refusal = budget.isPaid ? undefined : costExceeded(request, requested, budget);
      return { cost: { requested, limit, remaining, resetAt }, refusal };
    });
  };

  async function* metered<Result>(results: AsyncIterable<Result>, { sender, cost, signal }: Meter) {
    // The first event was paid for with the operation.
    let owed = -cost;
    for await (const result of results) {
      yield result;
      owed += cost;
      if (!limits || owed < PAID_AT_ONCE) continue;
      for (;;) {
        const { isPaid, resetSeconds } = await limits.payCost(sender, owed);
        if (isPaid) break;
        await delay(resetSeconds * 1000, undefined, { signal }).catch(() => undefined);
        if (signal.aborted) return;
      }
      owed = 0;
    }
  }

  return { payFor, metered };
}

/** 429: the operation costs more than the rest of the budget of the minute. */
function costExceeded(
  request: CostedRequest,
  cost: number,
  { remaining, budget, resetSeconds }: CostBudget,
): DomainError {
  const left = `${remaining} of ${budget} per minute are left`;
  const message = `The query costs ${cost}; ${left}. ${adviceFor(request)} The next minute begins in ${resetSeconds} s.`;
  return new DomainError('rateLimited', message, { headers: { 'Retry-After': String(resetSeconds) } });
}
