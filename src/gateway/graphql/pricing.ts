import type { ExecutionArgs } from 'graphql';
import { DomainError } from '../../core/errors.ts';
import type { ApiKeyId } from '../../core/ids.ts';
import type { CostBudget, RateLimits } from '../admission/rate-limits.ts';
import type { Metrics } from '../telemetry/metrics.ts';
import { type CostedRequest, adviceFor } from './cost.ts';
import { createCosts } from './known-costs.ts';
import { LIMITS } from '../../core/graphql/document-limits.ts';

/**
 * `extensions.cost` in points. `limit` is the budget of the key per minute, of which `remaining` is left until
 * `resetAt`. When rate limits are off, `limit` is the maximum cost of one operation.
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

/** Calculates the cost of an operation and subtracts it from the budget of the key. @throws GraphQLError `TOO_COSTLY` */
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

/** 429: the operation costs more than the rest of the budget of the minute. */
function costExceeded(
  request: CostedRequest,
  cost: number,
  { limit, remaining, resetSeconds }: CostBudget,
): DomainError {
  const left = `${remaining} of the key's ${limit} points per minute are left`;
  const message = `The query costs ${cost}; ${left}. ${adviceFor(request)} The next minute begins in ${resetSeconds} s.`;
  return new DomainError('rateLimited', message, { headers: { 'Retry-After': String(resetSeconds) } });
}
