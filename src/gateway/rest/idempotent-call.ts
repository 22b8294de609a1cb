import { isLarger } from '../../core/answer-size.ts';
import { type HttpAnswer, answerWith } from '../../core/http/messages.ts';
import type { OperationContext } from '../../core/operation.ts';
import type { Route } from '../../core/http/route.ts';
import type { Answered } from '../idempotency/answers.ts';
import { MAX_KEPT_BYTES } from '../bounds.ts';
import type { Idempotency } from '../idempotency/idempotency.ts';
import { REPLAYED_HEADER } from '../request-headers.ts';

/** Runs REST writes with an `Idempotency-Key`. */

export interface IdempotentCall {
  readonly route: Route;
  readonly context: OperationContext;
  readonly key: string;
  /** The input before validation, because defaults that the schema adds can change between requests. */
  readonly input: object;
}

interface StoredResponse {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
  /** Whether the body was larger than 256 KiB, so that it is not stored. */
  readonly isTooLarge?: boolean;
}

/** Answers with the result of `run`, or replays the stored answer with the same bytes; if it was too large to be stored, with the id of the object. */
export async function runIdempotent(
  idempotency: Idempotency,
  { route, context, key, input }: IdempotentCall,
  run: (context: OperationContext) => Promise<HttpAnswer>,
): Promise<HttpAnswer> {
  const { operationId: operation, callsOut = false, isAtMostOnce = false } = route;
  const answered = await idempotency.run({ context, key, operation, input, callsOut, isAtMostOnce }, async (inner) => {
    const answer = await run(inner);
    const stored = toStored(answer);
    const kept = isLarger(stored.body, MAX_KEPT_BYTES) ? { ...stored, body: '', isTooLarge: true } : stored;
    return { text: JSON.stringify(stored), kept: JSON.stringify(kept), isSuccess: answer.status < 400 };
  });
  return toAnswer(answered);
}

function toStored({ status, headers, body }: HttpAnswer): StoredResponse {
  if (typeof body !== 'string' && body !== null) throw new TypeError('the answer of a write must be text');
  return { status, headers, body: body ?? '' };
}

function toAnswer({ text, isReplayed, changed }: Answered): HttpAnswer {
  // The text was written above, in this request or an earlier one.
  const { status, headers, body, isTooLarge } = JSON.parse(text) as StoredResponse;
  const replayed = isTooLarge ? JSON.stringify({ id: changed?.id ?? null }) : body;
  return answerWith(replayed === '' ? null : replayed, {
    status,
    headers: { ...headers, ...(isReplayed && { [REPLAYED_HEADER]: 'true' }) },
  });
}
