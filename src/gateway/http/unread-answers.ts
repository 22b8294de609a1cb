import { DomainError } from '../../core/errors.ts';
import type { ApiKeyId } from '../../core/ids.ts';
import type { Bounds } from '../bounds.ts';
import { PART_LENGTH } from './send-response.ts';

export interface UnreadAnswers {
  /**
   * Counts an answer until the client has read it or disconnected.
   * @returns a function to call then.
   * @throws DomainError (503 with `Retry-After`) when the maximum is already waiting.
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
  return {
    count(keyId = '', bytes) {
      if (bytes <= PART_LENGTH) return undefined;
      const ofKey = (bytesOf.get(keyId) ?? 0) + bytes;
      if (ofKey > maxOfKey || total + bytes > max) {
        const message = 'too many large answers are waiting to be read; read them first, or request smaller ones';
        throw new DomainError('unavailable', message, { headers: { 'Retry-After': '1' } });
      }
      bytesOf.set(keyId, ofKey);
      total += bytes;
      let isHeld = true;
      return () => {
        if (!isHeld) return;
        isHeld = false;
        total -= bytes;
        const left = (bytesOf.get(keyId) ?? 0) - bytes;
        if (left > 0) bytesOf.set(keyId, left);
        else bytesOf.delete(keyId);
      };
    },
  };
}
