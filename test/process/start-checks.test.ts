import { randomBytes, randomUUID } from 'node:crypto';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, inject, test } from 'vitest';
import { createSecretBox, parseEncryptionKeys } from '../../src/core/secrets/secrets.ts';
import { onServer } from '../support/global-setup.ts';
import { query } from '../support/processes/embedded-postgres.ts';
import {
  type DatabaseVariables,
  checkout,
  cli,
  emptyDatabase,
  endProcesses,
  freshDatabase,
  issueKey,
  run,
  startGateway,
} from '../support/processes/process.ts';

/** What stops a start: one line that names the cause, and status 1. */

let env: DatabaseVariables;
beforeEach(async () => {
  env = await freshDatabase();
});
afterEach(endProcesses);

const start = (program: 'main' | 'worker', variables: Record<string, string> = {}) =>
  run([process.execPath, join(checkout, `src/${program}.ts`)], { PORT: '0', ...env, ...variables });
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

test('stored secrets whose key is missing, or has other bytes: no start, and the key id is named', async () => {
  const [one, other] = [newKey(), newKey()];
  await seal(`k1:${one}`);
  await seal(`k1:${one}`);
  const isMissing =
    'ENCRYPTION_KEYS: the key "k1" is missing, under which 2 values in the table secret are encrypted; add it after the first key';
  for (const program of ['main', 'worker'] as const)
    expect(await start(program, { ENCRYPTION_KEYS: `k2:${other}` })).toEqual(refusal(isMissing));
  expect(await start('main', { ENCRYPTION_KEYS: `k2:${other},k1:${newKey()}` })).toEqual(
    refusal(
      'ENCRYPTION_KEYS: the key "k1" is another one than the key of that id under which values in the table secret are encrypted; give the key its old bytes, or another id',
    ),
  );
  // Once rotated, the old key is not needed any more.
  const both = { ...env, ENCRYPTION_KEYS: `k2:${other},k1:${one}` };
  const rotation = await cli(['secrets', 'rotate'], both);
  expect(JSON.parse(rotation.stdout)).toMatchObject({ rotated: 2 });
  const gateway = await startGateway({ ...env, ENCRYPTION_KEYS: `k2:${other}` });
  expect(await gateway.end('SIGTERM')).toBe(0);
});

test('a stored secret that was altered by itself stops no start: its key opens the others', async () => {
  await seal(env.ENCRYPTION_KEYS);
  await storeSecret(async () => 'never sealed');
  const gateway = await startGateway(env);
  expect(await gateway.end('SIGTERM')).toBe(0);
});

test('stored answers to idempotent requests are checked like secrets', async () => {
  const key = await issueKey(env);
  const gateway = await startGateway(env);
  const headers = { Authorization: `Bearer ${key}`, 'Content-Type': 'application/json', 'Idempotency-Key': 'a' };
  const body = JSON.stringify({ name: 'order', label: 'Order', primaryObject: 'CONTACT' });
  const created = await fetch(`${gateway.url}/events/2026-03/event-definitions`, { method: 'POST', headers, body });
  expect(created.status).toBe(201);
  await gateway.end('SIGTERM');
  expect((await start('main', { ENCRYPTION_KEYS: `k2:${newKey()}` })).stderr).toBe(
    'ENCRYPTION_KEYS: the key "k1" is missing, under which 1 values in the table idempotency_key are encrypted; add it after the first key\n',
  );
});

test('PostgreSQL older than 15: no start, and no table is made', async () => {
  env = await emptyDatabase();
  // No such server is at hand: in this database the function answers as one of version 14 does.
  const name = new URL(env.DATABASE_URL).pathname.slice(1);
  await query(
    env.DATABASE_URL,
    `create function public.current_setting(text) returns text language sql
      as $$ select case $1 when 'server_version_num' then '140011' when 'server_version' then '14.11' else pg_catalog.current_setting($1) end $$`,
  );
  await onServer(inject('serverUrl'), `alter database ${name} set search_path = public, pg_catalog`);
  expect(await start('main')).toEqual(
    refusal('DATABASE_URL: PostgreSQL 14.11 is too old; the gateway needs PostgreSQL 15 or later'),
  );
  expect(await query(env.DATABASE_URL, `select tablename from pg_tables where schemaname = 'public'`)).toEqual([]);
});

test('a schema newer than the code: no start of gateway, worker or command, and the migration is named', async () => {
  await query(env.DATABASE_URL, `insert into mikro_orm_migrations (name) values ('Migration29990101000000')`);
  const line =
    'DATABASE_URL: the database has the schema of a newer version of the gateway (Migration29990101000000 is unknown to this one); start that version, or restore a backup from before the upgrade';
  for (const program of ['main', 'worker'] as const) expect(await start(program)).toEqual(refusal(line));
  expect(await cli(['migrate'], env)).toEqual(refusal(line));
});
