import type { ExecutionResult } from 'graphql';
import type { HttpHeaders, HttpRequest } from '../../core/http/messages.ts';
import type { ApiKeyId } from '../../core/ids.ts';

/** A WebSocket, without its transport. */
export interface Socket {
  readonly protocol: string;
  /** The caller is known, and can send more. @returns false if the key has too many sockets. */
  admit(keyId: ApiKeyId): boolean;
  /** Resolves when the message was sent. */
  send(text: string): Promise<void>;
  close(code: number, reason: string): void;
  /** The listener resolves when the message was read. */
  onMessage(listener: (text: string) => Promise<void>): void;
}

/** The request that opened a socket. */
export type UpgradeRequest = Pick<HttpRequest, 'headers' | 'peerAddress'>;

/** Headers of the upgrade that also count for each operation. Not `Sec-Fetch-Site`: of a socket, `Origin` decides. */
const KEPT_HEADERS = [
  'authorization',
  'cookie',
  'host',
  'origin',
  'user-agent',
  'x-forwarded-for',
  'x-organization-id',
] as const;

/** The last member of a message with a result, whose JSON replaces it: parsing that could change numbers. */
const PLACE = 'JSON of the result';
const END_OF_RESULT = `"${PLACE}"}`;

/** An open socket with its running operations. */
export class Connection {
  readonly socket: Socket;
  readonly upgrade: UpgradeRequest;
  readonly running = new Set<AbortController>();
  readonly headers = new Map<string, string>();
  /** Undoes the admission; undefined until the caller is known. */
  release: (() => void) | undefined;
  isClosed = false;
  #json = '';
  #last: Promise<unknown> = Promise.resolve();

  constructor(socket: Socket, upgrade: UpgradeRequest) {
    this.socket = socket;
    this.upgrade = upgrade;
    for (const name of KEPT_HEADERS) {
      const value = upgrade.headers.get(name);
      if (value !== null) this.headers.set(name, value);
    }
  }

  /** Resolves or rejects as the message does, but after all earlier ones: a large one takes longer to read. */
  inOrder<Message>(message: Promise<Message>): Promise<Message> {
    // Without its result, which would have all earlier messages as long as the socket is open.
    this.#last = Promise.allSettled([this.#last, message]).then(() => undefined);
    return this.#last.then(() => message);
  }

  /** A payload whose JSON is `json`. */
  payloadOf(json: string): ExecutionResult & { toJSON(): string } {
    // The library serializes a message and sends it in one step, so that no other message comes between.
    return { data: null, toJSON: () => ((this.#json = json), PLACE) };
  }

  send(message: string): Promise<void> {
    const json = this.#json;
    this.#json = '';
    const isResult = json !== '' && message.endsWith(END_OF_RESULT);
    return this.socket.send(isResult ? `${message.slice(0, -END_OF_RESULT.length)}${json}}` : message);
  }

  close(): void {
    this.isClosed = true;
    this.release?.();
    this.release = undefined;
    for (const operation of this.running) operation.abort();
  }
}

interface OperationRequest {
  readonly headers: ReadonlyMap<string, string>;
  readonly signal: AbortSignal;
  readonly text?: string;
}

/** A request over HTTP that asks for the same. */
export const requestOf = (
  { upgrade: { peerAddress } }: Connection,
  { headers, signal, text }: OperationRequest,
): HttpRequest => ({
  method: text === undefined ? 'GET' : 'POST',
  url: 'http://gateway/graphql',
  headers: headersOf(headers),
  signal,
  // `Readable.from` would keep each message until the next major collection (docs/decisions/short-lived-objects.md).
  body: null,
  hasArrived: true,
  ...(text !== undefined && { takeArrived: () => Buffer.from(text) }),
  ...(peerAddress !== undefined && { peerAddress }),
});

export const headersOf = (fields: ReadonlyMap<string, string>): HttpHeaders => ({
  get: (name) => fields.get(name.toLowerCase()) ?? null,
  has: (name) => fields.has(name.toLowerCase()),
  keys: () => fields.keys(),
});
