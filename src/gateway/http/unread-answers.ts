import { DomainError } from '../../core/errors.ts';
import type { HttpAnswer } from '../../core/http/messages.ts';
import type { ApiKeyId } from '../../core/ids.ts';
import type { Bounds } from '../bounds.ts';
import { PART_LENGTH } from './send-response.ts';

export interface UnreadAnswers {
  /** The error (503 with `Retry-After`) if an answer of this size would exceed the maximum. */
  refusalOf(keyId: ApiKeyId | undefined, bytes: number): DomainError | undefined;
  /**
   * Counts an answer until the client has read it or disconnected.
   * @returns a function to call then.
   * @throws DomainError as above.
   */
  count(keyId: ApiKeyId | undefined, bytes: number): (() => void) | undefined;
  /**
   * Counts each part of a stream until the next one is read. Ends the stream at a part for which its key has no room;
   * answers of other keys do not end it.
   */
  countParts(keyId: ApiKeyId | undefined, body: HttpAnswer['body']): HttpAnswer['body'];
}

/** Bounds the memory for answers that clients do not read. Answers that are sent in one part are not counted. */
export function createUnreadAnswers({
  unreadBytesOfKey: maxOfKey,
  unreadBytes: max,
}: Pick<Bounds, 'unreadBytesOfKey' | 'unreadBytes'>): UnreadAnswers {
  const bytesOf = new Map<string, number>();
  let total = 0;

  const refusalOf = (keyId: ApiKeyId | undefined, bytes: number, maxOfAll = max) =>
    (bytesOf.get(keyId ?? '') ?? 0) + bytes <= maxOfKey && total + bytes <= maxOfAll ? undefined : noRoom();

  function count(keyId: ApiKeyId | undefined, bytes: number, maxOfAll?: number): (() => void) | undefined {
    if (bytes <= PART_LENGTH) return undefined;
    const refusal = refusalOf(keyId, bytes, maxOfAll);
    if (refusal) throw refusal;
    const key = keyId ?? '';
    bytesOf.set(key, (bytesOf.get(key) ?? 0) + bytes);
    total += bytes;
    let isHeld = true;
    return () => {
      if (!isHeld) return;
      isHeld = false;
      total -= bytes;
      const left = (bytesOf.get(key) ?? 0) - bytes;
      if (left > 0) bytesOf.set(key, left);
      else bytesOf.delete(key);
    };
  }

  return {
    refusalOf: (keyId, bytes) => refusalOf(keyId, bytes),
    count: (keyId, bytes) => count(keyId, bytes),
    countParts(keyId, body) {
      if (body === null || typeof body === 'string' || body instanceof Uint8Array) return body;
      return {
        [Symbol.asyncIterator]: () =>
          counted(body[Symbol.asyncIterator](), ({ length }) => count(keyId, length, Infinity)),
      };
    },
  };
}

function noRoom(): DomainError {
  const message = 'too many large answers are waiting to be read; read them first, or request smaller ones';
  return new DomainError('unavailable', message, { headers: { 'Retry-After': '1' } });
}

function counted(
  parts: AsyncIterator<Uint8Array>,
  count: (part: Uint8Array) => (() => void) | undefined,
): AsyncIterator<Uint8Array> {
  let release: (() => void) | undefined;
  return {
    async next() {
      release?.();
      release = undefined;
      const next = await parts.next();
      if (next.done) return next;
      try {
        release = count(next.value);
      } catch (error) {
        await parts.return?.();
        throw error;
      }
      return next;
    },
    async return(value) {
      release?.();
      return (await parts.return?.(value)) ?? { done: true, value };
    },
  };
}
