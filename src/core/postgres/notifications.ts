import { randomUUID } from 'node:crypto';
import { sql as raw } from 'kysely';
import type { Client } from 'pg';
import type { Logger } from 'pino';
import { PROCESS_NAME } from '../version.ts';
import { DatabaseClient } from './driver/client.ts';
import { DatabaseAddress } from './driver/database-address.ts';
import { prepared, queriesOn } from './reading/queries.ts';
import type { Sql } from './reading/sql.ts';

/**
 * Notifies other code, in this process and in others on the same database, that something has changed. A notification
 * is only a topic without content. Subscribers read the database again, and also poll it, so a lost notification loses
 * no data.
 */
export interface Notifier {
  /** Returns at once; call it after the commit of the change. */
  publish(topic: string): void;
  /**
   * Calls `listener` for each notification, and once, without `isNotified`, after the connection was made or restored: some may have been
   * missed. Returns a function that unsubscribes.
   */
  subscribe(topic: string, listener: Listener): () => void;
  /** Whether notifications of other processes arrive now. */
  readonly isListening: boolean;
  close(): Promise<void>;
}

type Listener = (isNotified: boolean) => void;

const CHANNEL = 'gateway';
/** Notifications within this time are sent together, because commits with notifications wait for each other. */
const COALESCE_MS = 20;
/** PostgreSQL limits payloads to less than 8000 bytes. */
const TOPICS_PER_PAYLOAD = 100;
const RECONNECT_MS = 500;
const CONNECT_MS = 5_000;

/** Its transaction does not wait for the disk: after a crash of the database, listeners read everything again. */
const notification = prepared<{ payload: string }>()((value) =>
  queriesOn<object>().selectNoFrom([
    raw`set_config('synchronous_commit', 'off', true)`.as('unwaited'),
    raw`pg_notify(${raw.lit(CHANNEL)}, ${value('payload')})`.as('sent'),
  ]),
);

export interface NotifierOptions {
  readonly url: string;
  readonly sql: Sql;
  readonly log: Pick<Logger, 'warn'>;
  /** Called with errors of the listening connection. */
  readonly onError?: (error: unknown) => void;
}

export const createNotifier = (options: NotifierOptions): Notifier => new PostgresNotifier(options);

/** The listening connection is opened with the first subscription. */
class PostgresNotifier implements Notifier {
  readonly #options: NotifierOptions;
  readonly #address: DatabaseAddress;
  readonly #listeners = new Map<string, Set<Listener>>();
  readonly #outgoing = new Set<string>();
  /** Precedes the topics of a payload: a process ignores its own notifications, because it has already called its listeners. */
  readonly #origin = randomUUID();
  #timer: NodeJS.Timeout | undefined;
  #connection: Client | undefined;
  #isClosed = false;
  isListening = false;

  constructor(options: NotifierOptions) {
    this.#options = options;
    this.#address = new DatabaseAddress(options.url);
  }

  publish(topic: string): void {
    this.#wake(topic, true);
    this.#outgoing.add(topic);
    this.#timer ??= setTimeout(() => void this.#flush(), COALESCE_MS);
  }

  subscribe(topic: string, listener: Listener): () => void {
    const known = this.#listeners.get(topic) ?? new Set();
    this.#listeners.set(topic, known.add(listener));
    if (!this.#connection && !this.#isClosed) void this.#connect();
    return () => {
      known.delete(listener);
      if (known.size === 0 && this.#listeners.get(topic) === known) this.#listeners.delete(topic);
    };
  }

  async close(): Promise<void> {
    this.#isClosed = true;
    clearTimeout(this.#timer);
    await this.#flush();
    const client = this.#connection;
    this.#connection = undefined;
    await client?.end().catch(() => undefined);
  }

  #wake(topic: string, isNotified: boolean): void {
    for (const listener of this.#listeners.get(topic) ?? []) listener(isNotified);
  }

  async #flush(): Promise<void> {
    this.#timer = undefined;
    const topics = [...this.#outgoing];
    this.#outgoing.clear();
    for (let start = 0; start < topics.length; start += TOPICS_PER_PAYLOAD) {
      const payload = [this.#origin, ...topics.slice(start, start + TOPICS_PER_PAYLOAD)].join(' ');
      await this.#options.sql
        .all(notification({ payload }))
        .catch((error: unknown) => this.#options.log.warn({ err: error }, 'notification not sent'));
    }
  }

  async #connect(): Promise<void> {
    const client = this.#createClient();
    this.#connection = client;
    try {
      await client.connect();
      await client.query(`listen ${CHANNEL}`);
      this.isListening = true;
      // Notifications before this time may have been missed.
      for (const topic of this.#listeners.keys()) this.#wake(topic, false);
    } catch (error) {
      this.#report(error, 'cannot listen');
      await client.end().catch(() => undefined);
      this.#reconnect(client);
    }
  }

  #createClient(): Client {
    const client = new DatabaseClient({
      address: () => this.#address,
      application_name: `${PROCESS_NAME} listener`,
      keepAlive: true,
      connectionTimeoutMillis: CONNECT_MS,
    });
    client.on('notification', ({ payload = '' }) => {
      const [from, ...topics] = payload.split(' ');
      if (from !== this.#origin) for (const topic of topics) this.#wake(topic, true);
    });
    // Both a failed start and a later loss reach this code, once.
    client.once('end', () => this.#reconnect(client));
    client.on('error', (error) => {
      this.#report(error, 'listening connection lost');
      void client.end().catch(() => undefined);
    });
    return client;
  }

  #report(error: unknown, message: string): void {
    this.#options.onError?.(error);
    this.#options.log.warn({ err: error }, message);
  }

  #reconnect(lost: Client): void {
    if (this.#isClosed || this.#connection !== lost) return;
    this.#connection = undefined;
    this.isListening = false;
    setTimeout(() => {
      if (!this.#isClosed && this.#connection === undefined && this.#listeners.size > 0) void this.#connect();
    }, RECONNECT_MS).unref();
  }
}
