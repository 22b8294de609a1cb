import type { HttpAnswer, HttpRequest } from '../core/http/messages.ts';
import type { Dependencies } from './dependencies.ts';
import { live, ready } from './http/health.ts';
import { recent } from './http/recent.ts';
import { metricsPage, printMetrics } from './telemetry/metrics-page.ts';

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
