import { DomainError } from '../../core/errors.ts';
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
}

/** Bounds the memory for answers that clients do not read. Answers that are sent in one part are not counted. */
export function createUnreadAnswers({
  unreadBytesOfKey: maxOfKey,
  unreadBytes: max,
}: Pick<Bounds, 'unreadBytesOfKey' | 'unreadBytes'>): UnreadAnswers {
  const bytesOf = new Map<string, number>();
  let total = 0;
  const refusalOf: UnreadAnswers['refusalOf'] = (keyId, bytes) => {
    if ((bytesOf.get(keyId ?? '') ?? 0) + bytes <= maxOfKey && total + bytes <= max) return undefined;
    const message = 'too many large answers are waiting to be read; read them first, or request smaller ones';
    return new DomainError('unavailable', message, { headers: { 'Retry-After': '1' } });
  };
  return {
    refusalOf,
    count(keyId, bytes) {
      if (bytes <= PART_LENGTH) return undefined;
      const refusal = refusalOf(keyId, bytes);
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
    },
  };
}
