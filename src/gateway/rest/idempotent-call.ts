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
}

interface StoredResponse {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
}

/** Answers with the result of `run`, or replays the stored answer with the same bytes, or, if it was larger than 256 KiB, with null in place of its largest members. */
export async function runIdempotent(
  idempotency: Idempotency,
  { route, context, key, input }: IdempotentCall,
  run: (context: OperationContext) => Promise<HttpAnswer>,
): Promise<HttpAnswer> {
  const { operationId: operation, callsOut = false } = route;
  const answered = await idempotency.run({ context, key, operation, input, callsOut }, async (inner) => {
    const answer = await run(inner);
    return { text: toText(answer), kept: toText(shortenedAnswer(answer)), isSuccess: answer.status < 400 };
  });
  return fromText(answered);
}

function shortenedAnswer(answer: HttpAnswer): HttpAnswer {
  const { body } = answer;
  if (typeof body !== 'string' || !isLarger(body, MAX_KEPT_BYTES)) return answer;
  return { ...answer, body: shortenedJson(parseExactJson(body), MAX_KEPT_BYTES) };
}

function toText({ status, headers, body }: HttpAnswer): string {
  if (typeof body !== 'string' && body !== null) throw new TypeError('the answer of a write must be text');
  const stored: StoredResponse = { status, headers, body: body ?? '' };
  return JSON.stringify(stored);
}

function fromText({ text, isReplayed }: Answered): HttpAnswer {
  // `toText` has written the text, in this request or an earlier one.
  const { status, headers, body } = JSON.parse(text) as StoredResponse;
  return answerWith(body === '' ? null : body, {
    status,
    headers: { ...headers, ...(isReplayed && { [REPLAYED_HEADER]: 'true' }) },
  });
}
