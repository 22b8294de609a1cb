import { setTimeout as delay } from 'node:timers/promises';
import type { EntityManager } from '@mikro-orm/postgresql';
import type { Logger } from 'pino';
import { isObject } from '../../core/is-object.ts';
import { ConflictError, unauthenticated } from '../../core/errors.ts';
import type { UserId } from '../../core/ids.ts';
import type { OperationContext } from '../../core/operation.ts';
import type { Database } from '../../core/postgres/connections.ts';
import { type Sql, sqlWithin } from '../../core/postgres/reading/sql.ts';
import type { Outbound } from '../../core/outbound/outbound.ts';
import { createKeyedQueue } from '../../core/concurrency.ts';
import type { WhileWaiting } from '../../core/request-slot.ts';
import { hashOfJson } from '../../core/text/json-hash.ts';
import { lockForAnswer } from '../../core/stored-answers.ts';
import { DAY_MS } from '../../core/text/timestamps.ts';
import { type Answered, type AnswerParts, type Change, openAnswer, storeAnswer } from './answers.ts';
import { type AnsweredRequest, requireStandingRights } from './standing-rights.ts';
import { type KeyPlace, claimKey, releaseClaim, readAnswer, setLockTimeout } from './queries.ts';

export interface IdempotentRequest {
  readonly context: OperationContext;
  readonly key: string;
  /** The operation and its input. Both must be equal for a retry of the same request. */
  readonly operation: string;
  readonly input: unknown;
  /** Whether the operation sends requests to other servers, so that no transaction must be open meanwhile. */
  readonly callsOut: boolean;
  /** Whether it is never run again: neither after a failure whose outcome is unknown, nor after a crash. It also calls out. */
  readonly isAtMostOnce: boolean;
  /** Whether the answer has sessions beside the changed object. */
  readonly hasSessions?: boolean;
}

/** The result of the work, as text that the API sends. */
export interface Outcome {
  readonly text: string;
  /** The text that is stored for a replay: the same, or, beyond the maximum size, only ids. */
  readonly kept: string;
  readonly isSuccess: boolean;
}

const WAIT_MS = 10_000;
const POLL_MS = 50;
/**
 * Lifetime of a claim, as a multiple of the timeout of an outbound request. It must be longer than the longest
 * operation, so that none runs twice at the same time: three for waiting until another request has refreshed a token,
 * refreshing it, and the request; three more for reading the tools of the payload; and two for the database.
 */
const CLAIM_IN_OUTBOUND_TIMEOUTS = 8;
interface StoredAnswer extends AnsweredRequest {
  readonly fingerprint: string;
  readonly answer: string | null;
}

/** A request with the values of its row. */
interface Claim extends IdempotentRequest {
  readonly place: KeyPlace;
  readonly fingerprint: string;
  /** Identifies this attempt. */
  readonly token: string;
  /** The changed object, set when the operation has changed it. */
  readonly change: Change;
}

type Work = (context: OperationContext) => Promise<Outcome>;

export interface IdempotencyParts extends AnswerParts {
  readonly database: Pick<Database, 'em'>;
  readonly sql: Sql;
  readonly now: () => Date;
  readonly newId: () => string;
  readonly outbound: Pick<Outbound, 'totalTimeoutMs'>;
  readonly log: Pick<Logger, 'warn' | 'error'>;
}

/**
 * `Idempotency-Key`: a retried write is not executed again, but gets the stored answer. A key belongs to a user in an organization. It is
 * stored for 24 hours; then `maintenance.ts` deletes it.
 *
 * Only successful answers are stored; of those over 256 KiB only the ids. A request with an error has changed nothing and can be retried with the same key.
 * The answer is stored in the transaction of the change, so a crash cannot separate them. Concurrent requests with the
 * same key wait for the first one.
 *
 * Operations that send requests to other servers cannot run in one transaction. They claim the key first and store the
 * answer last. When the process crashes in between, retries are refused until the claim expires, and then the operation
 * runs again. Those that must not run twice keep their claim for 24 hours.
 */
export class Idempotency {
  // Concurrent requests with the same key in one process wait in this queue, without a database connection.
  readonly #queue = createKeyedQueue();
  readonly #parts: IdempotencyParts;
  readonly #waitMs: number;

  /** `waitMs`: how long a request waits for the answer of a running request with the same key. */
  constructor(parts: IdempotencyParts, { waitMs = WAIT_MS }: { readonly waitMs?: number } = {}) {
    this.#parts = parts;
    this.#waitMs = waitMs;
  }

  /**
   * Runs `work`, or returns the stored answer of the same request.
   * @throws ConflictError (409) when the key was used for another request, or its request is still running after 10
   * seconds; ForbiddenError (403) and NotFoundError (404) like `requireStandingRights`; all errors of `work`.
   */
  async run(request: IdempotentRequest, work: Work): Promise<Answered> {
    // One that is never run again can take minutes, and its outcome may remain unknown.
    const waitMs = request.isAtMostOnce ? 0 : this.#waitMs;
    const deadline = performance.now() + waitMs;
    const { actor, budget } = request.context;
    const whileWaiting: WhileWaiting = (wait) => budget.waiting(wait);
    const digest = await hashOfJson([actor.organization?.id ?? null, request.key]);
    const claim: Claim = {
      ...request,
      place: { userId: actor.userId, digest },
      fingerprint: await hashOfJson([request.operation, request.input]),
      token: this.#parts.newId(),
      change: { operation: null, targetType: null, targetId: null },
    };
    const release = await this.#queue.take(`${actor.userId} ${digest}`, waitMs, whileWaiting);
    if (!release) throw waitMs === 0 ? openOrUnknown() : stillRunning();
    try {
      for (;;) {
        const answered = await this.#attempt(claim, work);
        if (answered) return answered;
        if (performance.now() >= deadline) throw claim.isAtMostOnce ? openOrUnknown() : stillRunning();
        await whileWaiting(() => delay(POLL_MS));
      }
    } finally {
      release();
    }
  }

  /** Undefined while another process has the claim. */
  async #attempt(claim: Claim, work: Work): Promise<Answered | undefined> {
    const em = this.#parts.database.em.fork();
    await em.begin();
    try {
      const transaction = sqlWithin(em);
      const { organization } = claim.context.actor;
      if (claim.hasSessions && !claim.callsOut && organization) await lockForAnswer(em, organization.id);
      if (!(await this.#take(transaction, claim))) {
        const stored = await transaction.first(readAnswer(claim.place));
        await em.rollback();
        return stored && (await this.#replay(claim, stored));
      }
      if (!claim.callsOut) return await this.#runWithin(em, claim, work);
      await em.commit();
    } catch (error) {
      // A failed rollback is ignored, because the original error explains the failure.
      if (em.isInTransaction()) await em.rollback().catch(() => undefined);
      if (error instanceof ClaimLocked) return undefined;
      throw error;
    }
    return this.#runOutside(claim, work);
  }

  /** @throws ClaimLocked while the transaction of another process has it */
  async #take(transaction: Sql, claim: Claim): Promise<boolean> {
    const { context, place, fingerprint, token, isAtMostOnce } = claim;
    const lifetimeMs = isAtMostOnce ? DAY_MS : CLAIM_IN_OUTBOUND_TIMEOUTS * this.#parts.outbound.totalTimeoutMs;
    const at = this.#parts.now();
    const { organization, scopes } = context.actor;
    const claimed = claimKey({
      ...place,
      organizationId: organization?.id ?? null,
      fingerprint,
      scopes: [...scopes],
      role: organization?.role ?? null,
      claim: token,
      createdAt: at,
      expiresAt: new Date(at.getTime() + lifetimeMs),
    });
    // Not longer, because a connection to the database would be kept meanwhile.
    await transaction.all(setLockTimeout({ timeout: `${POLL_MS}ms` }));
    const taken = await transaction.all(claimed).catch((error: unknown) => {
      const code = isObject(error) ? error['code'] : undefined;
      if (code === LOCK_NOT_AVAILABLE) throw new ClaimLocked();
      // The account was deleted during the request.
      throw code === FOREIGN_KEY_VIOLATION ? unauthenticated() : error;
    });
    await transaction.all(setLockTimeout({ timeout: '0' }));
    return taken.length > 0;
  }

  /** Runs the change and stores its answer in one transaction. Notifications are sent after the commit. */
  async #runWithin(em: EntityManager, claim: Claim, work: Work): Promise<Answered> {
    const { context } = claim;
    const transaction = sqlWithin(em, context.budget);
    const topics: string[] = [];
    const notifier = { ...context.notifier, publish: (topic: string) => void topics.push(topic) };
    const ended: string[] = [];
    const settleChanges = async (userIds: readonly UserId[]) => {
      for (const userId of userIds) ended.push(userId);
    };
    // Checks the rights again before the change. The connection is released first, because the lookup needs another one.
    const authenticateAgain = async () => {
      if (em.isInTransaction()) await em.rollback();
      return context.authenticateAgain();
    };
    const { text, kept, isSuccess } = await work(
      context.with({
        em,
        sql: transaction,
        notifier,
        authenticateAgain,
        settleChanges,
        appendQueue: undefined,
        onChange: noteIn(claim.change),
      }),
    );
    if (isSuccess) {
      await storeAnswer(this.#parts, sqlWithin(em), claim, kept);
      await em.commit();
      await context.settleChanges(ended);
      topics.forEach((topic) => context.notifier.publish(topic));
    } else if (em.isInTransaction()) {
      await em.rollback();
    }
    return { text, isReplayed: false };
  }

  async #runOutside(claim: Claim, work: Work): Promise<Answered> {
    const { sql, log } = this.#parts;
    let isUnknown = false;
    const onUnknownOutcome = () => void (isUnknown = claim.isAtMostOnce);
    // A claim whose outcome is unknown stays until it expires.
    const release = async () => {
      if (!isUnknown) await sql.all(releaseClaim({ ...claim.place, claim: claim.token }));
    };
    let outcome: Outcome;
    try {
      outcome = await work(claim.context.with({ onChange: noteIn(claim.change), onUnknownOutcome }));
    } catch (error) {
      await release().catch((failure: unknown) =>
        log.warn({ err: failure }, 'the claim of an idempotency key could not be released'),
      );
      throw error;
    }
    if (outcome.isSuccess) await storeAnswer(this.#parts, sql, claim, outcome.kept);
    else await release();
    return { text: outcome.text, isReplayed: false };
  }

  async #replay({ place, fingerprint, context }: Claim, stored: StoredAnswer): Promise<Answered | undefined> {
    requireSameRequest(stored, fingerprint);
    if (stored.answer === null) return undefined;
    await requireStandingRights(context, stored);
    const { targetType: type, targetId: id } = stored;
    const answered = await openAnswer(this.#parts, place, stored.answer);
    return { ...answered, changed: type === null || id === null ? undefined : { type, id } };
  }
}

/** @throws ConflictError (409) when the stored answer belongs to another request. */
function requireSameRequest(stored: { readonly fingerprint: string }, fingerprint: string): void {
  if (stored.fingerprint === fingerprint) return;
  throw new ConflictError(
    'WRONG_STATE',
    'Idempotency-Key: was used for another request; use a new key for each request, and the same key only to retry a request',
  );
}

class ClaimLocked extends Error {}

// Error codes of PostgreSQL (appendix A).
const LOCK_NOT_AVAILABLE = '55P03';
const FOREIGN_KEY_VIOLATION = '23503';

const noteIn =
  (change: Change): NonNullable<OperationContext['onChange']> =>
  (operation, { type, id }) =>
    void Object.assign(change, { operation, targetType: type, targetId: id });

function openOrUnknown(): ConflictError {
  return new ConflictError(
    'WRONG_STATE',
    'Idempotency-Key: the request with this key is still running, or its outcome is unknown; it is not run again',
  );
}

function stillRunning(): ConflictError {
  return new ConflictError(
    'WRONG_STATE',
    'Idempotency-Key: a request with this key is still running; retry later to get its answer',
  );
}
