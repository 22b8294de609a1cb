import type { EntityManager } from '@mikro-orm/postgresql';
import type { OAuthTokens } from '@modelcontextprotocol/client';
import { MIN_REFRESH_MS, refreshTimes } from './authorization/refresh-schedule.ts';
import type { McpAuthorizationId, McpConnectionId, OrganizationId } from '../../core/ids.ts';
import type { WorkContext } from '../../core/operation.ts';
import { deleteSecrets, openSecrets, readSecrets, storeSecret } from '../../core/secrets/secret-store.ts';
import type { SecretBox } from '../../core/secrets/secrets.ts';
import { invalid } from '../../core/errors.ts';
import type { McpConnection } from './entity.ts';
import { MAX_NAMES } from './input.ts';
import type { OAuthClient } from './authorization/authorization-server.ts';

/** Reads and writes the credentials of connections. Each is one row in the secret store. */

/** Tokens that one authorization server issued. */
export interface TokenSet {
  readonly issuer: string;
  readonly accessToken: string;
  readonly refreshToken: string | undefined;
  /** The scope that was asked for, which some servers expect again at a refresh. Empty if none is sent; missing in tokens of older versions. */
  readonly scope?: string | undefined;
}

export interface Credentials {
  readonly headers: Readonly<Record<string, string>>;
  readonly clientSecret: string | undefined;
  readonly registration: OAuthClient | undefined;
  readonly tokens: TokenSet | undefined;
}

export const CONNECTION_TABLE = 'mcp_connection';
const CLIENT_SECRET = 'client_secret';
const REGISTRATION = 'registration';
export const TOKENS = 'tokens';
export const HEADER = 'header.';
const ENV = 'env.';

type Store = SecretBox;
type Owner = Pick<McpConnection, 'id' | 'organization'>;

const ownerOf = ({ id, organization }: Owner) => ({ table: CONNECTION_TABLE, id, organizationId: organization.id });

export const readCredentials = async (
  em: EntityManager,
  secrets: Store,
  connectionId: McpConnectionId,
): Promise<Credentials> =>
  parseCredentials(await readSecrets(em, secrets, { table: CONNECTION_TABLE, id: connectionId }));

/** Decrypts the credentials that a statement has read. */
export const openCredentials = async (
  box: SecretBox,
  id: McpConnectionId,
  sealed: Readonly<Record<string, string>>,
): Promise<Credentials> =>
  parseCredentials(await openSecrets(box, { table: CONNECTION_TABLE, id }, Object.entries(sealed)));

function parseCredentials(stored: ReadonlyMap<string, string>): Credentials {
  const parse = <Value>(field: string): Value | undefined => {
    const text = stored.get(field);
    return text === undefined ? undefined : (JSON.parse(text) as Value);
  };
  return {
    headers: Object.fromEntries(
      [...stored].flatMap(([field, value]) => (field.startsWith(HEADER) ? [[field.slice(HEADER.length), value]] : [])),
    ),
    clientSecret: stored.get(CLIENT_SECRET),
    registration: parse<OAuthClient>(REGISTRATION),
    tokens: parse<TokenSet>(TOKENS),
  };
}

export const storeClientSecret = (
  em: EntityManager,
  secrets: Store,
  owner: Owner,
  clientSecret: string,
): Promise<void> => storeSecret(em, secrets, ownerOf(owner), CLIENT_SECRET, clientSecret);

export const storeRegistration = (
  em: EntityManager,
  secrets: Store,
  owner: Owner,
  client: OAuthClient,
): Promise<void> => storeSecret(em, secrets, ownerOf(owner), REGISTRATION, JSON.stringify(client));

/**
 * Stores headers or environment variables by name; null removes one. @returns all names after the change, new names last.
 * @throws ValidationError for more than 200 names, unless there were more before
 */
export async function mergeNamed(
  em: EntityManager,
  secrets: Store,
  owner: Owner,
  {
    kind,
    changes,
    names,
  }: { kind: 'env' | 'header'; changes: Readonly<Record<string, string | null>>; names: readonly string[] },
): Promise<string[]> {
  const prefix = kind === 'env' ? ENV : HEADER;
  // Header names ignore case; names of environment variables do not.
  const folded = (name: string) => (kind === 'env' ? name : name.toLowerCase());
  const given = new Map(Object.entries(changes).map(([name, value]) => [folded(name), { name, value }]));
  // A name keeps its place, in its new spelling.
  const merged = new Map(names.map((name) => [folded(name), name]));
  for (const [key, { name, value }] of given) {
    if (value === null) merged.delete(key);
    else merged.set(key, name);
  }
  // A connection of an earlier version can have more, and may lose or replace some of them.
  if (merged.size > Math.max(MAX_NAMES, names.length))
    throw invalid(
      kind === 'env' ? 'env' : 'headers',
      `must leave at most ${MAX_NAMES} names; there would be ${merged.size}`,
      'TOO_MANY',
      MAX_NAMES,
    );
  const replaced = names.filter((name) => given.has(folded(name)));
  await deleteSecrets(
    em,
    ownerOf(owner),
    replaced.map((name) => prefix + name),
  );
  for (const { name, value } of given.values())
    if (value !== null) await storeSecret(em, secrets, ownerOf(owner), prefix + name, value);
  return [...merged.values()];
}

export interface NewTokens {
  readonly issuer: string;
  readonly tokens: OAuthTokens;
  /** The scope that was asked for. */
  readonly scope: string | undefined;
}

/** Replaces the stored tokens and sets the time of the next refresh. The old refresh token stays when the answer has no new one. */
export async function storeTokens(
  { em, secrets, now, mcpObserver }: Pick<WorkContext, 'em' | 'secrets' | 'now' | 'mcpObserver'>,
  connection: McpConnection,
  { issuer, tokens, scope }: NewTokens,
): Promise<void> {
  const set: TokenSet = {
    issuer,
    accessToken: tokens.access_token,
    refreshToken: tokens.refresh_token,
    scope: scopeToRepeat(scope, tokens.scope),
  };
  await storeSecret(em, secrets, ownerOf(connection), TOKENS, JSON.stringify(set));
  if (tokens.expires_in !== undefined && tokens.expires_in * 1000 < MIN_REFRESH_MS)
    mcpObserver.problemFound('lifetime', { connectionId: connection.id, host: new URL(issuer).host });
  connection.setTokens({
    ...refreshTimes(tokens, now()),
    // Some servers separate scopes with commas.
    scopes: tokens.scope?.split(/[\s,]+/).filter(Boolean) ?? connection.grantedScopes ?? null,
  });
}

/**
 * The scope of the next refresh: the one that was asked for, or what was granted of it, because a refresh cannot ask for more (RFC 6749,
 * section 6). Servers can grant scopes under other names than those that were asked for.
 */
function scopeToRepeat(asked: string | undefined, granted: string | undefined): string | undefined {
  const known = asked?.split(' ') ?? [];
  const isPart = granted !== undefined && granted !== '' && granted.split(' ').every((scope) => known.includes(scope));
  return isPart ? granted : asked;
}

/** The next refresh does not send the scope that was asked for, because the server has refused it. */
export async function forgetAskedScope(
  em: EntityManager,
  secrets: Store,
  connection: McpConnection,
  tokens: TokenSet,
): Promise<void> {
  await storeSecret(em, secrets, ownerOf(connection), TOKENS, JSON.stringify({ ...tokens, scope: '' }));
}

export async function forgetTokens(em: EntityManager, connection: McpConnection): Promise<void> {
  await deleteSecrets(em, ownerOf(connection), [TOKENS]);
  connection.setTokens({ expiresAt: null, refreshAfter: null, scopes: null });
}

export const forgetRegistration = (em: EntityManager, connection: McpConnection): Promise<void> =>
  deleteSecrets(em, ownerOf(connection), [REGISTRATION]);

/** Deletes all secrets of the connection, or one field. */
export const forgetSecrets = (em: EntityManager, connection: McpConnection, field?: string): Promise<void> =>
  deleteSecrets(em, ownerOf(connection), field === undefined ? undefined : [field]);

export const AUTHORIZATION_TABLE = 'mcp_authorization';
const CODE_VERIFIER = 'code_verifier';

/** The PKCE verifier (RFC 7636) and the client of a pending authorization. */
export interface PendingSecret {
  readonly codeVerifier: string;
  readonly client: OAuthClient;
  /** The requested scope. A server that grants exactly this scope can omit it from its answer (RFC 6749, section 5.1). */
  readonly scope: string | undefined;
}

export const storePending = (
  em: EntityManager,
  secrets: Store,
  owner: { id: McpAuthorizationId; organizationId: OrganizationId },
  pending: PendingSecret,
): Promise<void> =>
  storeSecret(em, secrets, { table: AUTHORIZATION_TABLE, ...owner }, CODE_VERIFIER, JSON.stringify(pending));

/** Reads and deletes the secret, so that it can be used only once. */
export async function takePending(
  em: EntityManager,
  secrets: Store,
  id: McpAuthorizationId,
): Promise<PendingSecret | undefined> {
  const text = (await readSecrets(em, secrets, { table: AUTHORIZATION_TABLE, id })).get(CODE_VERIFIER);
  await forgetPending(em, id);
  return text === undefined ? undefined : (JSON.parse(text) as PendingSecret);
}

export const forgetPending = (em: EntityManager, id: McpAuthorizationId): Promise<void> =>
  deleteSecrets(em, { table: AUTHORIZATION_TABLE, id });
