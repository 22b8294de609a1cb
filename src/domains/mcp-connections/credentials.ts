import type { EntityManager } from '@mikro-orm/postgresql';
import type { OAuthTokens } from '@modelcontextprotocol/client';
import type { OrganizationId } from '../../core/ids.ts';
import { deleteSecrets, readSecrets, storeSecret } from '../../core/secrets/secret-store.ts';
import type { SecretBox } from '../../core/secrets/secrets.ts';
import type { McpConnection } from './entity.ts';
import type { OAuthClient } from './oauth/client.ts';

/** The secrets of a connection: one row each in the store of secrets. Everything that is a credential is read and written here. */

/** Tokens of one issuer. */
export interface TokenSet {
  readonly issuer: string;
  readonly accessToken: string;
  readonly refreshToken: string | undefined;
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
const TOKENS = 'tokens';
const HEADER = 'header.';
const ENV = 'env.';

type Store = SecretBox;
type Owner = Pick<McpConnection, 'id' | 'organization'>;

function ownerOf({ id, organization }: Owner) {
  return { table: CONNECTION_TABLE, id, organizationId: organization.id };
}

export async function readCredentials(em: EntityManager, secrets: Store, connectionId: string): Promise<Credentials> {
  const stored = await readSecrets(em, secrets, { table: CONNECTION_TABLE, id: connectionId });
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

export function storeClientSecret(
  em: EntityManager,
  secrets: Store,
  owner: Owner,
  clientSecret: string,
): Promise<void> {
  return storeSecret(em, secrets, ownerOf(owner), CLIENT_SECRET, clientSecret);
}

export function storeRegistration(em: EntityManager, secrets: Store, owner: Owner, client: OAuthClient): Promise<void> {
  return storeSecret(em, secrets, ownerOf(owner), REGISTRATION, JSON.stringify(client));
}

/** Null removes one, the others replace. @returns the names that are left, in their order, new ones last. */
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
  // Names of headers differ in more than case; those of variables may not.
  const same = (a: string, b: string) => (kind === 'env' ? a === b : a.toLowerCase() === b.toLowerCase());
  const replaced = names.filter((name) => Object.keys(changes).some((key) => same(key, name)));
  await deleteSecrets(
    em,
    ownerOf(owner),
    replaced.map((name) => prefix + name),
  );
  const given = Object.entries(changes).flatMap(([name, value]) => (value === null ? [] : [{ name, value }]));
  for (const { name, value } of given) await storeSecret(em, secrets, ownerOf(owner), prefix + name, value);
  const kept = names.flatMap((name) =>
    replaced.includes(name) ? given.flatMap((one) => (same(one.name, name) ? [one.name] : [])) : [name],
  );
  return [...kept, ...given.flatMap(({ name }) => (kept.includes(name) ? [] : [name]))];
}

/** Stores tokens in place of earlier ones, and sets on the row when they are to be refreshed. A refresh token that is not renewed stays. */
export async function storeTokens(
  em: EntityManager,
  secrets: Store,
  connection: McpConnection,
  tokens: OAuthTokens,
  issuer: string,
  now: Date,
): Promise<void> {
  const set: TokenSet = { issuer, accessToken: tokens.access_token, refreshToken: tokens.refresh_token };
  await storeSecret(em, secrets, ownerOf(connection), TOKENS, JSON.stringify(set));
  const seconds = tokens.expires_in;
  const lifetimeMs =
    seconds !== undefined && Number.isFinite(seconds)
      ? Math.min(Math.max(seconds, 0), 10 * 365 * 86_400) * 1000
      : undefined;
  connection.setTokens({
    expiresAt: lifetimeMs === undefined ? null : new Date(now.getTime() + lifetimeMs),
    refreshAfter: lifetimeMs === undefined ? null : new Date(now.getTime() + lifetimeMs - refreshMarginMs(lifetimeMs)),
    scopes: tokens.scope?.split(' ').filter(Boolean) ?? connection.grantedScopes ?? null,
  });
}

/** One to two minutes ahead, less for short lives; by chance, so that tokens that were given together are not refreshed together. */
function refreshMarginMs(lifetimeMs: number): number {
  const spread = 1 + Math.random();
  return Math.min(60_000 * spread, lifetimeMs * 0.2 * spread);
}

export async function forgetTokens(em: EntityManager, connection: McpConnection): Promise<void> {
  await deleteSecrets(em, ownerOf(connection), [TOKENS]);
  connection.setTokens({ expiresAt: null, refreshAfter: null, scopes: null });
}

export function forgetRegistration(em: EntityManager, connection: McpConnection): Promise<void> {
  return deleteSecrets(em, ownerOf(connection), [REGISTRATION]);
}

/** All secrets of it, or one of them. */
export function forgetSecrets(em: EntityManager, connection: McpConnection, field?: string): Promise<void> {
  return deleteSecrets(em, ownerOf(connection), field === undefined ? undefined : [field]);
}

export const AUTHORIZATION_TABLE = 'mcp_authorization';
const CODE_VERIFIER = 'code_verifier';

/** The PKCE verifier of an authorization that was begun (RFC 7636), with the client that it was begun with. */
export interface PendingSecret {
  readonly codeVerifier: string;
  readonly client: OAuthClient;
  /** What was asked for; a server that grants just this need not repeat it (RFC 6749, section 5.1). */
  readonly scope: string | undefined;
}

export function storePending(
  em: EntityManager,
  secrets: Store,
  owner: { id: string; organizationId: OrganizationId },
  pending: PendingSecret,
): Promise<void> {
  return storeSecret(em, secrets, { table: AUTHORIZATION_TABLE, ...owner }, CODE_VERIFIER, JSON.stringify(pending));
}

/** Reads and forgets it: it serves once. */
export async function takePending(em: EntityManager, secrets: Store, id: string): Promise<PendingSecret | undefined> {
  const text = (await readSecrets(em, secrets, { table: AUTHORIZATION_TABLE, id })).get(CODE_VERIFIER);
  await forgetPending(em, id);
  return text === undefined ? undefined : (JSON.parse(text) as PendingSecret);
}

export function forgetPending(em: EntityManager, id: string): Promise<void> {
  return deleteSecrets(em, { table: AUTHORIZATION_TABLE, id });
}
