import { isLarger } from '../../core/answer-size.ts';
import { shortenedJson } from '../../core/http/shortened-document.ts';
import { parseExactJson } from '../../core/text/exact-json.ts';
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
  /** Reads the object again that a large answer has given; undefined if no route reads it, or the caller must not. */
  readonly readAgain: (answer: StoredResponse, changed: Answered['changed']) => Promise<string | undefined>;
}

export interface StoredResponse {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
  /** Whether the body has null in place of its largest members, because it was larger than 256 KiB. */
  readonly isShortened?: boolean;
}

/** Answers with the result of `run`, or replays the stored answer with the same bytes, or, if it was too large to be kept, with the object as it is now. */
export async function runIdempotent(
  idempotency: Idempotency,
  { route, context, key, input, readAgain }: IdempotentCall,
  run: (context: OperationContext) => Promise<HttpAnswer>,
): Promise<HttpAnswer> {
  const { operationId: operation, callsOut = false, isAtMostOnce = false } = route;
  const answered = await idempotency.run({ context, key, operation, input, callsOut, isAtMostOnce }, async (inner) => {
    const answer = await run(inner);
    const stored = toStored(answer);
    const kept = isLarger(stored.body, MAX_KEPT_BYTES) ? shortened(stored) : stored;
    return { text: JSON.stringify(stored), kept: JSON.stringify(kept), isSuccess: answer.status < 400 };
  });
  return toAnswer(answered, readAgain);
}

function shortened(stored: StoredResponse): StoredResponse {
  return { ...stored, body: shortenedJson(parseExactJson(stored.body), MAX_KEPT_BYTES), isShortened: true };
}

function toStored({ status, headers, body }: HttpAnswer): StoredResponse {
  if (typeof body !== 'string' && body !== null) throw new TypeError('the answer of a write must be text');
  return { status, headers, body: body ?? '' };
}

async function toAnswer(
  { text, isReplayed, changed }: Answered,
  readAgain: IdempotentCall['readAgain'],
): Promise<HttpAnswer> {
  // The text was written above, in this request or an earlier one.
  const stored = JSON.parse(text) as StoredResponse;
  const { status, headers } = stored;
  const body = (stored.isShortened ? await readAgain(stored, changed) : undefined) ?? stored.body;
  return answerWith(body === '' ? null : body, {
    status,
    headers: { ...headers, ...(isReplayed && { [REPLAYED_HEADER]: 'true' }) },
  });
}
