import { type InferKyselyDB, type Opt, defineEntity, p } from '@mikro-orm/postgresql';
import type { ApiKeyId, GroupId, McpAuthorizationId, McpConnectionId, OrganizationId } from '../../core/ids.ts';
import { Organization } from '../organizations/public.ts';
import { User } from '../users/public.ts';
import type { AuthorizationServer } from './authorization/authorization-server.ts';
import { STATUSES, type Status, standingOf } from './status.ts';

export const TYPES = ['remote', 'stdio'] as const;
export const VISIBILITIES = ['shared', 'personal'] as const;
export const AUTH_TYPES = ['oauth', 'client_credentials', 'static_headers'] as const;
export const OAUTH_REGISTRATIONS = ['automatic', 'pre_registered'] as const;
/** Which tools of a connection can be used: all, or only the named ones. */
export const TOOL_POLICY_MODES = ['ALL', 'ONLY'] as const;
export interface ToolPolicy {
  readonly mode: (typeof TOOL_POLICY_MODES)[number];
  readonly names: readonly string[];
}
/** Who sees and uses a shared connection: everybody in the organization, or the groups that are named. */
export const ACCESS_MODES = ['ALL', 'GROUPS'] as const;
export interface ConnectionAccess {
  readonly mode: (typeof ACCESS_MODES)[number];
  readonly groupIds: readonly GroupId[];
}
export const TOOL_EFFECTS = ['ALLOW', 'ASK', 'DENY'] as const;
export type ToolEffect = (typeof TOOL_EFFECTS)[number];
export interface ToolRule {
  /** Names of tools, or beginnings of names with `*`. */
  readonly tools: readonly string[];
  /** For whom it counts; empty for everybody. */
  readonly groupIds: readonly GroupId[];
  readonly effect: ToolEffect;
}
/** What happens to tools that are new or changed, until they are accepted. */
export const TOOL_CHANGES = ['ALLOW', 'HOLD'] as const;
/** Tools that are new or changed since they were accepted; of many, the first. */
export interface ChangedTools {
  /** Identifies what has changed. */
  readonly hash: string;
  readonly count: number;
  readonly names: readonly string[];
}
export const TOOL_CALL_RECORDINGS = ['ALL', 'NONE'] as const;
export type Visibility = (typeof VISIBILITIES)[number];
export type AuthType = (typeof AUTH_TYPES)[number];

const McpConnectionSchema = defineEntity({
  name: 'McpConnection',
  tableName: 'mcp_connection',
  properties: {
    id: p.uuid().$type<McpConnectionId>().primary(),
    organization: () => p.manyToOne(Organization).deleteRule('cascade'),
    /** The user who created the connection; null when that account is deleted. A personal connection is visible only to its owner. */
    owner: () => p.manyToOne(User).nullable().deleteRule('set null'),
    name: p.text(),
    type: p.enum(TYPES),
    visibility: p.enum(VISIBILITIES),
    command: p.text().nullable(),
    args: p.array().nullable(),
    /** Names only. The values are in the secret store. */
    envKeys: p.array(),
    serverUrl: p.text().nullable(),
    authType: p.enum(AUTH_TYPES).nullable(),
    headerKeys: p.array(),
    clientId: p.text().nullable(),
    oauthRegistration: p.enum(OAUTH_REGISTRATIONS).nullable(),
    /** The scope to request. When null, the scope that the server asks for. */
    scope: p.text().nullable(),
    status: p.enum(STATUSES),
    statusReason: p.text().nullable(),
    connectedAt: p.datetime().nullable(),
    lastCheckedAt: p.datetime().nullable(),
    authorizationExpiresAt: p.datetime().nullable(),
    /** The authorization server that issued the tokens. Stored credentials are never sent to another issuer. */
    authorizationServer: p.json<AuthorizationServer>().nullable(),
    /** Scope that the server required in addition to the granted scopes (`insufficient_scope`, RFC 6750, section 3.1). */
    challengedScope: p.text().nullable(),
    grantedScopes: p.array().nullable(),
    tokenExpiresAt: p.datetime().nullable(),
    /** When the tokens are due for a refresh, which is before they expire. */
    refreshAfter: p.datetime().nullable(),
    /** Incremented when the tokens change, so that requests that wait for a refresh notice it. */
    tokenVersion: p.integer().$type<Opt<number>>().default(0),
    /** Until then the process that took the lease refreshes the tokens, and the others wait. */
    refreshLeaseUntil: p.datetime().nullable(),
    refreshFailures: p.integer().$type<Opt<number>>().default(0),
    /** After a temporary failure, the earliest time of the next refresh. */
    refreshNotBefore: p.datetime().nullable(),
    /** The name in the names of tools. Only gateways of earlier versions leave it to the default. */
    handle: p.text().defaultRaw(`('server-' || gen_random_uuid())`),
    toolPolicy: p.json<ToolPolicy>().$type<Opt<ToolPolicy>>().defaultRaw(`'{"mode":"ALL","names":[]}'`),
    access: p.json<ConnectionAccess>().$type<Opt<ConnectionAccess>>().defaultRaw(`'{"mode":"ALL","groupIds":[]}'`),
    toolRules: p.json<readonly ToolRule[]>().$type<Opt<readonly ToolRule[]>>().defaultRaw(`'[]'`),
    approverGroupIds: p.array<GroupId>().default([]),
    onToolChange: p.enum(TOOL_CHANGES).default('ALLOW'),
    changedTools: p.json<ChangedTools>().nullable(),
    recordToolCalls: p.enum(TOOL_CALL_RECORDINGS).default('ALL'),
    /** For authorization requests to servers that need one. */
    audience: p.text().nullable(),
    /** The resource (RFC 8707) to ask for, in place of the address of the server. */
    resource: p.text().nullable(),
    allowMissingPkceMetadata: p.boolean().default(false),
    /** Incremented when what is kept of the server's lists may no longer be valid. */
    listVersion: p.integer().$type<Opt<number>>().default(0),
    createdAt: p.datetime(),
    updatedAt: p.datetime(),
  },
  uniques: [
    { name: 'mcp_connection_handle_unique', properties: ['organization', 'handle'] },
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

/** A registered MCP server: a stdio command, which is only stored, or a remote server, which can be connected and authorized. */
export class McpConnection extends McpConnectionSchema.class {
  /** Sets the status `CONNECTED` and clears the reason and the pending authorization. */
  connect(at: Date): void {
    if (this.status !== 'CONNECTED') this.updatedAt = at;
    this.status = 'CONNECTED';
    this.statusReason = null;
    this.connectedAt ??= at;
    this.lastCheckedAt = at;
    this.authorizationExpiresAt = null;
  }

  /** Sets a status in which the connection cannot be used. `connectedAt` is kept only for `UNREACHABLE`. */
  stop(
    status: Exclude<Status, 'CONNECTED' | 'STORED'>,
    reason: string | null,
    at: Date,
    authorizationExpiresAt: Date | null = null,
  ): void {
    this.status = status;
    this.statusReason = reason;
    this.listVersion += 1;
    if (status !== 'UNREACHABLE') this.connectedAt = null;
    this.lastCheckedAt = at;
    this.authorizationExpiresAt = authorizationExpiresAt;
    this.updatedAt = at;
  }

  /** Whether an authorization was started and can still be completed. */
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
    id: p.uuid().$type<McpAuthorizationId>().primary(),
    organization: () => p.manyToOne(Organization).deleteRule('cascade'),
    connection: () => p.manyToOne(McpConnection).deleteRule('cascade'),
    user: () => p.manyToOne(User).deleteRule('cascade'),
    /** API key of the request that started the authorization. The audit log uses it to name the user. */
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

/** A pending authorization. The first callback deletes the row. */
export class McpAuthorization extends McpAuthorizationSchema.class {}
McpAuthorizationSchema.setClass(McpAuthorization);

const McpTokenRevocationSchema = defineEntity({
  name: 'McpTokenRevocation',
  tableName: 'mcp_token_revocation',
  properties: {
    id: p.uuid().primary(),
    /** Not a foreign key, because the row can exist for a few hours after the organization is deleted. */
    organizationId: p.uuid().$type<OrganizationId>(),
    authorizationServer: p.json<AuthorizationServer>(),
    attempts: p.integer(),
    createdAt: p.datetime(),
  },
});

/** Tokens of a deleted connection that must still be revoked at the authorization server. */
export class McpTokenRevocation extends McpTokenRevocationSchema.class {}
McpTokenRevocationSchema.setClass(McpTokenRevocation);

const McpUsedHandleSchema = defineEntity({
  name: 'McpUsedHandle',
  tableName: 'mcp_used_handle',
  properties: {
    id: p.uuid().primary(),
    organization: () => p.manyToOne(Organization).deleteRule('cascade'),
    /** The owner of a personal connection. */
    owner: () => p.manyToOne(User).nullable().deleteRule('cascade'),
    /** In lower case. */
    handle: p.text(),
    /** SHA-256 of the address of the server: a new connection to the same one may have the handle. */
    serverHash: p.blob().nullable(),
    releasedAt: p.datetime(),
  },
  uniques: [{ name: 'mcp_used_handle_unique', properties: ['organization', 'handle'] }],
  indexes: [
    { name: 'mcp_used_handle_owner_index', properties: ['owner'] },
    { name: 'mcp_used_handle_age_index', properties: ['releasedAt'] },
  ],
});

/** A handle that a connection has had: agents may still call tools by it. */
export class McpUsedHandle extends McpUsedHandleSchema.class {}
McpUsedHandleSchema.setClass(McpUsedHandle);

const McpToolDefinitionsSchema = defineEntity({
  name: 'McpToolDefinitions',
  tableName: 'mcp_tool_definitions',
  properties: {
    connection: () => p.manyToOne(McpConnection).primary().deleteRule('cascade'),
    organization: () => p.manyToOne(Organization).deleteRule('cascade'),
    /** What was accepted of each tool, as JSON. */
    accepted: p.text(),
  },
  indexes: [{ name: 'mcp_tool_definitions_organization_index', properties: ['organization'] }],
});

/** What people have accepted of what a server says of its tools. The first list of a connection is accepted. */
export class McpToolDefinitions extends McpToolDefinitionsSchema.class {}
McpToolDefinitionsSchema.setClass(McpToolDefinitions);

export type McpConnectionTables = InferKyselyDB<
  | typeof McpConnectionSchema
  | typeof McpAuthorizationSchema
  | typeof McpUsedHandleSchema
  | typeof McpToolDefinitionsSchema
>;
