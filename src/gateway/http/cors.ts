import { type HttpAnswer, type HttpRequest, answerWith } from '../../core/http/messages.ts';

/**
 * CORS for the origins of `CORS_ORIGINS` (Fetch standard, CORS protocol). Credentials are never allowed, because
 * scripts authenticate with the
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
  'Location',
  'Mcp-Session-Id',
].join(', ');

const PREFLIGHT_HEADERS = {
  'Access-Control-Allow-Methods': 'GET, POST, PUT, PATCH, DELETE',
  // The longest time that browsers cache a preflight answer.
  'Access-Control-Max-Age': '7200',
};

/** Names of header fields, separated by commas. */
const FIELD_NAMES = /^[\w!#$%&'*+.^`|~-]+(?: *, *[\w!#$%&'*+.^`|~-]+)*$/;

/** A listed origin can send every header: tracing libraries add headers of their own, and scripts cannot send the cookie anyway. */
function allowedHeaders({ headers }: HttpRequest): Readonly<Record<string, string>> {
  const asked = headers.get('access-control-request-headers') ?? '';
  return FIELD_NAMES.test(asked) ? { 'Access-Control-Allow-Headers': asked } : {};
}

/** Undefined without origins: CORS is off, and no CORS headers are sent. */
export function createCors(origins: readonly string[]): Cors | undefined {
  if (origins.length === 0) return undefined;
  // Origins are compared exactly. A prefix or suffix match would accept other hosts.
  const listed = new Set(origins);
  return {
    preflight(request) {
      const { method, headers } = request;
      const isAsked = method === 'OPTIONS' && headers.has('access-control-request-method');
      if (!isAsked || !listed.has(headers.get('origin') ?? '')) return undefined;
      return answerWith(null, { status: 204, headers: { ...PREFLIGHT_HEADERS, ...allowedHeaders(request) } });
    },
    headersFor({ headers }): Record<string, string> {
      const origin = headers.get('origin') ?? '';
      if (!listed.has(origin)) return { Vary: 'Origin' };
      return { Vary: 'Origin', 'Access-Control-Allow-Origin': origin, 'Access-Control-Expose-Headers': EXPOSED };
    },
  };
}
