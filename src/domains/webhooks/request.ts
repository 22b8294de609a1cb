import type { WorkContext } from '../../core/operation.ts';
import { OutboundError } from '../../core/outbound/outbound.ts';
import type { DeliveryRow } from './queries.ts';

/** Maximum number of bytes of an answer that are kept. */
const ANSWER_BYTES = 1024;

export interface SentResult extends Result {
  /** The time that the receiver asks to wait. */
  readonly retryAfterMs?: number;
  /** Whether the answer was not complete in time. */
  readonly isLate?: boolean;
}

export type Result = Pick<DeliveryRow, 'state' | 'status' | 'error' | 'answer' | 'durationMs'>;

interface WebhookRequest {
  readonly url: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
  readonly timeoutMs: number;
  readonly signal: AbortSignal;
}

/** Sends a message. A redirect is not followed. @throws the reason of the signal. */
export async function send(
  { outbound, now }: Pick<WorkContext, 'outbound' | 'now'>,
  { url, headers, body, timeoutMs, signal }: WebhookRequest,
): Promise<SentResult> {
  const work = outbound.begin(timeoutMs);
  const began = performance.now();
  const since = () => Math.round(performance.now() - began);
  try {
    const request = { method: 'POST', headers: { ...headers }, body, redirect: 'manual', signal } as const;
    // Of the answer only the beginning is read, whatever size it announces.
    const bounds = { maxBytes: Number.MAX_SAFE_INTEGER };
    const response = await work.fetch(url, request, bounds);
    const answer = await beginningOf(response);
    signal.throwIfAborted();
    const state = response.ok ? 'succeeded' : 'failed';
    const retryAfterMs = retryAfterOf(response, now());
    const isLate = work.signal.aborted;
    return { state, status: response.status, error: null, answer, durationMs: since(), retryAfterMs, isLate };
  } catch (error) {
    signal.throwIfAborted();
    if (!(error instanceof OutboundError)) throw error;
    const isLate = work.signal.aborted;
    return { state: 'failed', status: null, error: error.message, answer: null, durationMs: since(), isLate };
  }
}

/** `Retry-After` in milliseconds: it is a number of seconds or a date. 0 without one. */
function retryAfterOf({ status, headers }: Response, at: Date): number {
  const value = headers.get('retry-after');
  if (value === null || (status !== 429 && status !== 503)) return 0;
  const ms = /^\d+$/.test(value) ? Number(value) * 1000 : Date.parse(value) - at.getTime();
  return ms > 0 ? ms : 0;
}

/** The beginning of the answer as text that can be stored. What the server does not finish in time counts as its end. */
async function beginningOf({ body }: Response): Promise<string> {
  const reader = body?.getReader();
  const chunks: Uint8Array[] = [];
  let bytes = 0;
  try {
    while (reader && bytes < ANSWER_BYTES) {
      const { done, value } = await reader.read();
      if (done) break;
      chunks.push(value);
      bytes += value.byteLength;
    }
  } catch {
    // The status alone decides.
  }
  void reader?.cancel().catch(() => undefined);
  const beginning = Buffer.concat(chunks).subarray(0, ANSWER_BYTES);
  return beginning.toString().replaceAll('\0', '\uFFFD');
}
