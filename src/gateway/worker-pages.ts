import { randomUUID } from 'node:crypto';
import { DomainError } from '../core/errors.ts';
import type { Dependencies } from './dependencies.ts';
import { toDomainError } from './failures.ts';
import type { Gateway } from './gateway.ts';
import { createHealthPages } from './health-pages.ts';
import { answerRestError } from './rest/handler.ts';

async function refuse(): Promise<never> {
  throw new DomainError('notFound', 'a worker serves only /health/live, /health/ready and /metrics');
}

/** The pages of a worker process: health and metrics. */
export function createWorkerPages(dependencies: Dependencies): Gateway {
  const pages = createHealthPages(dependencies);
  return async (request) => {
    const { pathname } = new URL(request.url);
    const requestId = randomUUID();
    const page = pages[pathname] ?? refuse;
    const { headers, ...answer } = await page(request).catch((error: unknown) =>
      answerRestError(toDomainError(error, dependencies.log), pathname, requestId),
    );
    return { ...answer, headers: { ...headers, 'X-Request-Id': requestId } };
  };
}
