import type { Socket } from 'node:net';
import { setImmediate as nextIteration, setTimeout as delay } from 'node:timers/promises';
import pg, { type Pool, type PoolClient } from 'pg';

/** Interval of the check while connections are in use; at most a fifth of the silence that is allowed. */
const CHECK_MS = 1_000;
/** Interval of the check while the database is away. */
const RETRY_MS = 500;
const PROBE = 'select 1';

/** Thrown instead of waiting for a database that does not answer; SQLSTATE 08006, connection failure. */
class DatabaseSilentError extends Error {
  override readonly name = 'DatabaseSilentError';
  readonly code = '08006';

  constructor() {
    super('the database does not answer');
  }
}

/**
 * Detects a silent database: one that is paused, or behind a network that drops packets. While connections are in use, a separate connection
 * sends `select 1` every second. If neither it nor a fresh connection is answered, and no data arrives on others, all connections are closed,
 * and new requests fail until the database answers. Behind a pooler, the pooler is asked for a login and the database at `directUrl`.
 * @param silenceMs Maximum silence, including the interval; each of the two answers may take half of the rest.
 */
export function watchLiveness(pool: Pool, silenceMs: number, directUrl?: string): void {
  const intervalMs = Math.min(CHECK_MS, silenceMs / 5);
  const liveness = new Liveness(pool, (silenceMs - intervalMs) / 2, directUrl);
  liveness.refuseWhileAway();
  const timer = setInterval(() => {
    if (pool.ending) {
      clearInterval(timer);
      liveness.end();
    } else if (pool.totalCount > pool.idleCount || pool.waitingCount > 0) {
      liveness.check();
    }
  }, intervalMs).unref();
}

class Liveness {
  readonly #pool: Pool;
  /** Maximum time for each of the two answers. */
  readonly #answerMs: number;
  readonly #directUrl: string | undefined;
  readonly #clients = new Set<PoolClient>();
  #probe: pg.Client | undefined;
  #isAway = false;
  #isChecking = false;

  constructor(pool: Pool, answerMs: number, directUrl: string | undefined) {
    this.#pool = pool;
    this.#answerMs = answerMs;
    this.#directUrl = directUrl;
    pool.on('connect', (client) => this.#clients.add(client));
    pool.on('remove', (client) => this.#clients.delete(client));
  }

  refuseWhileAway(): void {
    const connect: (...given: unknown[]) => unknown = this.#pool.connect.bind(this.#pool);
    Object.assign(this.#pool, {
      connect: (given?: (error: Error) => void) => {
        if (!this.#isAway) return connect(given);
        return given ? given(new DatabaseSilentError()) : Promise.reject(new DatabaseSilentError());
      },
    });
  }

  check(): void {
    if (this.#isChecking) return;
    this.#isChecking = true;
    void this.#checkOnce().finally(() => (this.#isChecking = false));
  }

  end(): void {
    this.#probe?.end().catch(() => undefined);
  }

  async #checkOnce(): Promise<void> {
    if (await this.#isAnswering()) return;
    // A single connection may be lost, so a fresh one is tried, and traffic on the others is observed, before the database counts as away.
    const received = new Map(Array.from(this.#clients, (client) => [client, bytesFrom(client)]));
    if (await this.#isReachable()) return;
    if (Array.from(this.#clients).some((client) => bytesFrom(client) > (received.get(client) ?? 0))) return;
    this.#isAway = true;
    for (const client of this.#clients) cut(client);
    while (this.#isAway && !this.#pool.ending) {
      await delay(RETRY_MS, undefined, { ref: false });
      this.#isAway = !(await this.#isAnswering());
    }
  }

  #isReachable(): Promise<boolean> {
    if (this.#directUrl === undefined) return this.#isAnswering();
    return isReachable(this.#pool, this.#directUrl, this.#answerMs);
  }

  async #isAnswering(): Promise<boolean> {
    const known = this.#probe;
    const client = known ?? createProbe(this.#pool);
    const asked = known ? known.query(PROBE) : client.connect().then(() => client.query(PROBE));
    this.#probe = undefined;
    const kept = asked.then(() => void (this.#probe = client));
    const isAnswered = await answersInTime(kept, this.#answerMs);
    if (!this.#probe) cut(client);
    return isAnswered;
  }
}

/** Whether the pooler accepts a login and the database behind it answers. */
async function isReachable({ options }: Pool, directUrl: string, answerMs: number): Promise<boolean> {
  const asked = [new pg.Client(options), new pg.Client({ ...options, connectionString: directUrl })].map(
    async (client) => {
      client.on('error', () => undefined);
      try {
        return await answersInTime(client.connect(), answerMs);
      } finally {
        cut(client);
      }
    },
  );
  return (await Promise.all(asked)).every(Boolean);
}

/** A connection with the options of the pool that is not part of it. It does not keep the process alive. */
export function createProbe({ options }: Pool): pg.Client {
  // The types lack `unref`.
  const client = new pg.Client(options) as pg.Client & { unref(): void };
  client.on('error', () => undefined);
  client.unref();
  return client;
}

/** Whether the database has answered in time. An error from the server, such as too many connections, is an answer. */
async function answersInTime(asked: Promise<unknown>, answerMs: number): Promise<boolean> {
  const answer = asked.then(
    () => true,
    (error: unknown) => error instanceof pg.DatabaseError && !error.code?.startsWith('57P'),
  );
  const timeout = delay(answerMs, undefined, { ref: false }).then(async () => {
    // If this process itself was blocked, the time is over although the answer has arrived but is unread.
    await nextIteration();
    await nextIteration();
    return false;
  });
  return Promise.race([answer, timeout]);
}

/** Bytes received on a connection so far. */
function bytesFrom(client: PoolClient): number {
  return socketOf(client).bytesRead;
}

/** Closes a connection at once, without the usual final message, because the peer does not answer. */
export function cut(client: pg.Client | PoolClient): void {
  // `end` of the driver would wait for the peer.
  socketOf(client).destroy();
}

/** The types lack it. */
function socketOf(client: pg.Client | PoolClient): Socket {
  return (client as unknown as { connection: { stream: Socket } }).connection.stream;
}
