import { invalid } from '../core/errors.ts';
import type { HttpHeaders } from '../core/http/messages.ts';

/** Names of headers that several parts of the gateway use. */

/** Id or slug of the organization to act in. */
export const ORGANIZATION_HEADER = 'X-Organization-Id';
export const KEY_HEADER = 'Idempotency-Key';
export const REPLAYED_HEADER = 'Idempotent-Replayed';
export const MAX_KEY = 255;

/** The idempotency key of a request; undefined without one. @throws ValidationError (400) unless it has 1 to 255 characters. */
export function idempotencyKeyOf(headers: HttpHeaders): string | undefined {
  const key = headers.get(KEY_HEADER);
  if (key === null) return undefined;
  if (key === '' || key.length > MAX_KEY) throw invalid(KEY_HEADER, `must be 1 to ${MAX_KEY} characters`);
  return key;
}
