import type { Duplex, Readable } from 'node:stream';

/**
 * Reads and discards what a peer still sends: one chunk of 64 KiB in each turn of the event loop, because Node.js reads up to 32 of them from
 * each connection before it serves the others.
 */
export function discard(stream: Readable): void {
  stream.on('data', () => {
    stream.pause();
    setImmediate(() => stream.resume());
  });
  stream.resume();
}

/**
 * Ends a connection after its last answer. What the peer still sends is discarded for at most `lingerMs`: closing a connection with unread data
 * resets it, and the peer could lose the answer.
 */
export function endAfter(answer: string | undefined, socket: Duplex, lingerMs: number): void {
  // What has read the connection must not see the rest.
  socket.removeAllListeners('data');
  discard(socket);
  const deadline = setTimeout(() => socket.destroy(), lingerMs).unref();
  socket.once('close', () => clearTimeout(deadline));
  socket.end(answer);
}
