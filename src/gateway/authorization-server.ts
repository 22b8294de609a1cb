import { DomainError, STATUS_OF } from '../core/errors.ts';
import { answerHtml } from '../core/http/html-page.ts';
import { type HttpAnswer, answerJson, answerWith } from '../core/http/messages.ts';
import { canAct } from './admission/authenticate.ts';
import type { ClientLimits } from './admission/client-limits.ts';
import type { Dependencies } from './dependencies.ts';
import type { Exchange, FoundPage } from './exchange.ts';
import { UnknownClientError } from './authorization-server/clients.ts';
import { OAuthEndpoints } from './authorization-server/endpoints.ts';
import { PATHS } from './authorization-server/provider.ts';
import { OAuthConsent } from './authorization-consent.ts';
import { endHtml, endPage } from './pages/consent.ts';
import { scopesOfResource } from './protected-resources.ts';

/** The authorization server (RFC 6749, RFC 8414, RFC 8628), which the package oidc-provider does the protocol of. */

interface Endpoint {
  readonly operation: string;
  readonly GET?: (exchange: Exchange) => Promise<HttpAnswer>;
  readonly POST?: (exchange: Exchange) => Promise<HttpAnswer>;
  /** Programs call it, from any web page too; it says errors in JSON. Others are pages for people. */
  readonly isForPrograms?: true;
}

type FindOAuth = (exchange: Exchange) => FoundPage | undefined;

const UID = /^[A-Za-z0-9_-]{1,100}$/;
const ANY_ORIGIN = { 'Access-Control-Allow-Origin': '*' } as const;
const PREFLIGHT = {
  ...ANY_ORIGIN,
  'Access-Control-Allow-Methods': 'GET, POST',
  'Access-Control-Allow-Headers': '*, Authorization',
  'Access-Control-Max-Age': '3600',
} as const;

/** Finds what answers the paths of the authorization server; undefined for others. */
export function createOAuthServer(dependencies: Dependencies, clientLimits: ClientLimits): FindOAuth {
  const endpoints = new OAuthEndpoints({
    dependencies,
    scopesOfResource: (path) => scopesOfResource(path, dependencies),
    errorHtml: (message) => endHtml('Not connected', message),
    findGrant: async (sql, id) => {
      const grant = await dependencies.keys.byGrant(sql, id);
      return grant && canAct(grant) ? grant : undefined;
    },
    countFetch: (clientAddress) => count(clientLimits, 'oauthClientDocument', clientAddress),
  });
  const consent = new OAuthConsent(dependencies, endpoints);
  const find = endpointsOf(endpoints, consent, dependencies.config.OAUTH_REGISTRATION);
  return (exchange) => {
    const { path } = exchange;
    if (!path.startsWith('/oauth/') && !path.startsWith('/.well-known/o')) return undefined;
    const endpoint = find(path);
    if (!endpoint) return undefined;
    exchange.operation = endpoint.operation;
    return {
      answer: () => answerEndpoint(endpoint, exchange, clientLimits),
      refuse: endpoint.isForPrograms && ((error) => refusal(error, exchange)),
    };
  };
}

function endpointsOf(endpoints: OAuthEndpoints, consent: OAuthConsent, canRegister: boolean) {
  const metadata: Endpoint = {
    operation: 'oauthMetadata',
    isForPrograms: true,
    GET: (exchange) => endpoints.metadata(exchange),
  };
  const program = (operation: string, POST: Endpoint['POST']): Endpoint => ({ operation, isForPrograms: true, POST });
  const fixed: Readonly<Record<string, Endpoint>> = {
    '/.well-known/oauth-authorization-server': metadata,
    '/.well-known/openid-configuration': metadata,
    [PATHS.keys]: { operation: 'oauthKeys', isForPrograms: true, GET: (exchange) => endpoints.keys(exchange) },
    [PATHS.authorization]: {
      operation: 'oauthAuthorize',
      GET: async (exchange) => bindToBrowser(await endpoints.authorize(exchange), exchange, consent),
    },
    [PATHS.token]: program('oauthToken', (exchange) => endpoints.token(exchange)),
    [PATHS.revocation]: program('oauthRevoke', (exchange) => endpoints.revoke(exchange)),
    [PATHS.deviceAuthorization]: program('oauthDeviceAuthorize', (exchange) => endpoints.authorizeDevice(exchange)),
    ...(canRegister && { [PATHS.registration]: program('oauthRegister', (exchange) => endpoints.register(exchange)) }),
    [PATHS.device]: {
      operation: 'oauthDevice',
      GET: (exchange) => consent.showDevice(exchange),
      POST: (exchange) => consent.submitDevice(exchange),
    },
  };
  return (path: string): Endpoint | undefined => {
    if (Object.hasOwn(fixed, path)) return fixed[path];
    const uid = path.slice(path.lastIndexOf('/') + 1);
    if (!UID.test(uid)) return undefined;
    if (path === `${PATHS.consent}/${uid}`)
      return {
        operation: 'oauthConsent',
        GET: (exchange) => consent.show(exchange, uid),
        POST: (exchange) => consent.submit(exchange, uid),
      };
    if (path === `${PATHS.authorization}/${uid}`)
      return { operation: 'oauthResume', GET: (exchange) => resume(exchange, uid, { endpoints, consent }) };
    return undefined;
  };
}

/** Remembers in the browser which authorization was begun there. */
async function bindToBrowser(answer: HttpAnswer, exchange: Exchange, consent: OAuthConsent): Promise<HttpAnswer> {
  const [, uid] =
    new RegExp(`^(?:https?://[^/]+)?${PATHS.consent}/([^/?]+)$`).exec(answer.headers['Location'] ?? '') ?? [];
  if (uid === undefined) return answer;
  return { ...answer, headers: { ...answer.headers, 'Set-Cookie': await consent.bind(exchange, uid) } };
}

async function resume(
  exchange: Exchange,
  uid: string,
  { endpoints, consent }: { readonly endpoints: OAuthEndpoints; readonly consent: OAuthConsent },
): Promise<HttpAnswer> {
  const cookie = await consent.release(exchange, uid);
  if (cookie === undefined) throw new UnknownClientError('This connection was not begun in this browser.');
  const answer = await endpoints.resume(exchange, uid);
  if (!answer) {
    const headers = { Location: `${PATHS.consent}/${uid}`, 'Cache-Control': 'no-store' };
    return answerWith(null, { status: 303, headers });
  }
  return { ...answer, headers: { ...answer.headers, 'Set-Cookie': cookie } };
}

async function answerEndpoint(endpoint: Endpoint, exchange: Exchange, limits: ClientLimits): Promise<HttpAnswer> {
  const { request, clientAddress, requestId } = exchange;
  const { isForPrograms = false, operation } = endpoint;
  if (isForPrograms && request.method === 'OPTIONS') return answerWith(null, { status: 204, headers: PREFLIGHT });
  // A HEAD request must have no effects.
  if (request.method === 'HEAD' && endpoint.GET) return answerWith(null);
  const run = request.method === 'GET' ? endpoint.GET : request.method === 'POST' ? endpoint.POST : undefined;
  if (!run) throw notAllowed(endpoint);
  if (!UNCOUNTED.has(operation)) count(limits, operation, clientAddress);
  try {
    const given = await run(exchange);
    if (operation === 'oauthToken' && given.status >= 400) count(limits, operation, clientAddress);
    return isForPrograms ? { ...given, headers: { ...given.headers, ...ANY_ORIGIN } } : asPage(given);
  } catch (error) {
    if (!(error instanceof UnknownClientError)) throw error;
    if (operation === 'oauthToken') count(limits, operation, clientAddress);
    if (!isForPrograms) return endPage('Not connected', error.message, { status: 400, requestId });
    const [code, status] = codeOf(error, operation);
    return answerJson({ error: code, error_description: error.message }, { status, headers: ANY_ORIGIN });
  }
}

/** Clients forget what they have after `invalid_client`, so it is answered only to those that it is true for. */
function codeOf({ isTemporary }: UnknownClientError, operation: string): readonly [string, number] {
  if (operation === 'oauthRegister') return ['invalid_client_metadata', STATUS_OF.invalid];
  return isTemporary
    ? ['temporarily_unavailable', STATUS_OF.unavailable]
    : ['invalid_client', STATUS_OF.unauthenticated];
}

/** A refusal as clients read it, in web pages too: its code is one of OAuth (RFC 6749, section 5.2). */
function refusal(error: unknown, { onRefusal, operation }: Exchange): HttpAnswer {
  if (!(error instanceof DomainError)) throw error;
  onRefusal(error, operation);
  const { status, message, headers } = error;
  const code = status === 429 || status >= 500 ? 'temporarily_unavailable' : 'invalid_request';
  const document = { error: code, error_description: message };
  return answerJson(document, { status, headers: { 'Cache-Control': 'no-store', ...headers, ...ANY_ORIGIN } });
}

/** Clients with a grant ask for tokens, and from one address there can be many; only failures count. */
const UNCOUNTED = new Set(['oauthToken', 'oauthMetadata', 'oauthKeys']);

function count(limits: ClientLimits, operation: string, address: string | undefined): void {
  const excess = limits.count(operation, address);
  if (excess) throw excess;
}

/** What the package answers with HTML is a page like all others. */
function asPage(given: HttpAnswer): HttpAnswer {
  const isHtml = given.headers['Content-Type']?.startsWith('text/html') === true;
  if (!isHtml || given.headers['Content-Security-Policy'] !== undefined) return given;
  const page = answerHtml('', { status: given.status });
  return { ...given, headers: { ...given.headers, ...page.headers } };
}

function notAllowed({ GET, POST }: Endpoint): DomainError {
  const allowed = [...(GET ? ['GET'] : []), ...(POST ? ['POST'] : [])].join(', ');
  return new DomainError('methodNotAllowed', `allowed here: ${allowed}`, { headers: { Allow: allowed } });
}
