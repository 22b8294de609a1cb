import { createHash } from 'node:crypto';
import { setTimeout as delay } from 'node:timers/promises';
import type { EntityManager } from '@mikro-orm/postgresql';
import type { Logger } from 'pino';
import { ConflictError, invalid, unauthenticated } from '../../core/errors.ts';
import type { UserId } from '../../core/ids.ts';
import type { OperationContext } from '../../core/operation.ts';
import { type SecretBox, SecretError } from '../../core/secrets/secrets.ts';
import { type Sql, sqlWithin } from '../../core/postgres/sql.ts';
import type { Outbound } from '../../core/outbound/outbound.ts';
import type { Database } from '../../core/postgres/connections.ts';
import { createKeyedQueue } from '../../core/keyed-queue.ts';
import { placeOfAnswer } from './entity.ts';
import { type AnsweredRequest, requireStandingRights } from './standing-rights.ts';
import { type KeyPlace, claimKey, giveUpClaim, keepAnswer, readAnswer, setLockTimeout } from './queries.ts';

export interface KeyedRequest {
  readonly context: OperationContext;
  readonly key: string;
  /** What makes a request the same: the operation and its input. */
  readonly operation: string;
  readonly input: unknown;
  /** Whether the operation asks other servers, so that no transaction may be open around it. */
  readonly callsOut: boolean;
}

/** What came of the work, as text that the API can answer with, now and again. */
export interface Outcome {
  readonly text: string;
  readonly isSuccess: boolean;
}

export interface Answered {
  readonly text: string;
  readonly isReplayed: boolean;
}

const WAIT_MS = 10_000;
const POLL_MS = 50;
/**
 * A claim lasts for this many times the bound of one piece of outbound work, so that no operation is run again while it still runs. An
 * operation takes at most three in a row: it waits for another's token refresh, refreshes itself, and asks the server. The tools that its
 * payload selects take three more. Two are left for the database.
 */
const CLAIM_IN_OUTBOUND_TIMEOUTS = 8;
interface StoredAnswer extends AnsweredRequest {
  readonly fingerprint: string;
  readonly answer: string | null;
}

/** A request with all that its row says of it. */
interface Claim extends KeyedRequest {
  readonly place: KeyPlace;
  readonly fingerprint: string;
  /** Of this attempt. */
  readonly token: string;
  /** What the operation has changed, once it has. */
  readonly change: Change;
}

type Change = Pick<AnsweredRequest, 'operation' | 'targetType' | 'targetId'>;

type Work = (context: OperationContext) => Promise<Outcome>;

export interface IdempotencyParts {
  readonly database: Pick<Database, 'em'>;
  readonly sql: Sql;
  readonly secrets: SecretBox;
  readonly outbound: Pick<Outbound, 'totalTimeoutMs'>;
  readonly now: () => Date;
  readonly newId: () => string;
  readonly log: Pick<Logger, 'warn' | 'error'>;
}

/**
 * `Idempotency-Key`: a write that is sent again is not done again; it gets the answer it got. A key belongs to a user in an organization,
 * for 24 hours from its request; `maintenance.ts` deletes it then.
 *
 * Only success is stored. An error has changed nothing, so its request may be sent again, corrected or not, with the same key. The answer
 * is stored by the transaction that makes the change: both are there, or neither, wherever a process dies. Twins of a request wait for it.
 *
 * Operations that ask other servers cannot be one transaction. Their key is claimed first and their answer stored last; when a process
 * dies in between, twins are refused until the claim ends, and then the operation runs again.
 */
export class Idempotency {
  // Twins in one process wait in this queue, and need no connection to the database meanwhile.
  readonly #queue = createKeyedQueue();
  readonly #parts: IdempotencyParts;
  readonly #waitMs: number;

  /** `waitMs`: how long a twin waits for the answer of the request that runs. */
  constructor(parts: IdempotencyParts, { waitMs = WAIT_MS }: { readonly waitMs?: number } = {}) {
    this.#parts = parts;
    this.#waitMs = waitMs;
  }

  /**
   * Runs `work`, or gives the stored answer of the same request.
   * @throws ConflictError (409) when the key was used for another request, or its request still runs after 10 seconds; ForbiddenError (403)
   * and NotFoundError (404) as `requireStandingRights`, where the answer may not be given again; whatever `work` throws.
   */
  async run(request: KeyedRequest, work: Work): Promise<Answered> {
    const deadline = performance.now() + this.#waitMs;
    const { actor } = request.context;
    const digest = hash([actor.organization?.id ?? null, request.key]);
    const claim: Claim = {
      ...request,
      place: { userId: actor.userId, digest },
      fingerprint: hash([request.operation, request.input]),
      token: this.#parts.newId(),
      change: { operation: null, targetType: null, targetId: null },
    };
    const release = await this.#queue.take(`${actor.userId} ${digest}`, this.#waitMs);
    if (!release) throw stillRunning();
    try {
      for (;;) {
        const answered = await this.#attempt(claim, work, deadline - performance.now());
        if (answered) return answered;
        if (performance.now() > deadline) throw stillRunning();
        await delay(POLL_MS);
      }
    } finally {
      release();
    }
  }

  /** Undefined while another process has the claim. */
  async #attempt(claim: Claim, work: Work, leftMs: number): Promise<Answered | undefined> {
    const em = this.#parts.database.em.fork();
    await em.begin();
    try {
      const transaction = sqlWithin(em);
      if (!(await this.#take(transaction, claim, leftMs))) {
        const stored = await transaction.first(readAnswer(claim.place));
        await em.rollback();
        return stored && (await this.#replay(claim, stored));
      }
      if (!claim.callsOut) return await this.#runWithin(em, claim, work);
      await em.commit();
    } catch (error) {
      // What has failed says why; that the connection is gone, too, adds nothing.
      if (em.isInTransaction()) await em.rollback().catch(() => undefined);
      throw error;
    }
    return this.#runOutside(claim, work);
  }

  async #take(transaction: Sql, claim: Claim, leftMs: number): Promise<boolean> {
    const { context, place, fingerprint, token } = claim;
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
      expiresAt: new Date(at.getTime() + CLAIM_IN_OUTBOUND_TIMEOUTS * this.#parts.outbound.totalTimeoutMs),
    });
    await transaction.all(setLockTimeout({ timeout: `${Math.max(1, Math.ceil(leftMs))}ms` }));
    const taken = await transaction.all(claimed).catch((error: unknown) => {
      const { code } = error as { code?: unknown };
      if (code === LOCK_NOT_AVAILABLE) throw stillRunning();
      // The account was deleted while the request was on its way.
      throw code === FOREIGN_KEY_VIOLATION ? unauthenticated() : error;
    });
    await transaction.all(setLockTimeout({ timeout: '0' }));
    return taken.length > 0;
  }

  /** The change and its answer in one transaction. Its notifications are sent after the commit. */
  async #runWithin(em: EntityManager, claim: Claim, work: Work): Promise<Answered> {
    const { context } = claim;
    const transaction = sqlWithin(em, context.budget);
    const topics: string[] = [];
    const notifier = { ...context.notifier, publish: (topic: string) => void topics.push(topic) };
    const ended: string[] = [];
    const settleChanges = async (userIds: readonly UserId[]) => void ended.push(...userIds);
    // Who has lost their rights changes nothing. The connection goes first: looking them up takes another one.
    const authenticateAgain = async () => {
      if (em.isInTransaction()) await em.rollback();
      return context.authenticateAgain();
    };
    const { text, isSuccess } = await work({
      ...context,
      em,
      sql: transaction,
      notifier,
      authenticateAgain,
      settleChanges,
      appendQueue: undefined,
      onChange: noteIn(claim.change),
    });
    if (isSuccess) {
      await this.#keep(sqlWithin(em), claim, text);
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
    const giveUp = () => sql.all(giveUpClaim({ ...claim.place, claim: claim.token }));
    let outcome: Outcome;
    try {
      outcome = await work({ ...claim.context, onChange: noteIn(claim.change) });
    } catch (error) {
      await giveUp().catch((failure: unknown) => log.warn({ err: failure }, 'idempotency key not given up'));
      throw error;
    }
    if (outcome.isSuccess) await this.#keep(sql, claim, outcome.text);
    else await giveUp();
    return { text: outcome.text, isReplayed: false };
  }

  async #keep(connection: Sql, { place, token, change }: Claim, text: string): Promise<void> {
    const answer = await this.#parts.secrets.seal(text, placeOfAnswer(place.userId, place.digest));
    await connection.all(keepAnswer({ ...place, ...change, claim: token, answer }));
  }

  async #replay({ place, fingerprint, context }: Claim, stored: StoredAnswer): Promise<Answered | undefined> {
    if (stored.fingerprint !== fingerprint)
      throw new ConflictError(
        'WRONG_STATE',
        'Idempotency-Key: was used for another request; take a new key for each request, and the same one only to send it again',
      );
    if (stored.answer === null) return undefined;
    await requireStandingRights(context, stored);
    try {
      return {
        text: await this.#parts.secrets.open(stored.answer, placeOfAnswer(place.userId, place.digest)),
        isReplayed: true,
      };
    } catch (error) {
      if (!(error instanceof SecretError)) throw error;
      this.#parts.log.error({ err: error }, 'stored answer cannot be opened');
      throw new ConflictError(
        'WRONG_STATE',
        'Idempotency-Key: the request was done, but its answer can no longer be read',
      );
    }
  }
}

// PostgreSQL's own codes (appendix A).
const LOCK_NOT_AVAILABLE = '55P03';
const FOREIGN_KEY_VIOLATION = '23503';

function noteIn(change: Change): NonNullable<OperationContext['onChange']> {
  return (operation, { type, id }) => void Object.assign(change, { operation, targetType: type, targetId: id });
}

function stillRunning(): ConflictError {
  return new ConflictError(
    'WRONG_STATE',
    'Idempotency-Key: a request with this key still runs; send it again later to get its answer',
  );
}

/** SHA-256 of a value's JSON, in which the order of properties does not matter. */
function hash(value: unknown): string {
  try {
    return createHash('sha256').update(JSON.stringify(value, sorted)).digest('hex');
  } catch (error) {
    // The stack ends before the parser's bound does.
    throw error instanceof RangeError ? invalid('', 'the input is nested too deeply') : error;
  }
}

function sorted(_: string, value: unknown): unknown {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return value;
  return Object.fromEntries(Object.entries(value).toSorted(([a], [b]) => (a < b ? -1 : 1)));
}
