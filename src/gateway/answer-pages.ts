import { type HttpAnswer, type HttpRequest, answerWith } from '../core/http/messages.ts';
import { readForm } from '../core/http/request-body.ts';
import type { PublicPage } from '../core/http/route.ts';
import type { ClientLimits } from './admission/client-limits.ts';
import { type Dependencies, publicUrlOf } from './dependencies.ts';
import type { Exchange, FoundPage } from './exchange.ts';
import { createHealthPages } from './health-pages.ts';
import { createOAuthServer } from './authorization-server.ts';
import { openSite } from './open-site.ts';
import type { SitePage } from './pages/site.ts';
import { answerResourceMetadata } from './protected-resources.ts';
import { publicContext } from './contexts.ts';
import { createOpenApiFile } from './rest/openapi.ts';
import { methodNotAllowed } from './rest/handler.ts';
import { publicPages } from './modules.ts';

type FindPage = (exchange: Exchange) => FoundPage | undefined;

/**
 * Finds what answers a request that needs no key: pages for browsers and their files, the contracts, health and metrics. Undefined for other
 * paths.
 */
export function createPages(dependencies: Dependencies, clientLimits: ClientLimits): FindPage {
  const site = openSite(dependencies, clientLimits);
  const findOAuth = createOAuthServer(dependencies, clientLimits);
  const openapi = createOpenApiFile();
  const plainPages: Readonly<Record<string, (request: HttpRequest) => Promise<HttpAnswer>>> = {
    '/openapi.json': (request) => openapi(publicUrlOf(dependencies)).answer(request),
    ...createHealthPages(dependencies),
  };
  return (exchange) => {
    const { request, path: wanted } = exchange;
    const plain = plainPages[wanted];
    const page: SitePage | undefined = plain
      ? { operation: wanted.slice(1), methods: { GET: () => plain(request) } }
      : site.find(request, wanted);
    if (page) return { answer: () => answerSitePage(page, exchange) };
    const metadata = answerResourceMetadata(exchange, dependencies);
    if (metadata) {
      exchange.operation = 'resourceMetadata';
      return { answer: () => metadata };
    }
    const oauth = findOAuth(exchange);
    if (oauth) return oauth;
    const publicPage = publicPages.find(({ path }) => path === wanted);
    return publicPage && { answer: () => answerPublicPage(publicPage, exchange, { dependencies, clientLimits }) };
  };
}

const METHODS_OF_PAGES = ['GET', 'POST'] as const;

async function answerSitePage(page: SitePage, exchange: Exchange): Promise<HttpAnswer> {
  const { request } = exchange;
  exchange.operation = page.operation;
  const method = METHODS_OF_PAGES.find((name) => name === (request.method === 'HEAD' ? 'GET' : request.method));
  const chosen = method && page.methods[method];
  if (!chosen)
    throw methodNotAllowed(
      request.method,
      METHODS_OF_PAGES.filter((name) => page.methods[name]),
    );
  return chosen(exchange);
}

/** Answers a page of a domain module, such as the OAuth callback. */
async function answerPublicPage(
  page: PublicPage,
  exchange: Exchange,
  { dependencies, clientLimits }: { readonly dependencies: Dependencies; readonly clientLimits: ClientLimits },
): Promise<HttpAnswer> {
  const { request, url } = exchange;
  exchange.operation = page.operationId;
  // A HEAD request must have no effects, such as using a one-time `state`.
  if (request.method === 'HEAD') return answerWith(null);
  const excess = clientLimits.count(page.operationId, exchange.clientAddress);
  if (excess) throw excess;
  const context = publicContext(dependencies, exchange);
  if (request.method === 'GET') return page.answer(context, url.searchParams);
  if (request.method !== 'POST' || !page.submit)
    throw methodNotAllowed(request.method, page.submit ? ['GET', 'POST'] : ['GET']);
  return page.submit(context, await readForm(request));
}
