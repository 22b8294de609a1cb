import { invalid } from '../core/errors.ts';
import type { HttpHeaders } from '../core/http/messages.ts';

/** Names of headers that several parts of the gateway use. */

/** Id or slug of the organization to act in. */
export const ORGANIZATION_HEADER = 'X-Organization-Id';
export const IDEMPOTENCY_KEY_HEADER = 'Idempotency-Key';
export const REPLAYED_HEADER = 'Idempotent-Replayed';
export const MAX_IDEMPOTENCY_KEY = 255;

/** The idempotency key of a request; undefined without one. @throws ValidationError (400) unless it has 1 to 255 characters. */
export function idempotencyKeyOf(headers: HttpHeaders): string | undefined {
  const key = headers.get(IDEMPOTENCY_KEY_HEADER);
  if (key === null) return undefined;
  if (key === '' || key.length > MAX_IDEMPOTENCY_KEY)
    throw invalid(IDEMPOTENCY_KEY_HEADER, `must be 1 to ${MAX_IDEMPOTENCY_KEY} characters`);
  return key;
}
