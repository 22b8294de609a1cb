import { FRONT_END_SCOPES, GRANTABLE_SCOPES, type Scope } from '../core/access.ts';
import { type DomainError, ForbiddenError, STATUS_OF } from '../core/errors.ts';
import { FRONT_END_RESOURCE, RECORDING_RESOURCE, isMcpAddress, resourceOf } from '../core/http/mcp-addresses.ts';
import { type HttpAnswer, answerJson, answerWith } from '../core/http/messages.ts';
import { USE_MCP_CONNECTIONS, USE_SESSION_CONNECTIONS } from '../domains/mcp-use/public.ts';
import { type Dependencies, publicUrlOf } from './dependencies.ts';
import type { Exchange } from './exchange.ts';
import { scopesOfTools } from './mcp/tools.ts';

/**
 * The addresses that clients get grants for (RFC 9728): those of MCP clients, the paths of recording, and GraphQL for front ends. Everything here is decided by the
 * path alone, so that it is the same for objects that do not exist.
 */

const WELL_KNOWN = '/.well-known/oauth-protected-resource';

type ResourceParts = Pick<Dependencies, 'config' | 'address' | 'mcpTools'>;

/** The scopes that a resource can use; undefined if there is no resource with the path. */
export function scopesOfResource(
  path: string,
  { mcpTools }: Pick<Dependencies, 'mcpTools'>,
): readonly Scope[] | undefined {
  if (path === FRONT_END_RESOURCE) return FRONT_END_SCOPES;
  if (path === RECORDING_RESOURCE) return ['sessions.record', 'sessions.read'];
  if (!isMcpAddress(path)) return undefined;
  if (path === '/mcp') return scopesOfTools(mcpTools.values()).filter((scope) => GRANTABLE_SCOPES.includes(scope));
  return (path.startsWith(`${RECORDING_RESOURCE}/`) ? USE_SESSION_CONNECTIONS : USE_MCP_CONNECTIONS).scopes;
}

const ANY_ORIGIN = { 'Access-Control-Allow-Origin': '*' } as const;

/** Answers the metadata of the resources. Undefined for other paths. */
export function answerResourceMetadata(
  { request, path: wanted }: Exchange,
  parts: ResourceParts,
): HttpAnswer | undefined {
  if (!wanted.startsWith(WELL_KNOWN)) return undefined;
  const path = wanted.slice(WELL_KNOWN.length);
  if (path !== '' && !path.startsWith('/')) return undefined;
  const scopes = scopesOfResource(path, parts);
  if (!scopes) {
    const error = `there is no protected resource at ${path.slice(0, 200) || '/'}`;
    return answerJson({ error }, { status: STATUS_OF.notFound, headers: ANY_ORIGIN });
  }
  if (request.method === 'OPTIONS')
    return answerWith(null, {
      status: 204,
      headers: { ...ANY_ORIGIN, 'Access-Control-Allow-Methods': 'GET', 'Access-Control-Allow-Headers': '*' },
    });
  if (request.method !== 'GET' && request.method !== 'HEAD')
    return answerJson(
      { error: `${request.method} is not allowed here; allowed: GET, HEAD` },
      { status: STATUS_OF.methodNotAllowed, headers: { ...ANY_ORIGIN, Allow: 'GET, HEAD' } },
    );
  const publicUrl = publicUrlOf(parts);
  const metadata = {
    resource: publicUrl + path,
    authorization_servers: [publicUrl],
    scopes_supported: scopes,
    bearer_methods_supported: ['header'],
    resource_name: 'Workspace Gateway',
  };
  return answerJson(metadata, { headers: ANY_ORIGIN });
}

/**
 * The challenge of a refusal (RFC 6750, section 3): for MCP clients without credentials, which then ask a person for a grant, and for clients
 * with a grant. Undefined for all others, because a request with a key must not start an authorization.
 */
export function challengeOf(
  error: DomainError,
  { request, path: wanted, actor }: Pick<Exchange, 'request' | 'path' | 'actor'>,
  parts: ResourceParts,
): string | undefined {
  const path = resourceOf(wanted);
  const metadata = path && { resource_metadata: publicUrlOf(parts) + WELL_KNOWN + path };
  if (error instanceof ForbiddenError && error.scopes.length > 0 && actor?.kind === 'OAUTH_GRANT')
    return bearer({ error: 'insufficient_scope', scope: error.scopes.join(' '), ...metadata });
  if (error.kind !== 'unauthenticated') return undefined;
  const authorization = request.headers.get('authorization');
  const isGrant = /^Bearer +wgo_/i.test(authorization ?? '');
  if (!isGrant && (authorization !== null || !isMcpAddress(wanted))) return undefined;
  const scope = path && { scope: scopesOfResource(path, parts)?.join(' ') ?? '' };
  return bearer({ ...(isGrant && { error: 'invalid_token' }), ...metadata, ...scope });
}

/** The values have no characters that must be escaped. */
function bearer(parameters: Readonly<Record<string, string>>): string {
  const listed = Object.entries(parameters).map(([name, value]) => `${name}="${value}"`);
  return listed.length === 0 ? 'Bearer' : `Bearer ${listed.join(', ')}`;
}
