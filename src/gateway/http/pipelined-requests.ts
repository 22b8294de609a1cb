import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Duplex } from 'node:stream';

/** Maximum number of requests in this process that wait for earlier ones of their connections. Each takes some KiB. */
const MAX_WAITING = 5_000;

type Answer = (incoming: IncomingMessage, outgoing: ServerResponse) => void;

/**
 * Answers the requests of a connection one after the other. While one is answered and another one has arrived, nothing more is read from the
 * connection: Node.js would begin all of them at once, and keep their answers.
 */
export class PipelinedRequests {
  readonly #answer: Answer;
  readonly #requestTimeoutMs: number;
  readonly #lines = new WeakMap<Duplex, Line>();
  readonly #counter = { waiting: 0 };

  constructor(answer: Answer, { requestTimeoutMs }: { readonly requestTimeoutMs: number }) {
    this.#answer = answer;
    this.#requestTimeoutMs = requestTimeoutMs;
  }

  add(incoming: IncomingMessage, outgoing: ServerResponse): void {
    const { socket } = incoming;
    let line = this.#lines.get(socket);
    if (!line) this.#lines.set(socket, (line = new Line(socket, this.#answer, this.#counter)));
    line.add(incoming, outgoing);
  }

  /**
   * Whether a request took long to arrive only because nothing was read from its connection. Node.js no longer watches it then: it must arrive
   * in the usual time after that.
   */
  isHeldBack(socket: Duplex): boolean {
    return this.#lines.get(socket)?.extend(this.#requestTimeoutMs) === true;
  }
}

type Exchange = readonly [IncomingMessage, ServerResponse];

/** The requests of one connection. */
class Line {
  readonly #socket: Duplex;
  readonly #answer: Answer;
  /** Of all connections. */
  readonly #counter: { waiting: number };
  #current: IncomingMessage | undefined;
  #waiting: Exchange[] = [];
  #extendedMs = 0;

  constructor(socket: Duplex, answer: Answer, counter: { waiting: number }) {
    this.#socket = socket;
    this.#answer = answer;
    this.#counter = counter;
  }

  add(...exchange: Exchange): void {
    if (!this.#current) return this.#begin(exchange);
    if (this.#counter.waiting >= MAX_WAITING) return void this.#socket.destroy();
    if (this.#waiting.length === 0) {
      // Reading the body of a request resumes the connection.
      this.#socket.on('resume', this.#holdBack);
      this.#socket.once('close', this.#leave);
    }
    this.#waiting.push(exchange);
    this.#counter.waiting += 1;
    this.#socket.pause();
    return undefined;
  }

  extend(ms: number): boolean {
    if (this.#waiting.length > 0) this.#extendedMs = ms;
    return this.#waiting.length > 0;
  }

  #begin(exchange: Exchange): void {
    const [incoming, outgoing] = exchange;
    this.#current = incoming;
    outgoing.once('close', this.#end);
    this.#answer(incoming, outgoing);
  }

  /** The next request begins in another iteration of the event loop, so that others are served between two of them. */
  readonly #end = (): void => {
    this.#current = undefined;
    if (this.#waiting.length > 0) setImmediate(this.#next);
  };

  readonly #next = (): void => {
    // After an answer with `Connection: close` there is no other one.
    if (this.#socket.writableEnded) this.#leave();
    const next = this.#waiting.shift();
    if (!next) return;
    this.#counter.waiting -= 1;
    if (this.#waiting.length === 0) this.#readOn();
    this.#begin(next);
  };

  #readOn(): void {
    this.#socket.off('resume', this.#holdBack).off('close', this.#leave).resume();
    if (this.#extendedMs > 0) setTimeout(this.#endIfLate, this.#extendedMs).unref();
    this.#extendedMs = 0;
  }

  /** The connection is waiting for the rest of a request that Node.js no longer watches. */
  readonly #endIfLate = (): void => {
    if (this.#current?.complete !== true) this.#socket.destroy();
  };

  readonly #holdBack = (): void => void this.#socket.pause();

  readonly #leave = (): void => {
    this.#counter.waiting -= this.#waiting.length;
    this.#waiting = [];
  };
}
