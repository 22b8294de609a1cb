import { IncomingMessage, type RequestListener, ServerResponse } from 'node:http';
import { Socket } from 'node:net';

/** A request as a listener of Node.js gets it. */
export interface NodeCall {
  readonly method: string;
  /** The address of the request: its scheme and host are those that the listener sees. */
  readonly url: URL;
  /** The part of the path in front of what the listener knows. */
  readonly mountPath: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
}

export interface NodeAnswer {
  readonly status: number;
  /** In lower case. */
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
}

/** Calls a listener of Node.js within the process, without a connection. Cookies of the answer are left out. */
export function callListener(listener: RequestListener, call: NodeCall): Promise<NodeAnswer> {
  const { method, url, mountPath, headers, body } = call;
  const socket = Object.assign(new Socket(), { encrypted: url.protocol === 'https:' });
  const request = new IncomingMessage(socket);
  const path = url.pathname + url.search;
  const length = body === '' ? {} : { 'content-length': String(Buffer.byteLength(body)) };
  Object.assign(request, { method, url: path, originalUrl: mountPath + path });
  request.headers = { ...headers, ...length, host: url.host };
  if (body !== '') request.push(body);
  request.push(null);
  const response = new ServerResponse(request);
  return new Promise((resolve) => {
    const parts: Buffer[] = [];
    const write = (part: unknown): boolean => {
      if (typeof part === 'string' || part instanceof Uint8Array) parts.push(Buffer.from(part));
      return true;
    };
    const end = (part: unknown): ServerResponse => {
      write(part);
      resolve({ status: response.statusCode, headers: headersOf(response), body: Buffer.concat(parts).toString() });
      response.destroy();
      socket.destroy();
      return response;
    };
    Object.assign(response, { write, end });
    listener(request, response);
  });
}

function headersOf(response: ServerResponse): Record<string, string> {
  const given = Object.entries(response.getHeaders()).filter(([name]) => name !== 'set-cookie');
  return Object.fromEntries(given.map(([name, value]) => [name, String(value)]));
}

/** The error with which an authorization leads back to its client; it is in the fragment for some response types. */
export function errorIn({ headers }: NodeAnswer): string | undefined {
  const location = headers['location'];
  if (location === undefined || !URL.canParse(location)) return undefined;
  const { searchParams, hash } = new URL(location);
  const inFragment = new URLSearchParams(hash.slice(1));
  const given = searchParams.has('error') ? searchParams : inFragment;
  return given.get('error_description') ?? given.get('error') ?? undefined;
}
