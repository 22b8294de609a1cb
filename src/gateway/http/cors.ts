import { type HttpAnswer, type HttpRequest, answerWith } from '../../core/http/messages.ts';

/**
 * CORS for the origins of `CORS_ORIGINS` (Fetch standard, CORS protocol). Credentials are never allowed, because scripts authenticate with the
 * `Authorization` header and not with cookies.
 */
export interface Cors {
  /** The answer to a preflight request of a listed origin. Undefined for other requests, which are answered as without CORS. */
  preflight(request: HttpRequest): HttpAnswer | undefined;
  /** Headers of every answer: `Vary: Origin`, and for a listed origin the CORS headers. */
  headersFor(request: HttpRequest): Readonly<Record<string, string>>;
}

const EXPOSED = [
  'X-Request-Id',
  'RateLimit-Limit',
  'RateLimit-Remaining',
  'RateLimit-Reset',
  'Retry-After',
  'Idempotent-Replayed',
  'WWW-Authenticate',
  'Allow',
  'Deprecation',
  'Link',
].join(', ');

const PREFLIGHT_HEADERS = {
  'Access-Control-Allow-Methods': 'GET, POST, PATCH, DELETE',
  'Access-Control-Allow-Headers': [
    'Authorization',
    'Content-Type',
    'Idempotency-Key',
    'Last-Event-ID',
    'X-Organization-Id',
    'X-Request-Id',
  ].join(', '),
  // The longest time that browsers cache a preflight answer.
  'Access-Control-Max-Age': '7200',
};

/** Undefined without origins: CORS is off, and no CORS headers are sent. */
export function createCors(origins: readonly string[]): Cors | undefined {
  if (origins.length === 0) return undefined;
  // Origins are compared exactly. A prefix or suffix match would accept other hosts.
  const listed = new Set(origins);
  return {
    preflight({ method, headers }) {
      const isAsked = method === 'OPTIONS' && headers.has('access-control-request-method');
      if (!isAsked || !listed.has(headers.get('origin') ?? '')) return undefined;
      return answerWith(null, { status: 204, headers: PREFLIGHT_HEADERS });
    },
    headersFor({ headers }): Record<string, string> {
      const origin = headers.get('origin') ?? '';
      if (!listed.has(origin)) return { Vary: 'Origin' };
      return { Vary: 'Origin', 'Access-Control-Allow-Origin': origin, 'Access-Control-Expose-Headers': EXPOSED };
    },
  };
}
