import { DomainError } from '../../core/errors.ts';
import type { ApiKeyId } from '../../core/ids.ts';
import { databaseTrouble } from '../../core/postgres/failures.ts';
import { prepared, queriesOn } from '../../core/postgres/reading/queries.ts';
import { LIMITS } from '../../core/graphql/document-limits.ts';
import type { Dependencies } from '../dependencies.ts';
import type { RateLimitTables } from './entity.ts';

export interface RateLimits {
  /**
   * Counts a request of a key. @returns the `RateLimit-*` headers of the answer.
   * @throws DomainError (429 with `Retry-After`) when the limit of the minute is exceeded.
   */
  countRequest(keyId: ApiKeyId): Promise<Readonly<Record<string, string>>>;
  /** Subtracts the cost of a GraphQL operation from the budget of the minute. When too little is left, nothing is subtracted. */
  payCost(keyId: ApiKeyId, cost: number): Promise<CostBudget>;
}

/** The cost budget of a key in points, after a payment or its refusal. */
export interface CostBudget {
  readonly isPaid: boolean;
  readonly limit: number;
  readonly remaining: number;
  readonly resetAt: Date;
  /** Whole seconds until the reset, at least 1. */
  readonly resetSeconds: number;
}

/** Points of the cost budget for each request of the rate limit. The budget is never below the maximum cost of one operation. */
export const COST_PER_REQUEST = 200;

const MINUTE_MS = 60_000;
const SWEEP_EVERY_MS = 10 * MINUTE_MS;
const KEPT_MS = 60 * MINUTE_MS;

const db = queriesOn<RateLimitTables>();

interface Use extends Used {
  readonly minute: Date;
  readonly keyId: ApiKeyId;
  readonly maxRequests: number;
  readonly maxCost: number;
}

/** Adds to the usage, or does nothing when a limit would be exceeded. The row lock makes the count exact over all processes. */
const addUse = prepared<Use>()((value) =>
  db
    .insertInto('rate_limit')
    .values({
      window_start: value('minute'),
      key_id: value('keyId'),
      requests: value('requests'),
      cost: value('cost'),
    })
    .onConflict((conflict) =>
      conflict
        .columns(['window_start', 'key_id'])
        .doUpdateSet((eb) => ({
          requests: eb('rate_limit.requests', '+', eb.ref('excluded.requests')),
          cost: eb('rate_limit.cost', '+', eb.ref('excluded.cost')),
        }))
        .where((eb) =>
          eb.and([
            eb(eb('rate_limit.requests', '+', eb.ref('excluded.requests')), '<=', value('maxRequests')),
            eb(eb('rate_limit.cost', '+', eb.ref('excluded.cost')), '<=', value('maxCost')),
          ]),
        ),
    )
    .returning(['requests', 'cost']),
);

const deleteBefore = (minute: Date) => db.deleteFrom('rate_limit').where('window_start', '<', minute.toISOString());

interface Used {
  readonly requests: number;
  readonly cost: number;
}

/**
 * Rate limits of an API key over all processes on one database: `RATE_LIMIT_PER_MINUTE` requests, and for GraphQL 200
 * times as many cost points, but at least 20,000 points, the maximum of one operation, so that every allowed operation
 * passes in a new minute. Undefined when
 * `RATE_LIMIT_PER_MINUTE` is 0, which turns both limits off.
 *
 * The window is a minute of the clock, the same for all keys, so two adjacent windows can be used up within seconds. Neither limit is ever
 * exceeded within a window. Refused requests are not counted.
 *
 * Each use is one upsert on an unlogged table. rate-limiter-flexible was not used: it also counts refused requests and
 * creates its own table. Giving each process a share of the budget was rejected: an unused share of one process would
 * be missing in another.
 */
export function createRateLimits(parts: RateLimitParts): RateLimits | undefined {
  return parts.config.RATE_LIMIT_PER_MINUTE === 0 ? undefined : new DatabaseRateLimits(parts);
}

type RateLimitParts = Pick<Dependencies, 'config' | 'sql' | 'now' | 'log' | 'replicas'>;

class DatabaseRateLimits implements RateLimits {
  readonly #parts: RateLimitParts;
  readonly #limit: number;
  readonly #costLimit: number;
  readonly #useHere = createLocalCount();
  #lastSweep = 0;

  constructor(parts: RateLimitParts) {
    this.#parts = parts;
    this.#limit = parts.config.RATE_LIMIT_PER_MINUTE;
    this.#costLimit = Math.max(LIMITS.cost, this.#limit * COST_PER_REQUEST);
  }

  async countRequest(keyId: ApiKeyId): Promise<Readonly<Record<string, string>>> {
    const limit = this.#limit;
    const minute = minuteOf(this.#parts.now());
    const used = await this.#use(minute, keyId, 1, 0);
    const headers = {
      'RateLimit-Limit': String(limit),
      'RateLimit-Remaining': String(limit - (used?.requests ?? limit)),
      'RateLimit-Reset': String(minute.resetSeconds),
    };
    if (used) return headers;
    const message = `rate limit exceeded: ${limit} requests per minute per API key; try again in ${minute.resetSeconds} s`;
    throw new DomainError('rateLimited', message, { headers: { ...headers, ...retryAfter(minute) } });
  }

  async payCost(keyId: ApiKeyId, cost: number): Promise<CostBudget> {
    const limit = this.#costLimit;
    const minute = minuteOf(this.#parts.now());
    const paid = await this.#use(minute, keyId, 0, cost);
    // Adding 0 returns the current usage.
    const used = paid ?? (await this.#use(minute, keyId, 0, 0));
    const { end: resetAt, resetSeconds } = minute;
    return { isPaid: paid !== undefined, limit, remaining: limit - (used?.cost ?? limit), resetAt, resetSeconds };
  }

  /** The usage after this use; undefined when a limit would be exceeded. */
  async #use(minute: Minute, keyId: ApiKeyId, requests: number, cost: number): Promise<Used | undefined> {
    this.#sweepNowAndThen(minute);
    const { sql, replicas } = this.#parts;
    const given = { minute: minute.start, keyId, requests, cost, maxRequests: this.#limit, maxCost: this.#costLimit };
    try {
      return await sql.first(addUse(given));
    } catch (error) {
      if (databaseTrouble(error) !== 'away' || !(await replicas?.canServeReads())) throw error;
      return this.#useHere(given);
    }
  }

  #sweepNowAndThen({ start }: Minute): void {
    if (Math.abs(start.getTime() - this.#lastSweep) < SWEEP_EVERY_MS) return;
    this.#lastSweep = start.getTime();
    const { sql, log } = this.#parts;
    // Not awaited. Rows that remain after a failure are deleted the next time.
    sql
      .all(deleteBefore(new Date(this.#lastSweep - KEPT_MS)))
      .catch((error: unknown) => log.warn({ err: error }, 'old rate limit rows could not be deleted'));
  }
}

/** Counts in this process only, while the primary is unreachable. Earlier usage and usage in other processes are unknown. */
function createLocalCount(): (use: Use) => Used | undefined {
  let current = 0;
  const used = new Map<string, Used>();
  return ({ minute, keyId, requests, cost, maxRequests, maxCost }) => {
    if (minute.getTime() !== current) used.clear();
    current = minute.getTime();
    const before = used.get(keyId) ?? { requests: 0, cost: 0 };
    const after = { requests: before.requests + requests, cost: before.cost + cost };
    if (after.requests > maxRequests || after.cost > maxCost) return undefined;
    used.set(keyId, after);
    return after;
  };
}

interface Minute {
  readonly start: Date;
  readonly end: Date;
  readonly resetSeconds: number;
}

function minuteOf(at: Date): Minute {
  const start = Math.floor(at.getTime() / MINUTE_MS) * MINUTE_MS;
  const end = start + MINUTE_MS;
  return { start: new Date(start), end: new Date(end), resetSeconds: Math.ceil((end - at.getTime()) / 1000) };
}

function retryAfter({ resetSeconds }: { readonly resetSeconds: number }): Record<string, string> {
  return { 'Retry-After': String(resetSeconds) };
}
