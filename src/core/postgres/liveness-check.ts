import type { Socket } from 'node:net';
import { setImmediate as nextTurn, setTimeout as delay } from 'node:timers/promises';
import pg, { type Pool, type PoolClient } from 'pg';

/** While connections are in use, the database is asked this often whether it still answers. */
const BEAT_MS = 1_000;
/** While it is away, it is looked for this often. */
const SEARCH_MS = 500;
const ASK = 'select 1';

/** What is thrown in place of waiting for a database that does not answer; SQLSTATE 08006, connection failure. */
class DatabaseSilentError extends Error {
  override readonly name = 'DatabaseSilentError';
  readonly code = '08006';

  constructor() {
    super('the database does not answer');
  }
}

/**
 * Keeps a pool from waiting for a database that says nothing: one that is paused, or behind a network that swallows packets. A refused
 * or broken connection fails by itself, a silent one would hold its request until the operating system gives up, a quarter of an hour
 * later. So while connections are in use, a separate connection asks `select 1` every second. When that is answered neither there nor on a
 * fresh one, and nothing has come over another connection meanwhile, all connections of the pool are cut, so that what waits on them fails,
 * and new requests fail at once, until the database answers again. A long statement is no silence, and neither is a database so busy that it
 * answers some and lets others wait.
 *
 * Behind a pooler the question may wait for one of its connections. So that is asked which answers at once unless it is away: the pooler for a
 * login, and the database at `directUrl`.
 *
 * @param silenceMs How long a database may be silent, beats included: each of the two answers may take half of what a beat leaves of it.
 */
export function watchLiveness(pool: Pool, silenceMs: number, directUrl?: string): void {
  const liveness = new Liveness(pool, (silenceMs - BEAT_MS) / 2, directUrl);
  liveness.refuseWhileAway();
  const timer = setInterval(() => {
    if (pool.ending) {
      clearInterval(timer);
      liveness.end();
    } else if (pool.totalCount > pool.idleCount || pool.waitingCount > 0) {
      liveness.check();
    }
  }, BEAT_MS).unref();
}

class Liveness {
  readonly #pool: Pool;
  /** How long each of the two answers may take. */
  readonly #patienceMs: number;
  readonly #directUrl: string | undefined;
  readonly #clients = new Set<PoolClient>();
  #probe: pg.Client | undefined;
  #isAway = false;
  #isChecking = false;

  constructor(pool: Pool, patienceMs: number, directUrl: string | undefined) {
    this.#pool = pool;
    this.#patienceMs = patienceMs;
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
    void this.#beat().finally(() => (this.#isChecking = false));
  }

  end(): void {
    this.#probe?.end().catch(() => undefined);
  }

  async #beat(): Promise<void> {
    if (await this.#isAnswering()) return;
    // One connection may be lost alone: a fresh one is asked before the database is given up, and the others are listened to.
    const heard = new Map(Array.from(this.#clients, (client) => [client, bytesFrom(client)]));
    if (await this.#isReachable()) return;
    if (Array.from(this.#clients).some((client) => bytesFrom(client) > (heard.get(client) ?? 0))) return;
    this.#isAway = true;
    for (const client of this.#clients) cut(client);
    while (this.#isAway && !this.#pool.ending) {
      await delay(SEARCH_MS, undefined, { ref: false });
      this.#isAway = !(await this.#isAnswering());
    }
  }

  #isReachable(): Promise<boolean> {
    if (this.#directUrl === undefined) return this.#isAnswering();
    return isReachable(this.#pool, this.#directUrl, this.#patienceMs);
  }

  async #isAnswering(): Promise<boolean> {
    const known = this.#probe;
    const client = known ?? createProbe(this.#pool);
    const asked = known ? known.query(ASK) : client.connect().then(() => client.query(ASK));
    this.#probe = undefined;
    const kept = asked.then(() => void (this.#probe = client));
    const isAnswered = await answersInTime(kept, this.#patienceMs);
    if (!this.#probe) cut(client);
    return isAnswered;
  }
}

/** Whether the pooler takes a login, and the database behind it answers. */
async function isReachable({ options }: Pool, directUrl: string, patienceMs: number): Promise<boolean> {
  const asked = [new pg.Client(options), new pg.Client({ ...options, connectionString: directUrl })].map(
    async (client) => {
      client.on('error', () => undefined);
      try {
        return await answersInTime(client.connect(), patienceMs);
      } finally {
        cut(client);
      }
    },
  );
  return (await Promise.all(asked)).every(Boolean);
}

/** A connection like those of the pool, which is not counted among them. It holds no process back from its end. */
export function createProbe({ options }: Pool): pg.Client {
  // The types leave out `unref`.
  const client = new pg.Client(options) as pg.Client & { unref(): void };
  client.on('error', () => undefined);
  client.unref();
  return client;
}

/** Whether the database has said anything in time. What it says by itself, be it that it has too many connections, is an answer. */
async function answersInTime(asked: Promise<unknown>, patienceMs: number): Promise<boolean> {
  const answer = asked.then(
    () => true,
    (error: unknown) => error instanceof pg.DatabaseError && !error.code?.startsWith('57P'),
  );
  const timeout = delay(patienceMs, undefined, { ref: false }).then(async () => {
    // A process that was held up itself finds the time gone by and the answer there, unread.
    await nextTurn();
    await nextTurn();
    return false;
  });
  return Promise.race([answer, timeout]);
}

/** How much has come over a connection so far. */
function bytesFrom(client: PoolClient): number {
  return socketOf(client).bytesRead;
}

/** Closes a connection at once, without the usual last message: the other side does not answer. */
export function cut(client: pg.Client | PoolClient): void {
  // The driver's own way out, `end`, would wait for the other side.
  socketOf(client).destroy();
}

/** The types leave it out. */
function socketOf(client: pg.Client | PoolClient): Socket {
  return (client as unknown as { connection: { stream: Socket } }).connection.stream;
}
