import { DomainError } from '../core/errors.ts';

/** Bytes of answers that wait to be read, of one key and of the process. */
const MAX_BYTES_OF_KEY = 64 * 1024 * 1024;
const MAX_BYTES = 128 * 1024 * 1024;
/** What smaller answers hold is not worth counting: connections are bounded, and so are the requests of a key. */
const SMALL_BYTES = 16 * 1024;

export interface UnreadAnswers {
  /**
   * Counts an answer until it has been read, or its reader is gone.
   * @returns What to call then.
   * @throws DomainError 503 with `Retry-After` when as much waits already as may.
   */
  hold(keyId: string | undefined, bytes: number): (() => void) | undefined;
}

/** Keeps readers that do not read from filling the memory. */
export function createUnreadAnswers(): UnreadAnswers {
  const bytesOf = new Map<string, number>();
  let total = 0;
  return {
    hold(keyId = '', bytes) {
      if (bytes <= SMALL_BYTES) return undefined;
      const ofKey = (bytesOf.get(keyId) ?? 0) + bytes;
      if (ofKey > MAX_BYTES_OF_KEY || total + bytes > MAX_BYTES) {
        throw new DomainError(
          'unavailable',
          'too many large answers wait to be read; read them first, or ask for smaller ones',
          {
            headers: { 'Retry-After': '1' },
          },
        );
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
