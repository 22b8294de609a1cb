import { randomBytes, randomUUID } from 'node:crypto';
import { join } from 'node:path';
import { pino } from 'pino';
import { afterEach, beforeEach, expect, inject, onTestFinished, test } from 'vitest';
import { ConfigurationError, readConfig } from '../../src/core/config.ts';
import { createSecretBox, parseEncryptionKeys } from '../../src/core/secrets/secrets.ts';
import { assemble } from '../../src/gateway/assemble.ts';
import { checkSecrets, prepareDatabase } from '../../src/gateway/prepare-database.ts';
import { createLog } from '../../src/gateway/telemetry/logging.ts';
import { startTestGateway } from '../support/fixtures/gateway.ts';
import { onServer } from '../support/global-setup.ts';
import { query } from '../support/processes/embedded-postgres.ts';
import {
  type DatabaseVariables,
  cli,
  emptyDatabase,
  endProcesses,
  freshDatabase,
  run,
} from '../support/processes/process.ts';
import { checkout } from '../support/processes/programs.ts';

/** Causes that prevent a start, with one line and status 1. Some tests start processes, the others run the same checks in this process. */

let env: DatabaseVariables;
beforeEach(async () => {
  env = await freshDatabase();
});
afterEach(endProcesses);

const start = (program: 'main' | 'worker', variables: Record<string, string> = {}) =>
  run([process.execPath, join(checkout, `src/${program}.ts`)], { PORT: '0', ...env, ...variables });
/** Runs the checks that every start runs before it serves. */
async function check(variables: Record<string, string> = {}, log = createLog('silent')): Promise<void> {
  const assembly = await assemble(readConfig({ ...env, ...variables }), log);
  try {
    await prepareDatabase(assembly.dependencies);
    await checkSecrets(assembly.dependencies);
  } finally {
    await assembly.close();
  }
}
const newKey = () => randomBytes(32).toString('base64');
const refusal = (line: string) => ({ code: 1, stdout: '', stderr: `${line}\n` });

async function storeSecret(sealed: (place: { table: string; row: string; field: string }) => Promise<string>) {
  const row = randomUUID();
  const value = await sealed({ table: 'mcp_connection', row, field: 'clientSecret' });
  await query(
    env.DATABASE_URL,
    `insert into secret (owner_table, owner_id, field, organization_id, sealed) values ('mcp_connection', '${row}', 'clientSecret', '${randomUUID()}', '${value}')`,
  );
}

const seal = (keys: string) => {
  const box = createSecretBox(parseEncryptionKeys(keys));
  return storeSecret((place) => box.seal('a secret', place));
};

test('a gateway does not start if the key of stored secrets is missing or different, and the message contains the key id', async () => {
  const [one, other] = [newKey(), newKey()];
  await seal(`k1:${one}`);
  await seal(`k1:${one}`);
  const isMissing =
    'ENCRYPTION_KEYS: the key "k1" is missing, under which 2 values in the table secret are encrypted; add it after the first key';
  for (const program of ['main', 'worker'] as const)
    expect(await start(program, { ENCRYPTION_KEYS: `k2:${other}` })).toEqual(refusal(isMissing));
  await expect(check({ ENCRYPTION_KEYS: `k2:${other},k1:${newKey()}` })).rejects.toThrow(
    new ConfigurationError(
      'ENCRYPTION_KEYS: the key "k1" is another one than the key of that id under which values in the table secret are encrypted; restore the old key, or choose another id',
    ),
  );
  // After the rotation, the old key is no longer needed.
  const both = { ...env, ENCRYPTION_KEYS: `k2:${other},k1:${one}` };
  const rotation = await cli(['secrets', 'rotate'], both);
  expect(JSON.parse(rotation.stdout)).toMatchObject({ rotated: 2 });
  await expect(check({ ENCRYPTION_KEYS: `k2:${other}` })).resolves.toBeUndefined();
});

test('a single altered secret does not prevent a start, because its key decrypts the others', async () => {
  await seal(env.ENCRYPTION_KEYS);
  await storeSecret(async () => 'never sealed');
  await expect(check()).resolves.toBeUndefined();
});

test('stored answers to idempotent requests are checked like secrets', async () => {
  const gateway = await startTestGateway({}, { url: env.DATABASE_URL });
  try {
    const { key } = await gateway.createKey();
    const body = { name: 'order', label: 'Order', primaryObject: 'CONTACT' };
    const headers = { 'Idempotency-Key': 'a' };
    const created = await gateway.rest('POST', '/events/2026-03/event-definitions', { key, headers, body });
    expect(created.status).toBe(201);
  } finally {
    await gateway.close();
  }
  await expect(check()).rejects.toThrow(
    new ConfigurationError(
      'ENCRYPTION_KEYS: the key "test" is missing, under which 1 values in the table idempotency_key are encrypted; add it after the first key',
    ),
  );
});

test('a gateway does not start with PostgreSQL older than 15 and creates no table', async () => {
  env = await emptyDatabase();
  // No such server is available, so in this database a function returns the version 14.
  const name = new URL(env.DATABASE_URL).pathname.slice(1);
  await query(
    env.DATABASE_URL,
    `create function public.current_setting(text) returns text language sql
      as $$ select case $1 when 'server_version_num' then '140011' when 'server_version' then '14.11' else pg_catalog.current_setting($1) end $$`,
  );
  await onServer(inject('serverUrl'), `alter database ${name} set search_path = public, pg_catalog`);
  await expect(check()).rejects.toThrow(
    new ConfigurationError('DATABASE_URL: PostgreSQL 14.11 is too old; the gateway needs PostgreSQL 15 or later'),
  );
  expect(await query(env.DATABASE_URL, `select tablename from pg_tables where schemaname = 'public'`)).toEqual([]);
});

test('gateway, worker and commands do not start if the schema is newer than the code, and the message contains the migration', async () => {
  await query(env.DATABASE_URL, `insert into mikro_orm_migrations (name) values ('Migration29990101000000')`);
  const line =
    'DATABASE_URL: the database has the schema of a newer version of the gateway (Migration29990101000000 is unknown to this one); start that version, or restore a backup from before the upgrade';
  for (const program of ['main', 'worker'] as const) expect(await start(program)).toEqual(refusal(line));
  expect(await cli(['migrate'], env)).toEqual(refusal(line));
});

test('behind a pooler, the log names each setting that the database lacks', async () => {
  const name = new URL(env.DATABASE_URL).pathname.slice(1);
  const set = (setting: string) => onServer(inject('serverUrl'), `alter database ${name} set ${setting}`);
  const warnings = async () => {
    const lines: string[] = [];
    const log = pino({ level: 'warn' }, { write: (line: string) => lines.push(line) });
    await check({ DATABASE_POOLER: 'transaction', DATABASE_DIRECT_URL: env.DATABASE_URL }, log);
    return lines.map((line): unknown => JSON.parse(line).msg);
  };
  const warning = (setting: string, value: string) =>
    `behind a pooler ${setting} must be set for the database role: alter role … set ${setting} = '${value}'`;
  await set(`default_transaction_isolation = 'repeatable read'`);
  expect(await warnings()).toEqual([
    warning('default_transaction_isolation', 'read committed'),
    warning('idle_in_transaction_session_timeout', '30s'),
    warning('statement_timeout', '30s'),
  ]);
  await set(`default_transaction_isolation = 'read committed'`);
  await set(`statement_timeout = '5s'`);
  expect(await warnings()).toEqual([warning('idle_in_transaction_session_timeout', '30s')]);
});

test('mistakes in the set-up of the database are one line that says what to do', async () => {
  env = await emptyDatabase();
  const url = new URL(env.DATABASE_URL);
  const name = url.pathname.slice(1);
  const role = url.username;
  const set = (setting: string) => onServer(inject('serverUrl'), `alter database ${name} ${setting}`);
  const refused = (message: string) => new ConfigurationError(`DATABASE_URL: ${message}`);
  await set(`set datestyle = 'SQL, DMY'`);
  await expect(check()).rejects.toThrow(
    refused(
      `DateStyle is "SQL, DMY", and the gateway reads times in ISO; run: alter role ${role} set datestyle = 'ISO, MDY'`,
    ),
  );
  await set('reset datestyle');
  await set('set standard_conforming_strings = off');
  await expect(check({ DATABASE_POOLER: 'transaction', DATABASE_DIRECT_URL: env.DATABASE_URL })).rejects.toThrow(
    refused(`standard_conforming_strings is off; run: alter role ${role} set standard_conforming_strings = on`),
  );
  await query(env.DATABASE_URL, 'drop schema public cascade; drop schema if exists pgboss cascade');
  await expect(check()).rejects.toThrow(
    refused(
      `the role ${role} cannot create tables in the database; run "cli migrate" as the owner, or make it the owner: alter database … owner to ${role}`,
    ),
  );
});

test('a file of a database URL that cannot be read is one line that names the variable', async () => {
  const away = '/nonexistent/ca.pem';
  const line = `ENOENT: no such file or directory, open '${away}'`;
  for (const parameter of ['sslrootcert', 'sslcert', 'sslkey']) {
    const url = `${env.DATABASE_URL}?sslmode=verify-full&${parameter}=${away}`;
    await expect(check({ DATABASE_URL: url })).rejects.toThrow(new ConfigurationError(`DATABASE_URL: ${line}`));
    await expect(check({ DATABASE_REPLICA_URLS: `${env.DATABASE_URL},${url}` })).rejects.toThrow(
      new ConfigurationError(`DATABASE_REPLICA_URLS: ${line}`),
    );
    await expect(check({ DATABASE_POOLER: 'transaction', DATABASE_DIRECT_URL: url })).rejects.toThrow(
      new ConfigurationError(`DATABASE_DIRECT_URL: ${line}`),
    );
  }
  const wrong = check({ DATABASE_URL: `${env.DATABASE_URL}?sslnegotiation=wrong` });
  await expect(wrong).rejects.toThrow(/^DATABASE_URL: Invalid sslnegotiation value/);
  expect(await start('main', { DATABASE_URL: `${env.DATABASE_URL}?sslrootcert=${away}` })).toEqual(
    refusal(`DATABASE_URL: ${line}`),
  );
});

test('without a pooler the gateway sets what it relies on, so that keys are found', async () => {
  const name = new URL(env.DATABASE_URL).pathname.slice(1);
  await onServer(inject('serverUrl'), `alter database ${name} set standard_conforming_strings = off`);
  await expect(check()).resolves.toBeUndefined();
});

test('a database of another encoding is refused', async () => {
  const name = `latin_${randomUUID().slice(0, 8)}`;
  await onServer(inject('serverUrl'), `create database ${name} encoding 'LATIN1' locale 'C' template template0`);
  onTestFinished(() => onServer(inject('serverUrl'), `drop database ${name} with (force)`));
  const url = new URL(env.DATABASE_URL);
  url.pathname = `/${name}`;
  await expect(check({ DATABASE_URL: url.href })).rejects.toThrow(
    new ConfigurationError(
      "DATABASE_URL: the database has the encoding LATIN1; create it anew with: create database … encoding 'UTF8' template template0",
    ),
  );
});

test('a limit of connections that is too low is one line, also when only the jobs find no connection', async () => {
  const name = new URL(env.DATABASE_URL).pathname.slice(1);
  for (const limit of [0, 1]) {
    await onServer(inject('serverUrl'), `alter database ${name} connection limit ${limit}`);
    const { code, stderr } = await start('main');
    const [first = '', ...others] = stderr
      .trimEnd()
      .split('\n')
      .filter((line) => !line.startsWith('{'));
    expect([code, others]).toEqual([1, []]);
    expect(first).toMatch(
      /^connections of the database: too many connections .*; raise the limit of the server, the database or the role, or lower DATABASE_POOL_SIZE$/,
    );
  }
});
