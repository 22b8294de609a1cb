import { once } from 'node:events';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { pipeline } from 'node:stream/promises';
import { setTimeout as delay } from 'node:timers/promises';
import type { HttpAnswer } from '../../core/http/messages.ts';

/** A larger answer leaves in parts, each when the one before has left. */
export const PART_LENGTH = 256 * 1024;
/** How often within its time a peer is looked at, whether it reads. */
const LOOKS = 4;

/**
 * Sends an answer that is there as a whole. Ends when it has left, or its peer is gone.
 * A peer that takes no part for `unreadTimeoutMs` is cut off, whatever it sends meanwhile; one whose body was refused may go on sending for
 * `lingerMs`.
 */
export async function send(
  incoming: IncomingMessage,
  outgoing: ServerResponse,
  { status, headers, body: given, bytes }: HttpAnswer & { readonly body: Uint8Array | string | null },
  { unreadTimeoutMs, lingerMs }: { readonly unreadTimeoutMs: number; readonly lingerMs: number },
): Promise<void> {
  const body = given ?? '';
  const length = bytes ?? Buffer.byteLength(body);
  // A HEAD or a 204 has no body whose length could be given.
  outgoing.writeHead(status, length > 0 ? { ...headers, 'Content-Length': String(length) } : headers);
  // As many bytes as characters: the text is ASCII. Node reserves three bytes per character for a text that it writes as UTF-8.
  const encoding = typeof body === 'string' && body.length === length ? 'latin1' : 'utf8';
  if (!incoming.complete) {
    if (length > 0) outgoing.write(body, encoding);
    incoming.resume();
    await Promise.race([once(incoming, 'close'), delay(lingerMs, undefined, { ref: false })]);
    outgoing.end();
  } else if (body.length > PART_LENGTH) {
    await sendParts(outgoing, encoding === 'latin1' ? bytesInParts(String(body)) : partsOf(body), unreadTimeoutMs);
  } else {
    outgoing.setTimeout(unreadTimeoutMs);
    // A text goes out in one write with the headers; as bytes it would be copied before.
    outgoing.end(body, encoding);
  }
}

/** Sends an answer as it comes. Ends when it has left, or its peer is gone. A quiet stream is not cut off: nothing waits to be read. */
export async function sendStream(
  outgoing: ServerResponse,
  { status, headers }: HttpAnswer,
  body: AsyncIterable<Uint8Array>,
  unreadTimeoutMs: number,
): Promise<void> {
  outgoing.writeHead(status, headers);
  await sendParts(outgoing, eachInParts(body), unreadTimeoutMs);
}

async function sendParts(
  outgoing: ServerResponse,
  parts: Iterable<Uint8Array | string> | AsyncIterable<Uint8Array>,
  unreadTimeoutMs: number,
): Promise<void> {
  let taken = -1;
  let unreadMs = 0;
  // Not the socket's own timeout: what the peer sends would put that off.
  const lookMs = unreadTimeoutMs / LOOKS;
  const watch = setInterval(() => {
    const { bytesWritten = 0, writableLength: waiting = 0 } = outgoing.socket ?? {};
    unreadMs = waiting > 0 && bytesWritten - waiting === taken ? unreadMs + lookMs : 0;
    taken = bytesWritten - waiting;
    if (unreadMs >= unreadTimeoutMs) outgoing.destroy();
  }, lookMs).unref();
  try {
    await pipeline(parts, outgoing);
  } finally {
    clearInterval(watch);
  }
}

async function* eachInParts(body: AsyncIterable<Uint8Array>): AsyncGenerator<Uint8Array, void, undefined> {
  for await (const chunk of body) yield* partsOf(chunk);
}

function partsOf(body: Uint8Array): Generator<Uint8Array, void, undefined>;
function partsOf(body: Uint8Array | string): Generator<Uint8Array | string, void, undefined>;
function* partsOf(body: Uint8Array | string): Generator<Uint8Array | string, void, undefined> {
  for (let start = 0; start < body.length;) {
    let end = start + PART_LENGTH;
    // A character of two halves stays in one part.
    if (typeof body === 'string' && isHighSurrogate(body.charCodeAt(end - 1))) end += 1;
    yield typeof body === 'string' ? body.slice(start, end) : body.subarray(start, end);
    start = end;
  }
}

/** The parts of an ASCII text. */
function* bytesInParts(text: string): Generator<Uint8Array, void, undefined> {
  for (let start = 0; start < text.length; start += PART_LENGTH)
    yield Buffer.from(text.slice(start, start + PART_LENGTH), 'latin1');
}

function isHighSurrogate(unit: number): boolean {
  return unit >= 0xd8_00 && unit <= 0xdb_ff;
}
