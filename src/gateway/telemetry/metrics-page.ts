import { createHash, timingSafeEqual } from 'node:crypto';
import type { Registry } from 'prom-client';
import { unauthenticated } from '../../core/errors.ts';
import { type HttpAnswer, type HttpRequest, answerWith } from '../../core/http/messages.ts';

/** Answers the metrics in the text format of Prometheus. */
export async function printMetrics(registry: Registry): Promise<HttpAnswer> {
  return answerWith(await registry.metrics(), { headers: { 'Content-Type': registry.contentType } });
}

/**
 * Answers the metrics. When a token is configured, requests need `Authorization: Bearer <token>`.
 * @throws DomainError (401) without the token.
 */
export async function metricsPage(
  { headers }: HttpRequest,
  { print, token }: { readonly print: () => Promise<HttpAnswer>; readonly token: string | undefined },
): Promise<HttpAnswer> {
  if (token !== undefined && !isSame(headers.get('authorization') ?? '', `Bearer ${token}`))
    throw unauthenticated('send Authorization: Bearer and the value of METRICS_TOKEN');
  return print();
}

/** Compares hashes of the texts in constant time. */
function isSame(given: string, wanted: string): boolean {
  const hash = (text: string) => createHash('sha256').update(text).digest();
  return timingSafeEqual(hash(given), hash(wanted));
}
