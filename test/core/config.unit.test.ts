import { describe, expect, test } from 'vitest';
import { auditFloorOf } from '../../src/core/audit-log-minimum.ts';
import { ConfigurationError, readConfig } from '../../src/core/config.ts';
import { parseNetwork } from '../../src/core/http/client-address.ts';
import { parseEncryptionKeys } from '../../src/core/secrets/secrets.ts';

const ENCRYPTION_KEYS = `k1:${Buffer.alloc(32, 1).toString('base64')}`;

test('missing and empty variables have their defaults', () => {
  const config = readConfig({ PORT: '', DATABASE_URL: '', HOME: '/root' });
  expect(config).toMatchInlineSnapshot(`
    {
      "ALLOW_PRIVATE_NETWORK": false,
      "AUDIT_RETENTION_DAYS": 365,
      "CORS_ORIGINS": [],
      "DATABASE_POOL_SIZE": 20,
      "DATABASE_REPLICA_URLS": [],
      "DATA_DIR": ".data",
      "DEFAULT_SUBSCRIPTION": {
        "marketing": "professional",
      },
      "HOST": "127.0.0.1",
      "KEEP_ALIVE_SECONDS": 75,
      "LOG_LEVEL": "info",
      "MCP_MUTATIONS": false,
      "MONTHLY_OCCURRENCE_LIMIT": 0,
      "OAUTH_CLIENTS": [],
      "OAUTH_CLIENT_DOCUMENTS": true,
      "OAUTH_CLIENT_HOSTS": [],
      "OAUTH_REGISTRATION": false,
      "OIDC_DEFAULT_ROLE": "none",
      "OIDC_EMAIL": "verified",
      "OIDC_GROUPS_MISSING": "none",
      "OIDC_KEYS_SLEEP_AFTER": 0,
      "OIDC_LOGOUT": false,
      "OIDC_NAME": "your company",
      "OIDC_ONLY": false,
      "ORGANIZATION_CREATION": "anyone",
      "PERSISTED_OPERATIONS_MODE": "also",
      "PORT": 4000,
      "RATE_LIMIT_PER_MINUTE": 100,
      "RECORD_REDACTION": true,
      "REQUESTS_AT_ONCE": 64,
      "REQUESTS_AT_ONCE_OF_ADDRESS": 8,
      "REQUESTS_AT_ONCE_OF_PERSON": 16,
      "RETENTION_MAX_DAYS": 0,
      "RUN_JOBS": true,
      "SIGN_IN_HOURS": 12,
      "TRUSTED_PROXIES": [],
      "USER_DELETION_DELAY": 0,
      "USER_SELF_DELETION": true,
    }
  `);
});

test('every variable is read', () => {
  expect(
    readConfig({
      HOST: '::1',
      PORT: '65535',
      DATABASE_URL: 'postgres://user:password@127.0.0.1/gateway',
      DATABASE_POOLER: 'transaction',
      DATABASE_POOL_SIZE: '4',
      DATABASE_DIRECT_URL: 'postgresql://127.0.0.1/direct',
      DATABASE_REPLICA_URLS: 'postgres://127.0.0.1/a,postgresql://127.0.0.1/b',
      DATA_DIR: '/data',
      PUBLIC_URL: 'https://gateway.example.com/api//',
      CLIENT_METADATA_URL: 'https://example.com/client.json',
      ENCRYPTION_KEYS,
      ALLOW_PRIVATE_NETWORK: 'true',
      RATE_LIMIT_PER_MINUTE: '0',
      KEEP_ALIVE_SECONDS: '3600',
      REQUESTS_AT_ONCE: '32',
      REQUESTS_AT_ONCE_OF_PERSON: '4',
      REQUESTS_AT_ONCE_OF_ADDRESS: '2',
      TRUSTED_PROXIES: '10.0.0.0/8, 2001:db8::1',
      CORS_ORIGINS: 'https://app.example.com,http://127.0.0.1:3000',
      PERSISTED_OPERATIONS: 'operations',
      MCP_DOCUMENTS: 'tools',
      MCP_MUTATIONS: 'true',
      PERSISTED_OPERATIONS_MODE: 'only',
      LOG_LEVEL: 'silent',
      DEFAULT_SUBSCRIPTION: 'sales:free,data:enterprise',
      RUN_JOBS: 'false',
      WORKER_PORT: '4001',
      USER_DELETION_DELAY: '31536000',
      SIGN_IN_HOURS: '8',
      USER_SELF_DELETION: 'false',
      ORGANIZATION_CREATION: 'operator',
      MONTHLY_OCCURRENCE_LIMIT: '7',
      RECORD_REDACTION: 'off',
      RETENTION_MAX_DAYS: '90',
      AUDIT_RETENTION_DAYS: '0',
      AUDIT_RETENTION_MIN_DAYS: '30',
      OTEL_EXPORTER_OTLP_ENDPOINT: 'http://127.0.0.1:4318',
      OIDC_ISSUER: 'https://id.example.com/realm',
      OIDC_CLIENT_ID: 'gateway',
      OIDC_CLIENT_SECRET: 'secret',
      OIDC_NAME: 'Example',
      OIDC_DOMAINS: 'example.com, example.org',
      OIDC_ORGANIZATION: 'example',
      OIDC_DEFAULT_ROLE: 'member',
      OIDC_GROUPS_CLAIM: 'groups',
      OIDC_ADMIN_GROUPS: 'admins,owners',
      OIDC_VIEWER_GROUPS: 'auditors',
      OIDC_ALLOWED_GROUPS: 'staff',
      OIDC_GROUPS_MISSING: 'keep',
      OIDC_TOKEN_AUTH: 'post',
      OIDC_RELINK_UNTIL: '2026-12-31',
      OIDC_LOGOUT: 'true',
      OIDC_EMAIL: 'trusted',
      OIDC_ONLY: 'true',
      OIDC_KEYS_SLEEP_AFTER: '30',
      OAUTH_REGISTRATION: 'true',
      OAUTH_CLIENTS: '[{"id":"page","name":" Page ","redirectUris":["https://page.example/"]}]',
      OAUTH_CLIENT_DOCUMENTS: 'false',
      OAUTH_CLIENT_HOSTS: 'claude.ai, ChatGPT.com:8443',
    }),
  ).toEqual({
    HOST: '::1',
    PORT: 65_535,
    DATABASE_URL: 'postgres://user:password@127.0.0.1/gateway',
    DATABASE_POOLER: 'transaction',
    DATABASE_POOL_SIZE: 4,
    DATABASE_DIRECT_URL: 'postgresql://127.0.0.1/direct',
    DATABASE_REPLICA_URLS: ['postgres://127.0.0.1/a', 'postgresql://127.0.0.1/b'],
    DATA_DIR: '/data',
    PUBLIC_URL: 'https://gateway.example.com/api',
    CLIENT_METADATA_URL: 'https://example.com/client.json',
    ENCRYPTION_KEYS: parseEncryptionKeys(ENCRYPTION_KEYS),
    ALLOW_PRIVATE_NETWORK: true,
    RATE_LIMIT_PER_MINUTE: 0,
    KEEP_ALIVE_SECONDS: 3600,
    REQUESTS_AT_ONCE: 32,
    REQUESTS_AT_ONCE_OF_PERSON: 4,
    REQUESTS_AT_ONCE_OF_ADDRESS: 2,
    TRUSTED_PROXIES: [parseNetwork('10.0.0.0/8'), parseNetwork('2001:db8::1')],
    CORS_ORIGINS: ['https://app.example.com', 'http://127.0.0.1:3000'],
    PERSISTED_OPERATIONS: 'operations',
    PERSISTED_OPERATIONS_MODE: 'only',
    MCP_DOCUMENTS: 'tools',
    MCP_MUTATIONS: true,
    LOG_LEVEL: 'silent',
    DEFAULT_SUBSCRIPTION: { sales: 'free', data: 'enterprise' },
    RUN_JOBS: false,
    WORKER_PORT: 4001,
    USER_DELETION_DELAY: 31_536_000,
    SIGN_IN_HOURS: 8,
    USER_SELF_DELETION: false,
    ORGANIZATION_CREATION: 'operator',
    MONTHLY_OCCURRENCE_LIMIT: 7,
    RECORD_REDACTION: false,
    RETENTION_MAX_DAYS: 90,
    AUDIT_RETENTION_DAYS: 0,
    AUDIT_RETENTION_MIN_DAYS: 30,
    OTEL_EXPORTER_OTLP_ENDPOINT: 'http://127.0.0.1:4318',
    OIDC_ISSUER: 'https://id.example.com/realm',
    OIDC_CLIENT_ID: 'gateway',
    OIDC_CLIENT_SECRET: 'secret',
    OIDC_NAME: 'Example',
    OIDC_DOMAINS: ['example.com', 'example.org'],
    OIDC_ORGANIZATION: 'example',
    OIDC_DEFAULT_ROLE: 'member',
    OIDC_GROUPS_CLAIM: 'groups',
    OIDC_ADMIN_GROUPS: ['admins', 'owners'],
    OIDC_VIEWER_GROUPS: ['auditors'],
    OIDC_ALLOWED_GROUPS: ['staff'],
    OIDC_GROUPS_MISSING: 'keep',
    OIDC_TOKEN_AUTH: 'post',
    OIDC_RELINK_UNTIL: '2026-12-31',
    OIDC_LOGOUT: true,
    OIDC_EMAIL: 'trusted',
    OIDC_ONLY: true,
    OIDC_KEYS_SLEEP_AFTER: 30,
    OAUTH_REGISTRATION: true,
    OAUTH_CLIENTS: [{ id: 'page', name: 'Page', redirectUris: ['https://page.example/'] }],
    OAUTH_CLIENT_DOCUMENTS: false,
    OAUTH_CLIENT_HOSTS: ['claude.ai', 'chatgpt.com:8443'],
  });
});

const clients = (...changes: object[]) =>
  JSON.stringify(
    changes.map((each) => ({ id: 'page', name: 'Page', redirectUris: ['https://page.example/'], ...each })),
  );

test.each(['a', '127.0.0.1', '::', 'gateway-1.example.com', 'a'.repeat(253)])('a host may be %s', (HOST) => {
  expect(readConfig({ HOST }).HOST).toBe(HOST);
});

test('superfluous commas in a list of subscriptions are ignored', () => {
  expect(readConfig({ DEFAULT_SUBSCRIPTION: ',sales:free,' }).DEFAULT_SUBSCRIPTION).toEqual({ sales: 'free' });
});

describe('an invalid value is refused with one line that contains the variable and not the value', () => {
  const BASE_URL = 'must be an http(s) URL without user, query and fragment';
  const OWN_PATH = 'must not have a path of the gateway, such as /v1';
  const HOST = 'must be a host name or an IP address';
  const REPLICAS = 'must be postgresql:// URLs, separated by commas';
  const CLIENT_URL = 'must be an https URL with a path, without user, query and fragment';
  const NETWORKS = 'must be IP addresses or CIDR blocks, such as 10.0.0.0/8, separated by commas';
  const ORIGINS = 'must be origins as browsers send them, such as https://app.example.com, separated by commas';
  const PAIRS =
    'must be FAMILY:LEVEL pairs; families: marketing, sales, service, content, data, revenue; levels: free, starter, professional, enterprise';

  test.for([
    ['PORT', 'abc', 'must be a whole number from 0 to 65535'],
    ['PORT', '65536', 'must be a whole number from 0 to 65535'],
    ['DATABASE_POOL_SIZE', '3', 'must be a whole number from 4 to 1000'],
    ['DATABASE_POOL_SIZE', '1001', 'must be a whole number from 4 to 1000'],
    ['HOST', 'not a host', HOST],
    ['HOST', '-a', HOST],
    ['HOST', 'a_b', HOST],
    ['HOST', 'a'.repeat(254), HOST],
    ['DATABASE_URL', 'mysql://127.0.0.1/x', 'must be a postgresql:// URL'],
    ['DATABASE_URL', 'postgresql://u:12#x@127.0.0.1/x', 'must be a postgresql:// URL in which # is written as %23'],
    ['DATABASE_POOLER', 'session', 'must be transaction'],
    ['DATABASE_DIRECT_URL', '127.0.0.1', 'must be a postgresql:// URL'],
    ['DATABASE_REPLICA_URLS', 'postgres://127.0.0.1/a,nonsense', REPLICAS],
    ['PUBLIC_URL', 'ftp://127.0.0.1', BASE_URL],
    ['PUBLIC_URL', 'https://me:secret@example.com', BASE_URL],
    ['PUBLIC_URL', 'https://example.com/?a=1', BASE_URL],
    ['PUBLIC_URL', 'https://example.com/v1/', OWN_PATH],
    ['PUBLIC_URL', 'https://example.com/x/../mcp/tools', OWN_PATH],
    ['CLIENT_METADATA_URL', 'https://example.com/', CLIENT_URL],
    ['CLIENT_METADATA_URL', 'http://example.com/client', CLIENT_URL],
    ['CORS_ORIGINS', 'https://app.example.com/', ORIGINS],
    ['OAUTH_CLIENTS', 'page', 'must be a JSON list of {"id", "name", "redirectUris"}'],
    ['OAUTH_CLIENTS', clients({ id: 'a b' }), /0\.id: must be 1 to 100/],
    [
      'OAUTH_CLIENTS',
      clients({ redirectUris: ['http://page.example/'] }),
      /^OAUTH_CLIENTS\.0\.redirectUris\.0: must be https/,
    ],
    ['OAUTH_CLIENTS', clients({}, {}), 'must have different ids'],
    ['CORS_ORIGINS', 'https://app.example.com,null', ORIGINS],
    ['TRUSTED_PROXIES', '10.0.0.0/33', NETWORKS],
    ['TRUSTED_PROXIES', '10.0.0.1,proxy.example.com', NETWORKS],
    ['TRUSTED_PROXIES', '10.1', NETWORKS],
    ['TRUSTED_PROXIES', '::/0/0', NETWORKS],
    ['ALLOW_PRIVATE_NETWORK', 'yes', 'must be true or false'],
    ['RUN_JOBS', '1', 'must be true or false'],
    ['RATE_LIMIT_PER_MINUTE', '-1', 'must be a whole number from 0 to 1000000'],
    ['LOG_LEVEL', 'loud', 'must be one of fatal, error, warn, info, debug, trace, silent'],
    ['PERSISTED_OPERATIONS_MODE', 'never', 'must be also or only'],
    ['PERSISTED_OPERATIONS_MODE', 'only', /^PERSISTED_OPERATIONS: is required with PERSISTED_OPERATIONS_MODE=only$/],
    ['DEFAULT_SUBSCRIPTION', 'marketing:gold', PAIRS],
    ['DEFAULT_SUBSCRIPTION', 'data:free,marketing:gold', PAIRS],
    ['DEFAULT_SUBSCRIPTION', 'support:free', PAIRS],
    ['DEFAULT_SUBSCRIPTION', 'marketing:free:free', PAIRS],
    ['USER_DELETION_DELAY', '1.5', 'must be a whole number from 0 to 31536000'],
    ['MONTHLY_OCCURRENCE_LIMIT', 'none', 'must be a whole number from 0 to 9007199254740991'],
    ['RECORD_REDACTION', 'true', 'must be on or off'],
    ['AUDIT_RETENTION_DAYS', '36501', 'must be a whole number from 0 to 36500'],
    ['OTEL_EXPORTER_OTLP_ENDPOINT', '127.0.0.1:4318', BASE_URL],
    ['ENCRYPTION_KEYS', 'k1:c2hvcnQ=', /^ENCRYPTION_KEYS: .*32 bytes/],
  ] as const)('%s=%s', ([name, value, expected]) => {
    const reading = () => readConfig({ [name]: value });
    expect(reading).toThrow(ConfigurationError);
    expect(reading).toThrow(typeof expected === 'string' ? new ConfigurationError(`${name}: ${expected}`) : expected);
    expect(reading).not.toThrow(/\n/);
  });
});

test('DATABASE_URL requires ENCRYPTION_KEYS, and the message explains how to create a key', () => {
  expect(() => readConfig({ DATABASE_URL: 'postgresql://user:password@127.0.0.1:1/gateway' })).toThrow(
    expect.objectContaining({
      message:
        'ENCRYPTION_KEYS: is required with DATABASE_URL; make one with: echo "k1:$(head -c 32 /dev/urandom | base64)"',
    }),
  );
});

test('the floor of the audit log is 90 days, or what the operator keeps if that is shorter; a given one must not be longer', () => {
  const floorOf = (env: Record<string, string>) => auditFloorOf(readConfig(env));
  expect(floorOf({})).toEqual({ days: 90 });
  expect(floorOf({ AUDIT_RETENTION_MIN_DAYS: '1' })).toEqual({ days: 1 });
  const both = { AUDIT_RETENTION_DAYS: '60', RETENTION_MAX_DAYS: '30' };
  expect(floorOf(both)).toEqual({ days: 30, loweredBy: 'RETENTION_MAX_DAYS' });
  expect(() => floorOf({ ...both, AUDIT_RETENTION_MIN_DAYS: '31' })).toThrow(
    new ConfigurationError('AUDIT_RETENTION_MIN_DAYS: must not be more than RETENTION_MAX_DAYS'),
  );
});

test('DATABASE_POOLER requires DATABASE_DIRECT_URL', () => {
  expect(() => readConfig({ DATABASE_POOLER: 'transaction' })).toThrow(
    new ConfigurationError(
      'DATABASE_DIRECT_URL: is required with DATABASE_POOLER; name the database without the pooler, for LISTEN and migrations',
    ),
  );
});
