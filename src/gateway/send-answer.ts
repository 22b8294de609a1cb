import { once } from 'node:events';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { setTimeout as delay } from 'node:timers/promises';
import type { HttpAnswer } from '../core/http.ts';

/** A peer whose body was refused may go on sending for this long, or it would be reset before it has read the answer. */
const LINGER_MS = 2_000;
/** A larger answer leaves in parts, each when the one before has left. */
const PART_LENGTH = 128 * 1024;

/** Sends an answer that is there as a whole. */
export async function send(
  incoming: IncomingMessage,
  outgoing: ServerResponse,
  { status, headers }: HttpAnswer,
  body: Uint8Array | string,
): Promise<void> {
  // A HEAD or a 204 has no length of its own to tell.
  outgoing.writeHead(
    status,
    body.length > 0 ? { ...headers, 'Content-Length': String(Buffer.byteLength(body)) } : headers,
  );
  if (!incoming.complete) {
    if (body.length > 0) outgoing.write(body);
    incoming.resume();
    await Promise.race([once(incoming, 'close'), delay(LINGER_MS, undefined, { ref: false })]);
    outgoing.end();
  } else if (body.length > PART_LENGTH) {
    await sendInParts(body, outgoing);
  } else {
    // A text goes out in one write with the headers; as bytes it would be copied before.
    outgoing.end(body);
  }
}

/** Not with `pipeline`, which makes an iterator, an abort signal and its exception for each answer. @throws Error when the peer goes away. */
async function sendInParts(body: Uint8Array | string, outgoing: ServerResponse): Promise<void> {
  for (const part of partsOf(body)) if (!outgoing.write(part)) await happens('drain', outgoing);
  outgoing.end();
  if (!outgoing.writableFinished) await happens('finish', outgoing);
}

function happens(event: 'drain' | 'finish', outgoing: ServerResponse): Promise<void> {
  return new Promise((resolve, reject) => {
    const settle = () => {
      outgoing.off(event, settle).off('close', settle);
      if (outgoing.destroyed && !outgoing.writableFinished) reject(new Error('the peer went away'));
      else resolve();
    };
    outgoing.on(event, settle).on('close', settle);
    // The end of a connection that has ended already is not said again.
    if (outgoing.destroyed) settle();
  });
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
