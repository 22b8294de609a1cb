import { once } from 'node:events';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { pipeline } from 'node:stream/promises';
import { setTimeout as delay } from 'node:timers/promises';
import type { HttpAnswer } from '../core/http.ts';

/** A larger answer leaves in parts, each when the one before has left. */
const PART_LENGTH = 128 * 1024;

/** Sends an answer that is there as a whole. */
export async function send(
  incoming: IncomingMessage,
  outgoing: ServerResponse,
  { status, headers }: HttpAnswer,
  body: Uint8Array | string,
  lingerMs: number,
): Promise<void> {
  // A HEAD or a 204 has no length of its own to tell.
  outgoing.writeHead(
    status,
    body.length > 0 ? { ...headers, 'Content-Length': String(Buffer.byteLength(body)) } : headers,
  );
  if (!incoming.complete) {
    if (body.length > 0) outgoing.write(body);
    incoming.resume();
    await Promise.race([once(incoming, 'close'), delay(lingerMs, undefined, { ref: false })]);
    outgoing.end();
  } else if (body.length > PART_LENGTH) {
    await pipeline(partsOf(body), outgoing);
  } else {
    // A text goes out in one write with the headers; as bytes it would be copied before.
    outgoing.end(body);
  }
}

function* partsOf(body: Uint8Array | string): Generator<Uint8Array | string, void, undefined> {
  for (let start = 0; start < body.length;) {
    let end = start + PART_LENGTH;
    // A character of two halves stays in one part.
    if (typeof body === 'string' && isHighSurrogate(body.charCodeAt(end - 1))) end += 1;
    yield body.slice(start, end);
    start = end;
  }
}

function isHighSurrogate(unit: number): boolean {
  return unit >= 0xd8_00 && unit <= 0xdb_ff;
}
