import { expect, test } from 'vitest';
import { SETTINGS } from '../../src/core/config.ts';
import { misspelledVariables } from '../../src/core/misspelled-variables.ts';

const linesOf = (...names: string[]) =>
  misspelledVariables(Object.fromEntries(names.map((name) => [name, 'a value'])), SETTINGS);

test.for([
  ['DATABASE_URI', 'DATABASE_URL'],
  ['DATABSE_URL', 'DATABASE_URL'],
  ['ENCRYPTION_KEY', 'ENCRYPTION_KEYS'],
  ['DATABASE_REPLICA_URL', 'DATABASE_REPLICA_URLS'],
  ['RATE_LIMIT_PER_MINUTES', 'RATE_LIMIT_PER_MINUTE'],
  ['TRUSTED_PROXY', undefined],
  ['TRUSTED_PROXYS', 'TRUSTED_PROXIES'],
  ['public_url', 'PUBLIC_URL'],
  ['METRIC_TOKEN', 'METRICS_TOKEN'],
  ['WORKERPORT', 'WORKER_PORT'],
  ['AUDIT_RETENTION_DAY', 'AUDIT_RETENTION_DAYS'],
] as const)('%s is reported as a misspelled %s', ([name, meant]) => {
  expect(linesOf(name)).toEqual(meant === undefined ? [] : [`${name}: is not a setting; did you mean ${meant}?`]);
});

test.for(['DATABASE_MAX_CONNECTIONS', 'OIDC_SCOPES', 'RATE_LIMIT', 'RETENTION_DAYS', 'PERSISTED_OPERATIONS_FILE'])(
  '%s begins like a setting and is reported',
  (name) => {
    expect(linesOf(name)).toEqual([`${name}: is not a setting; docs/configuration.md lists them`]);
  },
);

test('settings, empty variables and those of other programs are not reported', () => {
  expect(linesOf(...SETTINGS)).toEqual([]);
  const others = [
    'HOME',
    'HOSTNAME',
    'PATH',
    'PORTS',
    'POST',
    'NODE_ENV',
    'NODE_OPTIONS',
    'TMPDIR',
    'PGDATA',
    'MCP_TIMEOUT',
  ];
  const kubernetes = [
    'DATABASE_SERVICE_HOST',
    'DATABASE_PORT',
    'DATABASE_PORT_5432_TCP',
    'WORKSPACE_GATEWAY_SERVICE_HOST',
  ];
  const libraries = ['OTEL_SERVICE_NAME', 'OTEL_RESOURCE_ATTRIBUTES', 'OTEL_EXPORTER_OTLP_HEADERS', 'GATEWAY_BUILD'];
  expect(linesOf(...others, ...kubernetes, ...libraries)).toEqual([]);
  expect(misspelledVariables({ DATABASE_URI: '' }, SETTINGS)).toEqual([]);
});
