import { once } from 'node:events';
import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Duplex } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { setTimeout as delay } from 'node:timers/promises';
import { PART_LENGTH } from '../../core/answer-memory.ts';
import type { HttpAnswer } from '../../core/http/messages.ts';
import { discard } from './linger.ts';

/** An answer of up to this length is copied, so that it is one string with its headers. */
const COPIED_LENGTH = 16 * 1024;
/** How often within the timeout it is checked whether the peer reads. */
const LOOKS = 4;

/**
 * Sends a complete answer. Resolves when it was sent, or the peer has disconnected. A peer that reads nothing for `unreadTimeoutMs` is
 * disconnected, even when it sends data. A peer whose body was refused can continue to send for `lingerMs`.
 */
export async function send(
  incoming: IncomingMessage,
  outgoing: ServerResponse,
  { status, headers, body: given, bytes }: HttpAnswer & { readonly body: Uint8Array | string | null },
  { unreadTimeoutMs, lingerMs }: { readonly unreadTimeoutMs: number; readonly lingerMs: number },
): Promise<void> {
  const length = bytes ?? Buffer.byteLength(given ?? '');
  const body = compact(given ?? '', length);
  // Answers to HEAD and with status 204 have no body, and no Content-Length.
  outgoing.writeHead(status, length > 0 ? { ...headers, 'Content-Length': String(length) } : headers);
  // As many bytes as characters: the text is ASCII. Node reserves three bytes per character for a text that it writes as UTF-8.
  const encoding = typeof body === 'string' && body.length === length ? 'latin1' : 'utf8';
  if (length > PART_LENGTH) {
    discard(incoming);
    await sendParts(outgoing, partsOf(body), unreadTimeoutMs);
  } else if (!incoming.complete) {
    if (length > 0) outgoing.write(body, encoding);
    discard(incoming);
    await Promise.race([once(incoming, 'close'), delay(lingerMs, undefined, { ref: false })]);
    outgoing.end();
  } else {
    outgoing.setTimeout(unreadTimeoutMs);
    // Short ones are sent as one string with the headers. Of a long one that string would be another copy.
    if (length > COPIED_LENGTH) {
      outgoing.cork();
      outgoing.flushHeaders();
    }
    outgoing.end(body, encoding);
  }
}

/**
 * Sends a stream. Resolves when it was sent, or the peer has disconnected. An idle stream is not disconnected, because
 * nothing is unread.
 */
export async function sendStream(
  outgoing: ServerResponse,
  { status, headers }: HttpAnswer,
  body: AsyncIterable<Uint8Array>,
  unreadTimeoutMs: number,
): Promise<void> {
  outgoing.writeHead(status, headers);
  // The first part may come much later.
  outgoing.flushHeaders();
  await sendParts(outgoing, eachInParts(body), unreadTimeoutMs);
}

async function sendParts(
  outgoing: ServerResponse,
  parts: Iterable<Uint8Array> | AsyncIterable<Uint8Array>,
  unreadTimeoutMs: number,
): Promise<void> {
  await whileRead(outgoing, unreadTimeoutMs, () => pipeline(parts, outgoing));
}

/** Sends something, and destroys the stream if its peer reads nothing for `unreadTimeoutMs` meanwhile. */
export async function whileRead(
  outgoing: Duplex | ServerResponse,
  unreadTimeoutMs: number,
  sending: () => Promise<void>,
): Promise<void> {
  let taken = -1;
  let unreadMs = 0;
  // The timeout of the socket cannot be used, because data from the peer would reset it.
  const lookMs = unreadTimeoutMs / LOOKS;
  const watch = setInterval(() => {
    const { bytesWritten = 0, writableLength: waiting = 0 } = connectionOf(outgoing);
    unreadMs = waiting > 0 && bytesWritten - waiting === taken ? unreadMs + lookMs : 0;
    taken = bytesWritten - waiting;
    if (unreadMs >= unreadTimeoutMs) outgoing.destroy();
  }, lookMs).unref();
  try {
    await sending();
  } finally {
    clearInterval(watch);
  }
}

/** The connection of an answer, or of a WebSocket. */
const connectionOf = (outgoing: Duplex | ServerResponse): { bytesWritten?: number; writableLength?: number } =>
  'socket' in outgoing ? (outgoing.socket ?? {}) : outgoing;

async function* eachInParts(body: AsyncIterable<Uint8Array>): AsyncGenerator<Uint8Array, void, undefined> {
  for await (const chunk of body) yield* partsOf(chunk);
}

/** A large text that is not ASCII as bytes: it takes two bytes per character while it waits to be read, and cannot be split anywhere. */
export const compact = <Body>(body: Body, bytes: number): Body | Uint8Array =>
  typeof body === 'string' && bytes > PART_LENGTH && body.length !== bytes ? Buffer.from(body) : body;

/** A text must be ASCII. */
function* partsOf(body: Uint8Array | string): Generator<Uint8Array, void, undefined> {
  for (let start = 0; start < body.length; start += PART_LENGTH) {
    const end = start + PART_LENGTH;
    yield typeof body === 'string' ? Buffer.from(body.slice(start, end), 'latin1') : body.subarray(start, end);
  }
}
