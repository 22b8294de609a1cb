import { type InferKyselyDB, type Opt, defineEntity, p } from '@mikro-orm/postgresql';
import type { ApiKeyId, OrganizationId } from '../../core/ids.ts';
import { Organization } from '../organizations/entity.ts';
import { User } from '../users/entity.ts';
import type { AuthorizationServer } from './oauth/client.ts';
import { STATUSES, type Status, standingOf } from './status.ts';

export const TYPES = ['remote', 'stdio'] as const;
export const VISIBILITIES = ['shared', 'personal'] as const;
export const AUTH_TYPES = ['oauth', 'client_credentials', 'static_headers'] as const;
export const OAUTH_REGISTRATIONS = ['automatic', 'pre_registered'] as const;
export type Visibility = (typeof VISIBILITIES)[number];
export type AuthType = (typeof AUTH_TYPES)[number];

const McpConnectionSchema = defineEntity({
  name: 'McpConnection',
  tableName: 'mcp_connection',
  properties: {
    id: p.uuid().primary(),
    organization: () => p.manyToOne(Organization).deleteRule('cascade'),
    /** Who created it; null once that account is deleted. A personal connection is visible to its owner alone. */
    owner: () => p.manyToOne(User).nullable().deleteRule('set null'),
    name: p.text(),
    type: p.enum(TYPES),
    visibility: p.enum(VISIBILITIES),
    command: p.text().nullable(),
    args: p.array().nullable(),
    /** Names alone; the values are secrets. */
    envKeys: p.array(),
    serverUrl: p.text().nullable(),
    authType: p.enum(AUTH_TYPES).nullable(),
    headerKeys: p.array(),
    clientId: p.text().nullable(),
    oauthRegistration: p.enum(OAUTH_REGISTRATIONS).nullable(),
    /** The scope that its owner wants; without one, what the server asks for. */
    scope: p.text().nullable(),
    status: p.enum(STATUSES),
    statusReason: p.text().nullable(),
    connectedAt: p.datetime().nullable(),
    lastCheckedAt: p.datetime().nullable(),
    authorizationExpiresAt: p.datetime().nullable(),
    /** Where its tokens come from, as the server's metadata said; stored credentials belong to its issuer alone. */
    authorizationServer: p.json<AuthorizationServer>().nullable(),
    /** What the server asked for beyond what was granted (RFC 6750, section 3.1, `insufficient_scope`). */
    challengedScope: p.text().nullable(),
    grantedScopes: p.array().nullable(),
    tokenExpiresAt: p.datetime().nullable(),
    /** From here on the tokens are refreshed, ahead of their expiry. */
    refreshAfter: p.datetime().nullable(),
    /** Counts changes of the tokens, so that whoever waits for a refresh sees that it is done. */
    tokenVersion: p.integer().$type<Opt<number>>().default(0),
    /** Whoever set it refreshes the tokens until then; the others wait. */
    refreshLeaseUntil: p.datetime().nullable(),
    refreshFailures: p.integer().$type<Opt<number>>().default(0),
    /** After a passing failure, no refresh before this. */
    refreshNotBefore: p.datetime().nullable(),
    createdAt: p.datetime(),
    updatedAt: p.datetime(),
  },
  uniques: [
    { name: 'mcp_connection_shared_name_unique', properties: ['organization', 'name'], where: `visibility = 'shared'` },
    {
      name: 'mcp_connection_personal_name_unique',
      properties: ['organization', 'owner', 'name'],
      where: `visibility = 'personal'`,
    },
  ],
  indexes: [
    { name: 'mcp_connection_organization_index', properties: ['organization', 'name', 'id'] },
    { name: 'mcp_connection_owner_index', properties: ['owner'] },
    { name: 'mcp_connection_refresh_index', properties: ['refreshAfter'] },
  ],
});

/** A registered MCP server: a stdio command that is only kept, or a remote server that is connected and authorized. */
export class McpConnection extends McpConnectionSchema.class {
  /** It works: what stood in its way is over. */
  connect(at: Date): void {
    if (this.status !== 'CONNECTED') this.updatedAt = at;
    this.status = 'CONNECTED';
    this.statusReason = null;
    this.connectedAt ??= at;
    this.lastCheckedAt = at;
    this.authorizationExpiresAt = null;
  }

  /** It does not work, or not yet. Only an outage keeps the time of connecting. */
  stop(
    status: Exclude<Status, 'CONNECTED' | 'STORED'>,
    reason: string | null,
    at: Date,
    authorizationExpiresAt: Date | null = null,
  ): void {
    this.status = status;
    this.statusReason = reason;
    if (status !== 'UNREACHABLE') this.connectedAt = null;
    this.lastCheckedAt = at;
    this.authorizationExpiresAt = authorizationExpiresAt;
    this.updatedAt = at;
  }

  /** Its user has still to complete the authorization that was begun. */
  isPending(at: Date): boolean {
    return standingOf(this, at).status === 'PENDING_AUTHORIZATION';
  }

  setTokens({
    expiresAt,
    refreshAfter,
    scopes,
  }: {
    expiresAt: Date | null;
    refreshAfter: Date | null;
    scopes: string[] | null;
  }): void {
    this.tokenExpiresAt = expiresAt;
    this.refreshAfter = refreshAfter;
    this.grantedScopes = scopes;
    this.tokenVersion += 1;
    this.refreshLeaseUntil = null;
    this.refreshFailures = 0;
    this.refreshNotBefore = null;
  }
}
McpConnectionSchema.setClass(McpConnection);

const McpAuthorizationSchema = defineEntity({
  name: 'McpAuthorization',
  tableName: 'mcp_authorization',
  properties: {
    id: p.uuid().primary(),
    organization: () => p.manyToOne(Organization).deleteRule('cascade'),
    connection: () => p.manyToOne(McpConnection).deleteRule('cascade'),
    user: () => p.manyToOne(User).deleteRule('cascade'),
    /** Of the request that began it; names the user in the audit log. */
    keyId: p.uuid().$type<ApiKeyId>().nullable(),
    /** SHA-256 of the `state` parameter, which is the credential of the callback. */
    stateHash: p.blob(),
    issuer: p.text(),
    redirectUri: p.text(),
    expiresAt: p.datetime(),
  },
  uniques: [{ name: 'mcp_authorization_state_unique', properties: ['stateHash'] }],
  indexes: [
    { name: 'mcp_authorization_connection_index', properties: ['connection'] },
    { name: 'mcp_authorization_expiry_index', properties: ['expiresAt'] },
  ],
});

/** An authorization that was begun and waits for its callback; taken out of the table by the first that comes. */
export class McpAuthorization extends McpAuthorizationSchema.class {}
McpAuthorizationSchema.setClass(McpAuthorization);

const McpTokenRevocationSchema = defineEntity({
  name: 'McpTokenRevocation',
  tableName: 'mcp_token_revocation',
  properties: {
    id: p.uuid().primary(),
    /** No relation: it outlives the organization by a few hours at most. */
    organizationId: p.uuid().$type<OrganizationId>(),
    authorizationServer: p.json<AuthorizationServer>(),
    attempts: p.integer(),
    createdAt: p.datetime(),
  },
});

/** Tokens of a deleted connection that are still to be revoked at their server. */
export class McpTokenRevocation extends McpTokenRevocationSchema.class {}
McpTokenRevocationSchema.setClass(McpTokenRevocation);

export type McpConnectionTables = InferKyselyDB<typeof McpConnectionSchema | typeof McpAuthorizationSchema>;
