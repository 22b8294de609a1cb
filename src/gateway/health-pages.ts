import { createHash, timingSafeEqual } from 'node:crypto';
import type { Registry } from 'prom-client';
import { type HttpAnswer, type HttpRequest, answerWith } from '../core/http/messages.ts';
import type { Dependencies } from './dependencies.ts';
import { live, ready } from './http/health.ts';
import { unauthenticated } from '../core/errors.ts';

type Pages = Readonly<Record<string, (request: HttpRequest) => Promise<HttpAnswer>>>;

/** Handlers for health and metrics by path. Gateways and workers both use them. */
export function createHealthPages(dependencies: Dependencies): Pages {
  const { timing, metrics, config } = dependencies;
  const age = { maxAgeMs: timing.recentMs };
  const print = recent(() => printMetrics(metrics.registry), age);
  return {
    '/health/live': async () => live(),
    '/health/ready': recent(() => ready(dependencies), age),
    '/metrics': (request) => metricsPage(request, { print, token: config.METRICS_TOKEN }),
  };
}

/**
 * Caches the result of `find` for `maxAgeMs`, so that frequent calls are cheap. Concurrent callers share one call. A failure is not cached.
 */
export function recent<Found>(
  find: () => Promise<Found>,
  { maxAgeMs, clock = () => performance.now() }: { readonly maxAgeMs: number; readonly clock?: () => number },
): () => Promise<Found> {
  let finding: Promise<Found> | undefined;
  let known: { readonly found: Found; readonly at: number } | undefined;

  async function findAgain(): Promise<Found> {
    const at = clock();
    try {
      const found = await find();
      known = { found, at };
      return found;
    } finally {
      finding = undefined;
    }
  }

  return async () => {
    if (known && clock() - known.at < maxAgeMs) return known.found;
    return (finding ??= findAgain());
  };
}

/** Answers the metrics in the text format of Prometheus. */
const printMetrics = async (registry: Registry): Promise<HttpAnswer> =>
  answerWith(await registry.metrics(), { headers: { 'Content-Type': registry.contentType } });

/**
 * Answers the metrics. When a token is configured, requests need `Authorization: Bearer <token>`.
 * @throws DomainError (401) without the token.
 */
async function metricsPage(
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
