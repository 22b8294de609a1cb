import { randomUUID } from 'node:crypto';
import { sql as raw } from 'kysely';
import pg from 'pg';
import type { Logger } from 'pino';
import { prepared, queriesOn } from './queries.ts';
import type { Sql } from './sql.ts';

/**
 * Notifies other parts of the system, in this process and in others on the same database, that something has happened: a topic, no content.
 * A hint, not a queue: who is notified reads the store again, and reads it now and then without a notification. So nothing is lost when a
 * notification is.
 */
export interface Notifier {
  /** Returns at once; to be called after the commit of the change. */
  publish(topic: string): void;
  /** Calls `listener` for each notification, and once after a connection was lost and found. Returns how to end that. */
  subscribe(topic: string, listener: () => void): () => void;
  close(): Promise<void>;
}

const CHANNEL = 'gateway';
/** Notifications that come together leave together, because commits that notify wait for each other. */
const COALESCE_MS = 5;
/** PostgreSQL takes payloads below 8000 bytes. */
const TOPICS_PER_PAYLOAD = 100;
const RECONNECT_MS = 500;
const CONNECT_MS = 5_000;

const notification = prepared<{ payload: string }>()((value) =>
  queriesOn<object>().selectNoFrom(raw`pg_notify(${raw.lit(CHANNEL)}, ${value('payload')})`.as('sent')),
);

export interface NotifierOptions {
  readonly url: string;
  readonly sql: Sql;
  readonly log: Pick<Logger, 'warn'>;
  /** Sees errors of the connection that listens. */
  readonly onError?: (error: unknown) => void;
}

/** The connection that listens is opened with the first subscription. */
export function createNotifier({ url, sql, log, onError }: NotifierOptions): Notifier {
  const listeners = new Map<string, Set<() => void>>();
  const outgoing = new Set<string>();
  /** Goes ahead of the topics: who publishes has woken its own listeners. */
  const origin = randomUUID();
  let timer: NodeJS.Timeout | undefined;
  let connection: pg.Client | undefined;
  let closed = false;

  const wake = (topic: string) => {
    for (const listener of listeners.get(topic) ?? []) listener();
  };

  async function flush(): Promise<void> {
    timer = undefined;
    const topics = [...outgoing];
    outgoing.clear();
    for (let start = 0; start < topics.length; start += TOPICS_PER_PAYLOAD) {
      const payload = [origin, ...topics.slice(start, start + TOPICS_PER_PAYLOAD)].join(' ');
      await sql
        .all(notification({ payload }))
        .catch((error: unknown) => log.warn({ err: error }, 'notification not sent'));
    }
  }

  async function connect(): Promise<void> {
    const client = new pg.Client({
      connectionString: url,
      application_name: 'gateway listener',
      keepAlive: true,
      connectionTimeoutMillis: CONNECT_MS,
    });
    connection = client;
    client.on('notification', ({ payload = '' }) => {
      const [from, ...topics] = payload.split(' ');
      if (from !== origin) topics.forEach(wake);
    });
    // Both a failed start and a later loss end here, once.
    client.once('end', () => reconnect(client));
    client.on('error', (error) => {
      onError?.(error);
      log.warn({ err: error }, 'listening connection lost');
      void client.end().catch(() => undefined);
    });
    try {
      await client.connect();
      await client.query(`listen ${CHANNEL}`);
      // What happened before this moment may have been missed.
      for (const topic of listeners.keys()) wake(topic);
    } catch (error) {
      onError?.(error);
      log.warn({ err: error }, 'cannot listen');
      await client.end().catch(() => undefined);
      reconnect(client);
    }
  }

  function reconnect(lost: pg.Client): void {
    if (closed || connection !== lost) return;
    connection = undefined;
    setTimeout(() => {
      if (!closed && connection === undefined && listeners.size > 0) void connect();
    }, RECONNECT_MS).unref();
  }

  return {
    publish(topic) {
      wake(topic);
      outgoing.add(topic);
      timer ??= setTimeout(() => void flush(), COALESCE_MS);
    },
    subscribe(topic, listener) {
      const known = listeners.get(topic) ?? new Set();
      listeners.set(topic, known.add(listener));
      if (!connection && !closed) void connect();
      return () => {
        known.delete(listener);
        if (known.size === 0 && listeners.get(topic) === known) listeners.delete(topic);
      };
    },
    async close() {
      closed = true;
      clearTimeout(timer);
      await flush();
      const client = connection;
      connection = undefined;
      await client?.end().catch(() => undefined);
    },
  };
}
