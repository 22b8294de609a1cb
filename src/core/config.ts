import { isIP } from 'node:net';
import { z } from 'zod';
import { isOwnPath } from './http/base-path.ts';
import { keysOf } from './keys-of.ts';
import { type Network, parseNetwork } from './http/client-address.ts';
import { auditFloorFault } from './audit-log-minimum.ts';
import { operatorClients } from './oauth-clients.ts';
import { OIDC_ENVIRONMENT, oidcFault } from './oidc-settings.ts';
import { parseEncryptionKeys } from './secrets/secrets.ts';

const LOG_LEVELS = ['fatal', 'error', 'warn', 'info', 'debug', 'trace', 'silent'] as const;

export const PRODUCT_FAMILIES = ['marketing', 'sales', 'service', 'content', 'data', 'revenue'] as const;
export const SUBSCRIPTION_LEVELS = ['free', 'starter', 'professional', 'enterprise'] as const;
export type ProductFamily = (typeof PRODUCT_FAMILIES)[number];
export type SubscriptionLevel = (typeof SUBSCRIPTION_LEVELS)[number];
export type Subscriptions = Partial<Record<ProductFamily, SubscriptionLevel>>;

function wholeNumber(max = Number.MAX_SAFE_INTEGER, min = 0) {
  const message = `must be a whole number from ${min} to ${max}`;
  return z
    .string()
    .regex(/^\d{1,15}$/, message)
    .transform(Number)
    .refine((value) => value >= min && value <= max, message);
}

const flag = z.enum(['true', 'false'], 'must be true or false').transform((value) => value === 'true');

const isUrl = (value: string, ...protocols: string[]): boolean =>
  URL.canParse(value) && protocols.includes(new URL(value).protocol);

const isPostgresUrl = (value: string): boolean => isUrl(value, 'postgres:', 'postgresql:');

/** With a `#` what follows would be left out of the address: passwords often have one. */
export const postgresUrl = z
  .string()
  .refine((value) => !value.includes('#'), 'must be a postgresql:// URL in which # is written as %23')
  .refine(isPostgresUrl, 'must be a postgresql:// URL');

/** A URL to which paths are appended. */
function isBaseUrl(value: string): boolean {
  if (!isUrl(value, 'http:', 'https:')) return false;
  const { username, password, search, hash } = new URL(value);
  return [username, password, search, hash].every((part) => part === '');
}

/** A client identifier URL (OAuth Client ID Metadata Document, section 3). */
const isClientIdUrl = (value: string): boolean =>
  isBaseUrl(value) && isUrl(value, 'https:') && new URL(value).pathname !== '/';

/** An origin as browsers send it: in lower case, without a default port, without a path. */
const isOrigin = (value: string): boolean => isUrl(value, 'http:', 'https:') && new URL(value).origin === value;

const subscriptions = z.string().transform((value, context): Subscriptions => {
  const entries = value
    .split(',')
    .filter(Boolean)
    .map((pair) => pair.split(':'));
  const known = ([family, level, ...rest]: string[]) =>
    PRODUCT_FAMILIES.some((name) => name === family) &&
    SUBSCRIPTION_LEVELS.some((name) => name === level) &&
    rest.length === 0;
  if (!entries.every(known)) {
    context.addIssue(
      `must be FAMILY:LEVEL pairs; families: ${PRODUCT_FAMILIES.join(', ')}; levels: ${SUBSCRIPTION_LEVELS.join(', ')}`,
    );
  }
  const pairs: Subscriptions = Object.fromEntries(entries);
  return pairs;
});

const networks = z.string().transform((value, context): Network[] =>
  value.split(',').map((each) => {
    const network = parseNetwork(each.trim());
    if (!network) context.addIssue('must be IP addresses or CIDR blocks, such as 10.0.0.0/8, separated by commas');
    return network ?? z.NEVER;
  }),
);

const encryptionKeys = z.string().transform((value, context) => {
  try {
    return parseEncryptionKeys(value);
  } catch (error) {
    context.addIssue(error instanceof Error ? error.message : String(error));
    return z.NEVER;
  }
});

const environment = z.object({
  /** The address to listen on; `0.0.0.0` for all. */
  HOST: z
    .string()
    .refine(
      (value) => isIP(value) !== 0 || /^[A-Za-z0-9](?:[A-Za-z0-9.-]{0,252})$/.test(value),
      'must be a host name or an IP address',
    )
    .default('127.0.0.1'),
  /** The port to listen on; `0` selects a free one. */
  PORT: wholeNumber(65_535).default(4000),
  /** How long an idle connection of a client or proxy is kept, 1–3,600; longer than your proxy keeps it. */
  KEEP_ALIVE_SECONDS: wholeNumber(3_600, 1).default(75),
  /** PostgreSQL, as `postgresql://…`; needs `ENCRYPTION_KEYS`. Any number of gateways may share it. Default: embedded. */
  DATABASE_URL: postgresUrl.optional(),
  /** `transaction` if `DATABASE_URL` is PgBouncer or a similar pooler in that mode: each transaction may use another server connection. */
  DATABASE_POOLER: z.enum(['transaction'], 'must be transaction').optional(),
  /** Connections of each process for requests, 4–1,000, of which a request uses up to four at once; two to four more are for other purposes. */
  DATABASE_POOL_SIZE: wholeNumber(1_000, 4).default(20),
  /** The database without the pooler, for `LISTEN` and migrations; required with `DATABASE_POOLER`. Default: `DATABASE_URL`. */
  DATABASE_DIRECT_URL: postgresUrl.optional(),
  /** Standbys, or all servers of the cluster, separated by commas: a standby that has caught up serves reads. */
  DATABASE_REPLICA_URLS: z
    .string()
    .transform((value) => value.split(','))
    .refine(
      (urls) => urls.every((url) => postgresUrl.safeParse(url).success),
      'must be postgresql:// URLs, separated by commas',
    )
    .default([]),
  /** The folder of the embedded PostgreSQL and its key file. */
  DATA_DIR: z.string().min(1).default('.data'),
  /** The URL of the gateway for clients. [With a path](operations.md#below-a-path). Default: the listen address. */
  PUBLIC_URL: z
    .string()
    .refine(isBaseUrl, 'must be an http(s) URL without user, query and fragment')
    .refine(
      (value) => !isUrl(value, 'http:', 'https:') || !isOwnPath(new URL(value).pathname),
      'must not have a path of the gateway, such as /v1',
    )
    // As clients write it, which compare it with what the metadata say.
    .transform((value) => new URL(value).href.replace(/\/+$/, ''))
    .optional(),
  /** URL of the OAuth client metadata document, if authorization servers cannot reach `PUBLIC_URL`. Default: below `PUBLIC_URL`. */
  CLIENT_METADATA_URL: z
    .string()
    .refine(isClientIdUrl, 'must be an https URL with a path, without user, query and fragment')
    .optional(),
  /** `id:base64,id:base64`, 32 bytes each; the first one encrypts, all decrypt. Default: key file in `DATA_DIR`. */
  ENCRYPTION_KEYS: encryptionKeys.optional(),
  /** Allows MCP connections and webhooks to private addresses; only for development. */
  ALLOW_PRIVATE_NETWORK: flag.default(false),
  /** Requests per key and minute, and 200 times as many GraphQL cost points ([limits](limits.md)); `0` disables both. */
  RATE_LIMIT_PER_MINUTE: wholeNumber(1_000_000).default(100),
  /** Requests that a process works on at once ([limits](limits.md)); others wait. */
  REQUESTS_AT_ONCE: wholeNumber(10_000, 1).default(64),
  /** Those of a person or service account, with all keys and sign-ins. */
  REQUESTS_AT_ONCE_OF_PERSON: wholeNumber(10_000, 1).default(16),
  /** Those of a client address without a key. */
  REQUESTS_AT_ONCE_OF_ADDRESS: wholeNumber(10_000, 1).default(8),
  /** Proxies whose `X-Forwarded-For` is trusted: addresses or CIDR blocks, separated by commas. */
  TRUSTED_PROXIES: networks.default([]),
  /** Origins that browsers may call from, such as `https://app.example.com`, separated by commas. */
  CORS_ORIGINS: z
    .string()
    .transform((value) => value.split(','))
    .refine(
      (origins) => origins.every(isOrigin),
      'must be origins as browsers send them, such as https://app.example.com, separated by commas',
    )
    .default([]),
  /** Trusted documents: Relay's JSON file, Apollo's manifest, a `.graphql` file, or a folder of these. */
  PERSISTED_OPERATIONS: z.string().optional(),
  /** `only` refuses all other documents. */
  PERSISTED_OPERATIONS_MODE: z.enum(['also', 'only'], 'must be also or only').default('also'),
  /** A folder of `.graphql` files that are tools at `/mcp`, besides the built-in ones ([MCP](mcp.md#your-own-tools)). */
  MCP_DOCUMENTS: z.string().min(1).optional(),
  /** Whether `/mcp` has the tools that change something. */
  MCP_MUTATIONS: flag.default(false),
  /** The bearer token that `/metrics` requires; 16–1,000 characters. */
  METRICS_TOKEN: z
    .string()
    .regex(/^[\x21-\x7e]{16,1000}$/, 'must be 16 to 1000 printable ASCII characters without spaces')
    .optional(),
  /** `fatal`, `error`, `warn`, `info`, `debug`, `trace` or `silent`; JSON lines, or readable ones at a terminal. */
  LOG_LEVEL: z.enum(LOG_LEVELS, `must be one of ${LOG_LEVELS.join(', ')}`).default('info'),
  /** Subscriptions of a new organization: `family:level` pairs, separated by commas. Default: `marketing:professional`. */
  DEFAULT_SUBSCRIPTION: subscriptions.default({ marketing: 'professional' }),
  /** Whether the gateway runs jobs, such as deletions; `npm run worker` always does. */
  RUN_JOBS: flag.default(true),
  /** The port, on `HOST`, of `/health/live`, `/health/ready` and `/metrics` of `npm run worker`; without it, it does not listen. */
  WORKER_PORT: wholeNumber(65_535).optional(),
  /** Seconds during which the deletion of a user can be canceled. */
  USER_DELETION_DELAY: wholeNumber(31_536_000).default(0),
  /** Hours after which a browser is signed out. */
  SIGN_IN_HOURS: wholeNumber(8760, 1).default(12),
  /** `false`: only the operator deletes accounts, with `users delete`. */
  USER_SELF_DELETION: flag.default(true),
  /** Who creates organizations: `anyone`, or the `operator` alone, with `keys create`. */
  ORGANIZATION_CREATION: z.enum(['anyone', 'operator'], 'must be anyone or operator').default('anyone'),
  /** Event occurrences per month and organization; `0` for no limit. */
  MONTHLY_OCCURRENCE_LIMIT: wholeNumber().default(0),
  /** Replaces credentials in recorded events and descriptions of sessions before they are stored; `off` stores them. Default: `on`. */
  RECORD_REDACTION: z
    .enum(['on', 'off'], 'must be on or off')
    .transform((value) => value === 'on')
    .default(true),
  /** Days for which audit log entries are kept; `0` keeps them forever. */
  AUDIT_RETENTION_DAYS: wholeNumber(36_500).default(365),
  /** The fewest days that an organization can set for its audit log. Default: `90`, or what the next two allow. */
  AUDIT_RETENTION_MIN_DAYS: wholeNumber(36_500).optional(),
  /** The bound in days for what all organizations keep: sessions, occurrences, audit log; `0` sets none. */
  RETENTION_MAX_DAYS: wholeNumber(36_500).default(0),
  ...OIDC_ENVIRONMENT,
  /** Whether OAuth clients can register themselves, beside those with a metadata document. */
  OAUTH_REGISTRATION: flag.default(false),
  /** Public clients of the operator, also where others are off: a JSON list of `{"id", "name", "redirectUris"}`. */
  OAUTH_CLIENTS: operatorClients,
  /** `false`: no metadata documents of OAuth clients, for a gateway without a way out; clients then register themselves. */
  OAUTH_CLIENT_DOCUMENTS: flag.default(true),
  /** Hosts of the metadata documents of OAuth clients, separated by commas, such as `claude.ai,chatgpt.com`. Default: any. */
  OAUTH_CLIENT_HOSTS: z
    .string()
    .transform((value) => value.split(',').map((host) => host.trim().toLowerCase()))
    .refine((hosts) => hosts.every(isHost), 'must be hosts such as claude.ai, separated by commas')
    .default([]),
  /** The collector for traces, over OTLP/HTTP. */
  OTEL_EXPORTER_OTLP_ENDPOINT: z
    .string()
    .refine(isBaseUrl, 'must be an http(s) URL without user, query and fragment')
    .optional(),
});

/** A host as browsers write it, with a port that is not the usual one. */
const isHost = (host: string): boolean => URL.canParse(`https://${host}/`) && new URL(`https://${host}/`).host === host;

export type Config = z.output<typeof environment>;

export const SETTINGS = keysOf(environment.shape);

/** An invalid configuration. The message is one line and names the variable. */
export class ConfigurationError extends Error {}

/**
 * Reads the configuration from environment variables; an empty variable counts as not set.
 * @throws ConfigurationError for the first invalid variable. The message does not repeat the value, which may be secret.
 */
export function readConfig(env: Readonly<Record<string, string | undefined>>): Config {
  const given = Object.fromEntries(SETTINGS.flatMap((name) => (env[name] ? [[name, env[name]]] : [])));
  const result = environment.safeParse(given);
  if (!result.success) {
    const [first] = result.error.issues.map(({ path, message }) => `${path.join('.')}: ${message}`);
    throw new ConfigurationError(first);
  }
  if (result.data.PERSISTED_OPERATIONS_MODE === 'only' && !result.data.PERSISTED_OPERATIONS)
    throw new ConfigurationError('PERSISTED_OPERATIONS: is required with PERSISTED_OPERATIONS_MODE=only');
  const tooHigh = auditFloorFault(result.data);
  if (tooHigh !== undefined) throw new ConfigurationError(tooHigh);
  const fault = oidcFault(result.data);
  if (fault !== undefined) throw new ConfigurationError(fault);
  if (result.data.DATABASE_POOLER && !result.data.DATABASE_DIRECT_URL) {
    throw new ConfigurationError(
      'DATABASE_DIRECT_URL: is required with DATABASE_POOLER; name the database without the pooler, for LISTEN and migrations',
    );
  }
  if (result.data.DATABASE_URL && !result.data.ENCRYPTION_KEYS) {
    throw new ConfigurationError(
      'ENCRYPTION_KEYS: is required with DATABASE_URL; make one with: echo "k1:$(head -c 32 /dev/urandom | base64)"',
    );
  }
  return result.data;
}

/** The command that creates a key in the database of this gateway: of the demo workspace, if it has one. */
export function keyCommand({ DATA_DIR, DATABASE_URL }: Pick<Config, 'DATA_DIR' | 'DATABASE_URL'>): string {
  const isDemo = DATABASE_URL === undefined;
  // In another terminal the command would otherwise create a second database.
  const folder = isDemo && DATA_DIR !== '.data' ? `DATA_DIR='${DATA_DIR.replaceAll("'", String.raw`'\''`)}' ` : '';
  const whose = isDemo
    ? '--email demo@example.com --organization demo'
    : '--email you@example.com --organization your-organization';
  return `${folder}npm run --silent cli -- keys create ${whose}`;
}
