import type { Connection, Submittable } from 'pg';
import type { DatabaseClient } from './client.ts';

/** So much waits for a slow target, before the source waits too. */
const MAX_WAITING_BYTES = 1024 * 1024;

/** The driver leaves COPY to others, and has what it needs: these are private members of its connections. */
interface CopyingConnection extends Connection {
  sendCopyFromChunk(chunk: Buffer): void;
  endCopyFrom(): void;
}

abstract class Copy implements Submittable {
  readonly text: string;
  /** Set by the client. */
  callback: ((error: unknown, copy?: Copy) => void) | undefined;

  constructor(text: string) {
    this.text = text;
  }

  submit(connection: Connection): void {
    connection.query(this.text);
  }

  handleReadyForQuery(): void {
    this.callback?.(null, this);
  }

  handleError(error: unknown): void {
    this.callback?.(error);
  }

  handleCommandComplete(): void {
    // The connection then says that it is ready for the next statement.
  }
}

/** COPY FROM STDIN. */
class CopyIn extends Copy {
  readonly #began = Promise.withResolvers<CopyingConnection>();
  /** The connection, which takes the rows. */
  readonly began = this.#began.promise;

  handleCopyInResponse(connection: CopyingConnection): void {
    this.#began.resolve(connection);
  }
}

/** COPY TO STDOUT. */
class CopyOut extends Copy {
  readonly #onRow: (row: Buffer, connection: Connection) => void;

  constructor(text: string, onRow: (row: Buffer, connection: Connection) => void) {
    super(text);
    this.#onRow = onRow;
  }

  handleCopyData({ chunk }: { readonly chunk: Buffer }, connection: Connection): void {
    this.#onRow(chunk, connection);
  }
}

interface Statements {
  /** `copy … to stdout` */
  readonly out: string;
  /** `copy … from stdin`, in the same format */
  readonly in: string;
  readonly onRow: () => void;
}

/** Copies rows from one server to another one, as they arrive. If it fails, both connections must be cut. */
export async function copyRows(from: DatabaseClient, to: DatabaseClient, statements: Statements): Promise<void> {
  const input = new CopyIn(statements.in);
  const inserted: Promise<unknown> = to.query(input);
  const target = await Promise.race([
    input.began,
    inserted.then(() => Promise.reject(new Error('no rows were asked for'))),
  ]);
  const output = new CopyOut(statements.out, (row, source) => {
    target.sendCopyFromChunk(row);
    statements.onRow();
    if (target.stream.writableLength < MAX_WAITING_BYTES || source.stream.isPaused()) return;
    source.stream.pause();
    target.stream.once('drain', () => source.stream.resume());
  });
  const read: Promise<unknown> = from.query(output);
  await Promise.all([read.then(() => target.endCopyFrom()), inserted]);
}
