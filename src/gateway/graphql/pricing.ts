import { DomainError } from '../../core/errors.ts';
import type { CostBudget } from '../admission/rate-limits.ts';

/** 429: an operation costs more than is left of the minute's budget. `advice` says what would make it cheaper. */
export function costExceeded(cost: number, budget: CostBudget, advice: string): DomainError {
  const { limit, remaining, resetSeconds } = budget;
  const left = `of the key's ${limit} points a minute ${remaining} are left`;
  const message = `The query costs ${cost}; ${left}. ${advice} The next minute begins in ${resetSeconds} s.`;
  return new DomainError('rateLimited', message, { headers: { 'Retry-After': String(resetSeconds) } });
}
