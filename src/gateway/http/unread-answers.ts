import { DomainError } from '../../core/errors.ts';
import type { HttpAnswer } from '../../core/http/messages.ts';
import type { UserId } from '../../core/ids.ts';
import { Sums } from '../../core/sums.ts';
import type { Bounds } from '../bounds.ts';
import { PART_LENGTH } from './send-response.ts';

/** Bounds the memory for answers that clients do not read. All keys of a user have one bound, so that nobody can fill that of the process alone. Answers that are sent in one part are not counted. */
export class UnreadAnswers {
  readonly #bounds: Pick<Bounds, 'answerBytes' | 'unreadBytesOfUser' | 'unreadBytes'>;
  readonly #bytesOf = new Sums();
  #total = 0;

  constructor(bounds: Pick<Bounds, 'answerBytes' | 'unreadBytesOfUser' | 'unreadBytes'>) {
    this.#bounds = bounds;
  }

  /** The size that an answer can have now. What was changed is answered without the values for which there is no room. */
  roomFor(userId: UserId | undefined): number {
    const { answerBytes, unreadBytes } = this.#bounds;
    return Math.max(PART_LENGTH, Math.min(answerBytes, this.#roomOf(userId), unreadBytes - this.#total));
  }

  /**
   * Counts an answer until the client has read it or disconnected.
   * @returns a function to call then.
   * @throws DomainError 503 with `Retry-After` if it would exceed the maximum, and the request has changed nothing.
   */
  count(userId: UserId | undefined, bytes: number, { isWrite }: { readonly isWrite: boolean }): () => void {
    const hasRoom = bytes <= this.#roomOf(userId) && this.#total + bytes <= this.#bounds.unreadBytes;
    if (bytes > PART_LENGTH && !hasRoom && !isWrite) throw noRoom();
    return this.#hold(userId, bytes);
  }

  /**
   * Counts each part of a stream until the next one is read. Ends the stream at a part for which its user has no room;
   * answers of other users do not end it.
   */
  countParts(userId: UserId | undefined, body: HttpAnswer['body']): HttpAnswer['body'] {
    if (body === null || typeof body === 'string' || body instanceof Uint8Array) return body;
    const parts = body[Symbol.asyncIterator]();
    let release: (() => void) | undefined;
    return {
      [Symbol.asyncIterator]: () => ({
        next: async () => {
          release?.();
          const next = await parts.next();
          if (next.done) return next;
          const bytes = next.value.length;
          if (bytes > PART_LENGTH && bytes > this.#roomOf(userId)) {
            await parts.return?.();
            throw noRoom();
          }
          release = this.#hold(userId, bytes);
          return next;
        },
        return: async (value) => {
          release?.();
          return (await parts.return?.(value)) ?? { done: true, value };
        },
      }),
    };
  }

  #roomOf(userId: UserId | undefined): number {
    return this.#bounds.unreadBytesOfUser - this.#bytesOf.get(userId ?? '');
  }

  #hold(userId: UserId | undefined, bytes: number): () => void {
    if (bytes <= PART_LENGTH) return () => undefined;
    const add = (change: number) => {
      this.#total += change;
      this.#bytesOf.add(userId ?? '', change);
    };
    add(bytes);
    let isHeld = true;
    return () => {
      if (isHeld) add(-bytes);
      isHeld = false;
    };
  }
}

function noRoom(): DomainError {
  const message = 'too many large answers are waiting to be read; read them first, or request smaller ones';
  return new DomainError('unavailable', message, { headers: { 'Retry-After': '1' } });
}
