import { Response } from '@whatwg-node/fetch';
import type { OperationContext } from '../core/operation.ts';
import type { Route } from '../core/route.ts';
import { type Idempotency, REPLAYED_HEADER } from './idempotency.ts';

/** How a REST write runs under an `Idempotency-Key`. */

export interface KeyedCall {
  readonly route: Route;
  readonly context: OperationContext;
  readonly key: string;
  /** As it was given: what its schema adds may differ from time to time. */
  readonly input: object;
}

interface StoredResponse {
  readonly status: number;
  readonly headers: [string, string][];
  readonly body: string;
}

/** Answers with what `run` does, or with the same bytes as when the request came first. */
export async function runWithKey(
  idempotency: Idempotency,
  { route, context, key, input }: KeyedCall,
  run: (context: OperationContext) => Promise<Response>,
): Promise<Response> {
  const { operationId: operation, callsOut = false } = route;
  const { text, isReplayed } = await idempotency.run(
    { context, key, path: '', operation, input, callsOut },
    async (inner) => {
      const response = await run(inner);
      const stored: StoredResponse = {
        status: response.status,
        headers: [...response.headers],
        body: await response.text(),
      };
      return { text: JSON.stringify(stored), isSuccess: response.ok };
    },
  );
  // Written above, now or then.
  const { status, headers, body } = JSON.parse(text) as StoredResponse;
  const response = new Response(body === '' ? null : body, { status, headers });
  if (isReplayed) response.headers.set(REPLAYED_HEADER, 'true');
  return response;
}
