import type { Connection, Submittable } from 'pg';
import { serialize } from 'pg-protocol';
import { prepareValue } from 'pg/lib/utils.js';
import { type Field, type ReadRow, compiledRowReader, rowReader } from './row-readers.ts';

/** A private member of the driver: the texts of its prepared statements, by their names. */
interface PreparingConnection extends Connection {
  readonly parsedStatements: Readonly<Record<string, string>>;
}

/** The readers of the prepared statements of a connection, by their names. */
const READERS = new WeakMap<Connection, Map<string, ReadRow>>();

export interface StatementOptions {
  /** The name under which each connection prepares it; without one it is parsed each time. One name has one text. */
  readonly name: string | undefined;
  readonly text: string;
  readonly values: readonly unknown[];
  /** Called with the size of each row before it is read. If it throws, the statement fails with that error, and no further row is read. */
  readonly onBytes?: ((bytes: number) => void) | undefined;
  /** Whether columns of the type `json` are returned as text; the same for each use of a name. */
  readonly jsonAsText?: boolean | undefined;
}

type Callback = (error: unknown, query?: StatementQuery) => void;

/**
 * A statement that `client.query` sends instead of an object of the driver's own class. It takes a third less time:
 * PostgreSQL describes the rows of a prepared statement once for each connection instead of at each execution, and
 * compiled code creates them. PostgreSQL refuses a prepared statement whose columns have changed, so a description
 * stays valid.
 */
export class StatementQuery implements Submittable {
  readonly name: string | undefined;
  readonly text: string;
  readonly values: (string | Buffer | null)[];
  readonly rows: object[] = [];
  /** Set by the client. */
  callback: Callback | undefined;
  readonly #onBytes: StatementOptions['onBytes'];
  readonly #jsonAsText: boolean;
  #connection: Connection | undefined;
  #read: ReadRow | undefined;
  #failure: unknown;

  constructor({ name, text, values, onBytes, jsonAsText = false }: StatementOptions) {
    this.name = name;
    this.text = text;
    this.values = values.map(sentValue);
    this.#onBytes = onBytes;
    this.#jsonAsText = jsonAsText;
  }

  /** @returns the error if it cannot be sent. */
  submit(connection: Connection): Error | undefined {
    const { name = '', text } = this;
    const prepared = name ? (connection as PreparingConnection).parsedStatements[name] : undefined;
    const isPrepared = prepared !== undefined;
    if (isPrepared && prepared !== text) return new Error(`the name ${name} is that of another prepared statement`);
    this.#connection = connection;
    this.#read = isPrepared ? READERS.get(connection)?.get(name) : undefined;
    const messages = isPrepared ? [] : [serialize.parse({ name, text, types: [] })];
    messages.push(serialize.bind({ statement: name, values: this.values }));
    if (!this.#read) messages.push(serialize.describe({ type: 'P' }));
    messages.push(serialize.execute(), serialize.sync());
    // A closed connection ends the statement with an error.
    if (connection.stream.writable) writeAll(connection.stream, messages);
    return undefined;
  }

  handleRowDescription({ fields }: { readonly fields: readonly Field[] }): void {
    if (this.name === undefined || !this.#connection) {
      this.#read = rowReader(fields, this.#jsonAsText);
      return;
    }
    this.#read = compiledRowReader(fields, this.#jsonAsText);
    let readers = READERS.get(this.#connection);
    if (!readers) READERS.set(this.#connection, (readers = new Map<string, ReadRow>()));
    readers.set(this.name, this.#read);
  }

  handleDataRow({ fields, length }: { readonly fields: readonly (string | null)[]; readonly length: number }): void {
    if (this.#failure !== undefined || !this.#read) return;
    try {
      // The message has a length of four bytes, a count of two, and a length of four for each column.
      this.#onBytes?.(length - 6 - 4 * fields.length);
      this.rows.push(this.#read(fields));
    } catch (error) {
      this.#failure = error;
    }
  }

  handleReadyForQuery(): void {
    this.callback?.(this.#failure, this);
  }

  handleError(error: unknown): void {
    // Errors of a connection that was closed because of the failure are only a consequence.
    this.callback?.(this.#failure ?? error);
  }

  handleCommandComplete(): void {
    // Its rows are complete when the connection is ready for the next statement.
  }

  handleEmptyQuery(): void {
    // Statements have a text.
  }

  handlePortalSuspended(): void {
    // All rows are requested at once.
  }
}

/** The driver allocates a kilobyte for a time. PostgreSQL reads no years with a sign, and no year 0. */
function sentValue(value: unknown): string | Buffer | null {
  if (!(value instanceof Date)) return prepareValue(value);
  const text = value.toISOString();
  return /^(?!0000)\d/.test(text) ? text : prepareValue(value);
}

const COPIED_BYTES = 16 * 1024;

/**
 * One system call for several messages takes less time than several. Small messages are copied for it, because that
 * takes less time still.
 */
function writeAll(stream: Connection['stream'], messages: readonly Buffer[]): void {
  if (messages.reduce((sum, { length }) => sum + length, 0) <= COPIED_BYTES) {
    stream.write(Buffer.concat(messages));
    return;
  }
  stream.cork();
  for (const message of messages) stream.write(message);
  stream.uncork();
}
