import { Socket } from 'node:net';
import type { Duplex } from 'node:stream';
import pg, { type PoolClient } from 'pg';
import type { Message } from 'pg-protocol/dist/parser.js';
import type { DatabaseAddress } from './database-address.ts';
import { RowParser } from './row-parser.ts';
import { FAILED, SENT } from './statement-channels.ts';
import type { StatementQuery } from './statement-query.ts';

export interface ClientOptions extends pg.ClientConfig {
  /** Where to connect to, in place of `connectionString`. A function, because the mapper copies objects. */
  readonly address?: (() => DatabaseAddress) | undefined;
  /** Called before the connection is opened: the error that it fails with, if there is one. */
  readonly refusal?: (() => Error | undefined) | undefined;
  /** Statements that are sent when the connection is open: some proxies and poolers refuse settings as startup parameters. */
  readonly session?: string | undefined;
  /** Closes the connection of a statement that takes longer. The server then rolls back. */
  readonly statementMs?: number | undefined;
}

type Callback = (error: unknown, result?: unknown) => void;

/** A connection to PostgreSQL. It reads rows faster than that of the driver, and publishes its statements and failures. */
export class DatabaseClient extends pg.Client {
  readonly #options: ClientOptions;
  #isUnconfirmed = false;
  /** Set by the pool. */
  declare release?: PoolClient['release'];

  constructor(options: ClientOptions = {}) {
    super({ ...options, ...options.address?.().options });
    this.#options = options;
    readRowsFast(this.connection);
    // Without a listener, the loss of a connection would end the process.
    this.on('error', (error) => FAILED.publish({ options, error }));
    this.on('notice', ({ routine }) => {
      if (routine === 'SyncRepWaitForLSN') this.#isUnconfirmed = true;
    });
  }

  /** The client of a connection from a pool. */
  static of(client: pg.ClientBase): DatabaseClient {
    if (client instanceof DatabaseClient) return client;
    throw new TypeError('the pool creates other clients');
  }

  override connect(callback?: (error: never, client: never) => void): Promise<DatabaseClient> {
    // It gets null or any error.
    const settle = callback as Callback | undefined;
    const refusal = this.#options.refusal?.();
    const connected = refusal ? Promise.reject(refusal) : this.#open();
    connected.then(
      () => settle?.(null),
      (error: unknown) => {
        // The pool only forgets a client that cannot connect.
        this.cut();
        this.#options.address?.().refresh();
        FAILED.publish({ options: this.#options, error });
        settle?.(error);
      },
    );
    return connected;
  }

  async #open(): Promise<this> {
    await super.connect();
    if (this.#options.session !== undefined) await this.#send(this.#options.session);
    return this;
  }

  /** Returns `never`, because the driver declares another result for each form of the arguments. */
  override query(...given: unknown[]): never {
    const [query, second] = given;
    const text = typeof query === 'string' ? query : (query as { readonly text: string }).text;
    const done = this.#send(query, isCallback(second) ? undefined : second).catch((error: unknown) =>
      this.#afterFailure(error, text),
    );
    if (SENT.hasSubscribers) SENT.publish({ options: this.#options, text, values: valuesOf(query, second), done });
    const callback = given.at(-1);
    if (!isCallback(callback)) return done as never;
    done.then((result) => callback(null, result), callback);
    return undefined as never;
  }

  /** Runs a statement, whose rows are complete when the promise is fulfilled. */
  run(statement: StatementQuery): Promise<unknown> {
    return this.query(statement);
  }

  /** Closes the connection at once. `end` would wait for a peer that may not answer. */
  cut(): void {
    this.connection.stream.destroy();
  }

  /** Lets the process end while the connection is open. */
  detach(): void {
    const { stream } = this.connection;
    if (stream instanceof Socket) stream.unref();
  }

  /** The number of bytes received so far. */
  get bytesRead(): number {
    const { stream } = this.connection;
    return stream instanceof Socket ? stream.bytesRead : 0;
  }

  /**
   * The driver would create the promise with a function expression that it assigns to a property, which V8 allocates as
   * an old object: the rows of each statement would stay until the next major collection
   * (docs/decisions/short-lived-objects.md).
   */
  #send(query: unknown, values?: unknown): Promise<unknown> {
    return new Promise((resolve, reject) => {
      const { statementMs } = this.#options;
      const timer = statementMs === undefined ? undefined : setTimeout(() => this.cut(), statementMs);
      const settle: Callback = (error, result) => {
        clearTimeout(timer);
        if (error) reject(error);
        else if (this.#isUnconfirmed) reject(this.#unconfirmed());
        else resolve(result);
      };
      this.#sendAsDriver(query, values, settle);
    });
  }

  #sendAsDriver(...given: unknown[]): unknown {
    // Its type has one overload for each form of the arguments.
    const query: (...arguments_: unknown[]) => unknown = super.query.bind(this);
    return query(...given);
  }

  /**
   * Under synchronous replication a commit waits for a standby. If a timeout ends that wait, PostgreSQL reports success
   * with a warning, which the driver ignores. Such a commit must not be acknowledged.
   */
  #unconfirmed(): Error {
    this.#isUnconfirmed = false;
    return new UnconfirmedCommitError();
  }

  /**
   * The query builder never releases a connection whose `begin` or `rollback` has failed, which would shrink the pool. This releases it if
   * `begin` fails, and lets `rollback` always succeed: a lost connection has been rolled back, and the pool discards it.
   */
  #afterFailure(error: unknown, text: string): unknown {
    FAILED.publish({ options: this.#options, error });
    if (text === 'rollback') {
      this.end().catch(() => undefined);
      return { command: 'ROLLBACK', rowCount: null, rows: [] };
    }
    if (/^(?:begin|start transaction)\b/.test(text)) this.release?.(error instanceof Error ? error : true);
    // The stack of the caller instead of that of the socket.
    if (error instanceof Error) Error.captureStackTrace(error);
    throw error;
  }
}

/** A transaction that no standby has confirmed; SQLSTATE 08007, transaction resolution unknown. */
class UnconfirmedCommitError extends Error {
  override readonly name = 'UnconfirmedCommitError';
  readonly code = '08007';

  constructor() {
    super('the wait for a synchronous standby was canceled; the transaction may be lost with the primary');
  }
}

/** The values of a statement, which its caller gives beside the text or with it. */
function valuesOf(query: unknown, second: unknown): readonly unknown[] {
  if (Array.isArray(second)) return second;
  return (query as { readonly values?: readonly unknown[] }).values ?? [];
}

const isCallback = (given: unknown): given is Callback => typeof given === 'function';

/**
 * The driver calls this private method when the stream is open, with TLS if that is used. Without the call, the driver
 * reads the rows itself.
 */
function readRowsFast(connection: pg.Connection): void {
  const attachListeners = (stream: Duplex) => {
    const parser = new RowParser();
    const emit = (message: Message) =>
      connection.emit(message.name === 'error' ? 'errorMessage' : message.name, message);
    stream.on('data', (bytes: Buffer) => parser.parse(bytes, emit));
  };
  Object.assign(connection, { attachListeners });
}
