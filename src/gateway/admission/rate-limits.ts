import { DomainError } from '../../core/errors.ts';
import type { ApiKeyId } from '../../core/ids.ts';
import { databaseTrouble } from '../../core/postgres/failures.ts';
import { prepared, queriesOn } from '../../core/postgres/queries.ts';
import { MAX_OPERATION_COST } from '../bounds.ts';
import type { Dependencies } from '../dependencies.ts';
import type { RateLimitTables } from './entity.ts';

export interface RateLimits {
  /**
   * Counts a request of a key, and answers the `RateLimit-*` headers that its answer is to have.
   * @throws DomainError 429 with `Retry-After` when the minute's requests are used up.
   */
  countRequest(keyId: ApiKeyId): Promise<Readonly<Record<string, string>>>;
  /** Takes the cost of a GraphQL operation out of the minute's budget, unless less is left than that: then nothing is taken. */
  payCost(keyId: ApiKeyId, cost: number): Promise<CostBudget>;
}

/** A key's cost budget, in points, after a payment or its refusal. */
export interface CostBudget {
  readonly isPaid: boolean;
  readonly limit: number;
  readonly remaining: number;
  readonly resetAt: Date;
  /** Whole seconds until then, at least 1. */
  readonly resetSeconds: number;
}

/** So many points a minute for each request a minute; the budget is never below what one operation may cost. */
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

/** Adds to what is used, or does nothing where that would be too much. The row's lock makes it exact over all processes. */
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
 * What one API key may do in a minute, over all processes on one database: `RATE_LIMIT_PER_MINUTE` requests, and in GraphQL 200 times as
 * many cost points, but at least the 20,000 that one operation may cost, so that whatever passes the fixed limits passes in a fresh minute.
 * Undefined when `RATE_LIMIT_PER_MINUTE` is 0: both budgets are off, and cost nothing.
 *
 * A minute is one of the clock, the same for all keys, so that two neighbouring ones may be used up close to each other. Neither
 * budget is ever exceeded in a minute. What is refused uses nothing up.
 *
 * One statement for each use, on a table that no commit waits for. Not rate-limiter-flexible: it counts what it refuses, too, makes its
 * own table, and its in-process front is exact only once a key is over its limit, while one upsert is all that is needed. Nor are parts of
 * the budget handed out to the processes: what one did not use would be missing in another.
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
    this.#costLimit = Math.max(MAX_OPERATION_COST, this.#limit * COST_PER_REQUEST);
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
    const message = `more than the ${limit} requests a minute that a key may make; try again in ${minute.resetSeconds} s`;
    throw new DomainError('rateLimited', message, { headers: { ...headers, ...retryAfter(minute) } });
  }

  async payCost(keyId: ApiKeyId, cost: number): Promise<CostBudget> {
    const limit = this.#costLimit;
    const minute = minuteOf(this.#parts.now());
    const paid = await this.#use(minute, keyId, 0, cost);
    // To use nothing answers how much is used.
    const used = paid ?? (await this.#use(minute, keyId, 0, 0));
    const { end: resetAt, resetSeconds } = minute;
    return { isPaid: paid !== undefined, limit, remaining: limit - (used?.cost ?? limit), resetAt, resetSeconds };
  }

  /** What is used up after this; undefined when it would be too much. */
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
    // Nobody waits for it, and what is left over is found the next time.
    sql
      .all(deleteBefore(new Date(this.#lastSweep - KEPT_MS)))
      .catch((error: unknown) => log.warn({ err: error }, 'old rate limits are still there'));
  }
}

/** Counts in this process alone. What a key has used before, and in other processes, does not count. */
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
