import { createHash } from 'node:crypto';
import { type RawBuilder, sql } from 'kysely';
import type { Logger } from 'pino';
import type { Config } from '../../core/config.ts';
import { DomainError } from '../../core/errors.ts';
import type { UserId } from '../../core/ids.ts';
import type { Actor } from '../../core/access.ts';
import { databaseTrouble } from '../../core/postgres/failures.ts';
import type { Replicas } from '../../core/postgres/health/replicas.ts';
import { prepared, queriesOn } from '../../core/postgres/reading/queries.ts';
import { LIMITS } from '../../core/graphql/document-limits.ts';
import type { Sql } from '../../core/postgres/reading/sql.ts';
import type { Metrics } from '../telemetry/metrics.ts';
import type { RateLimitTables } from './entity.ts';

/** Who sent a request: a key, or a browser that is signed in. */
export type Sender = Pick<Actor, 'keyId' | 'userId' | 'kind'>;

export interface RateLimits {
  /**
   * Counts a request, in the caller's transaction if there is one. `atLeast` is the limit if the usual one is lower. @returns the `RateLimit-*` headers of the answer.
   * @throws DomainError (429 with `Retry-After`) when a limit of the minute is exceeded.
   */
  countRequest(sender: Sender, given?: Counted): Promise<Readonly<Record<string, string>>>;
  /** Subtracts the cost of a GraphQL operation from the budgets of the minute. When too little is left, nothing is subtracted. */
  payCost(sender: Sender, cost: number): Promise<CostBudget>;
}

interface Counted {
  readonly transaction?: Sql;
  readonly atLeast?: number;
}

/** The cost budget of a sender in points, after a payment or its refusal. */
export interface CostBudget {
  readonly isPaid: boolean;
  readonly limit: number;
  /** What is left of the budget of the key or browser, or of that of its user if less is left of it. */
  readonly remaining: number;
  /** The budget that decides `remaining`, such as "the key's 20000 points". */
  readonly budget: string;
  readonly resetAt: Date;
  /** Whole seconds until the reset, at least 1. */
  readonly resetSeconds: number;
}

/** Points of the cost budget for each request of the rate limit. The budget is never below the maximum cost of one operation. */
export const COST_PER_REQUEST = 200;
/** All keys of a user together have the limits of so many keys, and all their signed-in browsers too. */
export const KEYS_PER_USER = 5;

const MINUTE_MS = 60_000;
const SWEEP_EVERY_MS = 10 * MINUTE_MS;
const KEPT_MS = 60 * MINUTE_MS;

const db = queriesOn<RateLimitTables>();

interface Used {
  readonly requests: number;
  readonly cost: number;
}

interface Use extends Used {
  readonly minute: Date;
  /** The counter of the key or browser, and that of all keys or browsers of its user. */
  readonly own: string;
  readonly all: string;
  readonly maxRequests: number;
  readonly maxCost: number;
  readonly maxRequestsOfAll: number;
  readonly maxCostOfAll: number;
}

type ValueOf = <Name extends keyof Use>(name: Name) => RawBuilder<Use[Name]>;

/** What a use adds to a counter, up to the given maximum. */
interface Addition {
  readonly counterId: RawBuilder<string>;
  readonly maxRequests: RawBuilder<number>;
  readonly maxCost: RawBuilder<number>;
}

/**
 * Adds to both counters, or to neither when a limit would be exceeded. The row locks make the counts exact over all processes. Only when
 * requests of several keys race for the last of what their user has left, a refused one stays counted for its key.
 */
const addUse = prepared<Use>()((value) => {
  const own = { counterId: value('own'), maxRequests: value('maxRequests'), maxCost: value('maxCost') };
  const all = { counterId: value('all'), maxRequests: value('maxRequestsOfAll'), maxCost: value('maxCostOfAll') };
  return db
    .with('room', () => db.selectNoFrom(hasRoom(value, all).as('isLeft')))
    .with('own', () => add(value, own, sql`from room where room."isLeft"`))
    .with('together', () => add(value, all, sql`from own`))
    .selectFrom('room')
    .leftJoin('own', (join) => join.onTrue())
    .leftJoin('together', (join) => join.onTrue())
    .select([
      'room.isLeft',
      'own.requests',
      'own.cost',
      'together.requests as requestsOfAll',
      'together.cost as costOfAll',
    ]);
});

const hasRoom = (value: ValueOf, { counterId, maxRequests, maxCost }: Addition) =>
  sql<boolean>`not exists (select from rate_limit where window_start = ${value('minute')} and key_id = ${counterId}
    and (requests + ${value('requests')}::int > ${maxRequests}::int or cost + ${value('cost')}::int > ${maxCost}::int))`;

const add = (value: ValueOf, { counterId, maxRequests, maxCost }: Addition, source: RawBuilder<unknown>) =>
  db
    .insertInto('rate_limit')
    .columns(['window_start', 'key_id', 'requests', 'cost'])
    .expression(
      sql`select ${value('minute')}::timestamptz, ${counterId}::uuid, ${value('requests')}::int, ${value('cost')}::int ${source}`,
    )
    .onConflict((conflict) =>
      conflict
        .columns(['window_start', 'key_id'])
        .doUpdateSet((eb) => ({
          requests: eb('rate_limit.requests', '+', eb.ref('excluded.requests')),
          cost: eb('rate_limit.cost', '+', eb.ref('excluded.cost')),
        }))
        .where((eb) =>
          eb.and([
            eb(eb('rate_limit.requests', '+', eb.ref('excluded.requests')), '<=', maxRequests),
            eb(eb('rate_limit.cost', '+', eb.ref('excluded.cost')), '<=', maxCost),
          ]),
        ),
    )
    .returning(['requests', 'cost']);

const deleteBefore = (minute: Date) => db.deleteFrom('rate_limit').where('window_start', '<', minute.toISOString());

/** What both counters contain after a use, or which of them has too little left. */
type Outcome =
  | { readonly own: Used; readonly all: Used; readonly exceeded?: undefined }
  | { readonly exceeded: 'own' | 'all' };

/**
 * Rate limits over all processes on one database: `RATE_LIMIT_PER_MINUTE` requests of an API key, and for GraphQL 200 times as many cost
 * points, but at least 20,000 points, the maximum of one operation, so that every allowed operation passes in a new minute. A browser that is
 * signed in with the key has the same limits for itself, so that reading never stops recording. All keys of a user together have five times
 * the limits of one, and so have all their browsers. Undefined when `RATE_LIMIT_PER_MINUTE` is 0, which turns all limits off.
 *
 * The window is a minute of the clock, the same for all, so two adjacent windows can be used up within seconds. No limit is ever exceeded
 * within a window. Refused requests are not counted.
 *
 * Each use is one statement on an unlogged table. rate-limiter-flexible was not used: it also counts refused requests and
 * creates its own table. Giving each process a share of the budget was rejected: an unused share of one process would
 * be missing in another.
 */
export const createRateLimits = (parts: RateLimitParts): RateLimits | undefined =>
  parts.config.RATE_LIMIT_PER_MINUTE === 0 ? undefined : new DatabaseRateLimits(parts);

interface RateLimitParts {
  readonly config: Pick<Config, 'RATE_LIMIT_PER_MINUTE'>;
  readonly sql: Sql;
  readonly now: () => Date;
  readonly log: Pick<Logger, 'warn'>;
  readonly replicas: Pick<Replicas, 'canServeReads'> | undefined;
  readonly metrics: Pick<Metrics, 'rateLimited'>;
}

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

  async countRequest(
    sender: Sender,
    { transaction, atLeast = 0 }: Counted = {},
  ): Promise<Readonly<Record<string, string>>> {
    const limit = Math.max(this.#limit, atLeast);
    const minute = minuteOf(this.#parts.now());
    const outcome = await this.#use(minute, sender, { requests: 1, cost: 0 }, transaction, limit);
    const remaining = outcome.exceeded
      ? 0
      : Math.min(limit - outcome.own.requests, limit * KEYS_PER_USER - outcome.all.requests);
    const headers = {
      'RateLimit-Limit': String(limit),
      'RateLimit-Remaining': String(remaining),
      'RateLimit-Reset': String(minute.resetSeconds),
    };
    if (!outcome.exceeded) return headers;
    const { counter, per } = budgetsOf(sender)[outcome.exceeded];
    this.#parts.metrics.rateLimited.inc({ budget: counter, unit: 'requests' });
    const most = outcome.exceeded === 'own' ? limit : limit * KEYS_PER_USER;
    const message = `rate limit exceeded: ${most} requests per minute ${per}; try again in ${minute.resetSeconds} s`;
    throw new DomainError('rateLimited', message, { headers: { ...headers, ...retryAfter(minute) } });
  }

  async payCost(sender: Sender, cost: number): Promise<CostBudget> {
    const minute = minuteOf(this.#parts.now());
    const paid = await this.#use(minute, sender, { requests: 0, cost });
    const budgets = budgetsOf(sender);
    if (paid.exceeded) this.#parts.metrics.rateLimited.inc({ budget: budgets[paid.exceeded].counter, unit: 'cost' });
    // Adding 0 returns the current usage.
    const used = paid.exceeded ? await this.#use(minute, sender, { requests: 0, cost: 0 }) : paid;
    const limit = this.#costLimit;
    const most = limit * KEYS_PER_USER;
    const left = used.exceeded ? { own: 0, all: 0 } : { own: limit - used.own.cost, all: most - used.all.cost };
    const scarce = left.own <= left.all ? 'own' : 'all';
    return {
      isPaid: !paid.exceeded,
      limit,
      remaining: left[scarce],
      budget: `${budgets[scarce].whose} ${scarce === 'own' ? limit : most} points`,
      resetAt: minute.end,
      resetSeconds: minute.resetSeconds,
    };
  }

  async #use(
    minute: Minute,
    sender: Sender,
    used: Used,
    writer = this.#parts.sql,
    limit = this.#limit,
  ): Promise<Outcome> {
    this.#sweepNowAndThen(minute);
    const { replicas } = this.#parts;
    const use = {
      ...used,
      ...countersOf(sender),
      minute: minute.start,
      maxRequests: limit,
      maxCost: this.#costLimit,
      maxRequestsOfAll: limit * KEYS_PER_USER,
      maxCostOfAll: this.#costLimit * KEYS_PER_USER,
    };
    try {
      const row = await writer.first(addUse(use));
      const own = row && usedOf(row.requests, row.cost);
      const all = row && usedOf(row.requestsOfAll, row.costOfAll);
      if (own && all) return { own, all };
      return { exceeded: row?.isLeft && !own ? 'own' : 'all' };
    } catch (error) {
      if (databaseTrouble(error) !== 'away' || !(await replicas?.canServeReads())) throw error;
      return this.#useHere(use);
    }
  }

  #sweepNowAndThen({ start }: Minute): void {
    if (Math.abs(start.getTime() - this.#lastSweep) < SWEEP_EVERY_MS) return;
    this.#lastSweep = start.getTime();
    const { sql: writer, log } = this.#parts;
    // Not awaited. Rows that remain after a failure are deleted the next time.
    writer
      .all(deleteBefore(new Date(this.#lastSweep - KEPT_MS)))
      .catch((error: unknown) => log.warn({ err: error }, 'old rate limit rows could not be deleted'));
  }
}

/** The ids under which the uses of a sender are counted. */
const countersOf = ({ keyId, userId, kind }: Sender): { readonly own: string; readonly all: string } => ({
  own: keyId,
  all: kind === 'SIGN_IN' ? browsersOf(userId) : userId,
});

/** The counter of all browsers of a user: an id made from that of the user, because the latter counts the keys. */
function browsersOf(userId: UserId): string {
  // PostgreSQL reads 32 hexadecimal digits as a UUID.
  return createHash('sha256').update(`browsers of ${userId}`).digest('hex').slice(0, 32);
}

/** The budgets of a sender, as messages and metrics name them. */
const budgetsOf = ({ kind }: Sender) => (kind === 'SIGN_IN' ? BUDGETS.ofBrowsers : BUDGETS.ofKeys);

const BUDGETS = {
  ofKeys: {
    own: { counter: 'key', per: 'per API key', whose: "the key's" },
    all: { counter: 'keys_of_user', per: 'for all API keys of a user together', whose: "all your keys'" },
  },
  ofBrowsers: {
    own: { counter: 'browser', per: 'per signed-in browser', whose: "the browser's" },
    all: {
      counter: 'browsers_of_user',
      per: 'for all signed-in browsers of a user together',
      whose: "all your browsers'",
    },
  },
} as const;

const usedOf = (requests: number | null, cost: number | null): Used | undefined =>
  requests === null || cost === null ? undefined : { requests, cost };

/** Counts in this process only, while the primary is unreachable. Earlier usage and usage in other processes are unknown. */
function createLocalCount(): (use: Use) => Outcome {
  let current = 0;
  const used = new Map<string, Used>();
  const after = (counter: string, { requests, cost }: Used): Used => {
    const before = used.get(counter) ?? { requests: 0, cost: 0 };
    return { requests: before.requests + requests, cost: before.cost + cost };
  };
  return (use) => {
    if (use.minute.getTime() !== current) used.clear();
    current = use.minute.getTime();
    const own = after(use.own, use);
    const all = after(use.all, use);
    if (all.requests > use.maxRequestsOfAll || all.cost > use.maxCostOfAll) return { exceeded: 'all' };
    if (own.requests > use.maxRequests || own.cost > use.maxCost) return { exceeded: 'own' };
    used.set(use.own, own).set(use.all, all);
    return { own, all };
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

const retryAfter = ({ resetSeconds }: { readonly resetSeconds: number }): Record<string, string> => ({
  'Retry-After': String(resetSeconds),
});
