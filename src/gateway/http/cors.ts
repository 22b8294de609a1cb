import { type HttpAnswer, type HttpRequest, answerWith } from '../../core/http/messages.ts';

/**
 * Cross-origin requests of browsers (Fetch standard, CORS protocol), for the origins of `CORS_ORIGINS` and nobody else. Credentials are never
 * allowed: callers are known by the key in their own `Authorization` header, and a browser is asked to add nothing.
 */
export interface Cors {
  /** The answer to a preflight of a listed origin. An unlisted one is answered as without CORS, like any other OPTIONS. */
  preflight(request: HttpRequest): HttpAnswer | undefined;
  /** What every answer carries: that it depends on the origin, and what the origin may see of it. */
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
  // As long as browsers remember it at most.
  'Access-Control-Max-Age': '7200',
};

/** Undefined without origins: CORS is off, and no answer speaks of it. */
export function createCors(origins: readonly string[]): Cors | undefined {
  if (origins.length === 0) return undefined;
  // As browsers write it, and compared as it stands: a name that only begins or ends like a listed one is another.
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
