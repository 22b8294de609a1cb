import { DomainError } from '../../core/errors.ts';
import type { HttpAnswer } from '../../core/http/messages.ts';
import type { ApiKeyId } from '../../core/ids.ts';
import type { Bounds } from '../bounds.ts';
import { PART_LENGTH } from './send-response.ts';

/** Bounds the memory for answers that clients do not read. Answers that are sent in one part are not counted. */
export class UnreadAnswers {
  readonly #bounds: Pick<Bounds, 'answerBytes' | 'unreadBytesOfKey' | 'unreadBytes'>;
  readonly #bytesOf = new Map<string, number>();
  #total = 0;

  constructor(bounds: Pick<Bounds, 'answerBytes' | 'unreadBytesOfKey' | 'unreadBytes'>) {
    this.#bounds = bounds;
  }

  /** The size that an answer can have now. What was changed is answered without the values for which there is no room. */
  roomFor(keyId: ApiKeyId | undefined): number {
    const { answerBytes, unreadBytes } = this.#bounds;
    return Math.max(PART_LENGTH, Math.min(answerBytes, this.#roomOf(keyId), unreadBytes - this.#total));
  }

  /**
   * Counts an answer until the client has read it or disconnected.
   * @returns a function to call then.
   * @throws DomainError 503 with `Retry-After` if it would exceed the maximum, and the request has changed nothing.
   */
  count(keyId: ApiKeyId | undefined, bytes: number, { isWrite }: { readonly isWrite: boolean }): () => void {
    const hasRoom = bytes <= this.#roomOf(keyId) && this.#total + bytes <= this.#bounds.unreadBytes;
    if (bytes > PART_LENGTH && !hasRoom && !isWrite) throw noRoom();
    return this.#hold(keyId, bytes);
  }

  /**
   * Counts each part of a stream until the next one is read. Ends the stream at a part for which its key has no room;
   * answers of other keys do not end it.
   */
  countParts(keyId: ApiKeyId | undefined, body: HttpAnswer['body']): HttpAnswer['body'] {
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
          if (bytes > PART_LENGTH && bytes > this.#roomOf(keyId)) {
            await parts.return?.();
            throw noRoom();
          }
          release = this.#hold(keyId, bytes);
          return next;
        },
        return: async (value) => {
          release?.();
          return (await parts.return?.(value)) ?? { done: true, value };
        },
      }),
    };
  }

  #roomOf(keyId: ApiKeyId | undefined): number {
    return this.#bounds.unreadBytesOfKey - (this.#bytesOf.get(keyId ?? '') ?? 0);
  }

  #hold(keyId: ApiKeyId | undefined, bytes: number): () => void {
    if (bytes <= PART_LENGTH) return () => undefined;
    const add = (change: number) => {
      this.#total += change;
      const held = (this.#bytesOf.get(keyId ?? '') ?? 0) + change;
      if (held > 0) this.#bytesOf.set(keyId ?? '', held);
      else this.#bytesOf.delete(keyId ?? '');
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
