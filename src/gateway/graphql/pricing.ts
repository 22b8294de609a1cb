import type { ExecutionArgs } from 'graphql';
import { DomainError } from '../../core/errors.ts';
import type { ApiKeyId } from '../../core/ids.ts';
import type { CostBudget, RateLimits } from '../admission/rate-limits.ts';
import type { Metrics } from '../telemetry/metrics.ts';
import { type CostedRequest, adviceFor } from './cost.ts';
import { createCosts } from './known-costs.ts';
import { LIMITS } from './limits.ts';

/**
 * `extensions.cost`, in points. `limit` is the key's budget a minute, of which `remaining` is left until `resetAt`; with that turned off,
 * it is the most that one operation may cost.
 */
export interface Cost {
  readonly requested: number;
  readonly limit: number;
  readonly remaining?: number;
  readonly resetAt?: Date;
}

export interface Price {
  readonly cost: Cost;
  /** Why the operation may not run now: less is left of the minute's budget. */
  readonly refusal?: DomainError | undefined;
}

/** Finds what an operation costs and takes it from the budget of the key. @throws GraphQLError `TOO_COSTLY` */
export type PayFor = (args: ExecutionArgs, keyId: ApiKeyId) => Promise<Price>;

export function createPricing(metrics: Pick<Metrics, 'cost'>, limits: RateLimits | undefined): PayFor {
  const costOf = createCosts();
  return async ({ schema, document, operationName, variableValues: variables }, keyId) => {
    const request = { schema, document, operationName, variables };
    const requested = costOf(request);
    metrics.cost.observe(requested);
    if (!limits) return { cost: { requested, limit: LIMITS.cost } };
    const budget = await limits.payCost(keyId, requested);
    const { limit, remaining, resetAt } = budget;
    const refusal = budget.isPaid ? undefined : costExceeded(request, requested, budget);
    return { cost: { requested, limit, remaining, resetAt }, refusal };
  };
}

/** 429: an operation costs more than is left of the minute's budget. */
function costExceeded(
  request: CostedRequest,
  cost: number,
  { limit, remaining, resetSeconds }: CostBudget,
): DomainError {
  const left = `of the key's ${limit} points a minute ${remaining} are left`;
  const advice = adviceFor(request, remaining);
  const message = `The query costs ${cost}; ${left}. ${advice} The next minute begins in ${resetSeconds} s.`;
  return new DomainError('rateLimited', message, { headers: { 'Retry-After': String(resetSeconds) } });
}
