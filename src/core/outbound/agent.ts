import type { LookupFunction, Socket } from 'node:net';
import { Agent, type Dispatcher, buildConnector } from 'undici';
import { USER_AGENT } from '../version.ts';

/** The connections to other servers: what each request says of us, and what each answer may begin with. */

export interface ConnectOptions {
  readonly lookup: LookupFunction;
  /** Until the connection is established, including TLS. */
  readonly timeout: number;
}

export function createAgent({ lookup, timeout }: ConnectOptions): Dispatcher {
  // With `autoSelectFamily` the lookup is always asked for all addresses.
  const connector = buildConnector({ lookup, timeout, autoSelectFamily: true, allowH2: false });
  const connect: buildConnector.connector = (options, callback) =>
    connector(options, (...result) => {
      const [error, socket] = result;
      if (error === null) callback(null, skippingContinue(socket));
      else callback(error, null);
    });
  return new Agent({ connect, allowH2: false }).compose(
    (dispatch) => (options, handler) =>
      // Requests of this folder give their headers as an object, like fetch of undici.
      dispatch({ ...options, headers: ownHeaders(options.headers as Readonly<Record<string, string>>) }, handler),
  );
}

/** What fetch of undici adds, which belongs to browsers; firewalls refuse it from servers. */
const ADDED_BY_FETCH: Readonly<Record<string, string>> = {
  'sec-fetch-mode': 'cors',
  'accept-language': '*',
  'user-agent': 'undici',
};

function ownHeaders(given: Readonly<Record<string, string>>): Record<string, string> {
  const headers = Object.entries(given).filter(([name, value]) => ADDED_BY_FETCH[name.toLowerCase()] !== value);
  const hasAgent = headers.some(([name]) => name.toLowerCase() === 'user-agent');
  return { ...(!hasAgent && { 'user-agent': USER_AGENT }), ...Object.fromEntries(headers) };
}

const CONTINUE = /^HTTP\/1\.[01] 100$/;
const STATUS_LENGTH = 12;
const END_OF_HEAD = '\r\n\r\n';
const MAX_HEAD = 16_384;

/**
 * Drops `100 Continue` before an answer. A server may send it without being asked (RFC 9110, section 15.2), and the parser of undici closes the
 * connection then. An answer begins with the first bytes after a request was written.
 */
function skippingContinue(socket: Socket): Socket {
  const push = socket.push.bind(socket);
  const write = socket.write.bind(socket);
  let held: Buffer | undefined;
  const writing = (...args: Parameters<typeof write>) => {
    held ??= Buffer.alloc(0);
    return write(...args);
  };
  const pushing = (chunk: unknown, encoding?: BufferEncoding): boolean => {
    if (!held) return push(chunk, encoding);
    const rest = chunk instanceof Uint8Array ? withoutContinue(Buffer.concat([held, chunk])) : held;
    const isUndecided = chunk !== null && isBeginningOfContinue(rest);
    held = isUndecided ? rest : undefined;
    if (isUndecided) return true;
    if (rest.length > 0) push(rest);
    return chunk === null ? push(null) : true;
  };
  return Object.assign(socket, { write: writing, push: pushing });
}

function withoutContinue(bytes: Buffer): Buffer {
  let rest = bytes;
  while (CONTINUE.test(rest.toString('latin1', 0, STATUS_LENGTH))) {
    const end = rest.indexOf(END_OF_HEAD);
    if (end < 0) break;
    rest = rest.subarray(end + END_OF_HEAD.length);
  }
  return rest;
}

/** Whether more bytes must arrive before it is known that an answer is not `100 Continue`. */
function isBeginningOfContinue(bytes: Buffer): boolean {
  const status = bytes.toString('latin1', 0, STATUS_LENGTH);
  if (status.length === STATUS_LENGTH) return CONTINUE.test(status) && bytes.length < MAX_HEAD;
  return ['HTTP/1.1 100', 'HTTP/1.0 100'].some((line) => line.startsWith(status));
}
