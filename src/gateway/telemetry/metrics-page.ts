import { createHash, timingSafeEqual } from 'node:crypto';
import type { Registry } from 'prom-client';
import { unauthenticated } from '../../core/errors.ts';
import { type HttpAnswer, type HttpRequest, answerWith } from '../../core/http/messages.ts';

/** The metrics in Prometheus' text format. */
export async function printMetrics(registry: Registry): Promise<HttpAnswer> {
  return answerWith(await registry.metrics(), { headers: { 'Content-Type': registry.contentType } });
}

/**
 * Answers with the metrics. With a token, requests need it as `Authorization: Bearer <token>`.
 * @throws DomainError 401 without it.
 */
export async function metricsPage(
  { headers }: HttpRequest,
  { print, token }: { readonly print: () => Promise<HttpAnswer>; readonly token: string | undefined },
): Promise<HttpAnswer> {
  if (token !== undefined && !isSame(headers.get('authorization') ?? '', `Bearer ${token}`))
    throw unauthenticated('send Authorization: Bearer and the value of METRICS_TOKEN');
  return print();
}

/** Compares hashes, which have one length, in a time that does not depend on where the texts differ. */
function isSame(given: string, wanted: string): boolean {
  const hash = (text: string) => createHash('sha256').update(text).digest();
  return timingSafeEqual(hash(given), hash(wanted));
}
