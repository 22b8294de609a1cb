import { randomBytes } from 'node:crypto';
import { readFile, readdir } from 'node:fs/promises';
import { afterAll, expect, test } from 'vitest';
import { createSecretBox, parseEncryptionKeys } from '../../src/core/secrets/secrets.ts';
import { SEALED_COLUMNS } from '../../src/gateway/prepare-database.ts';
import { runCommand } from '../../src/operator/commands.ts';
import { codeBlocks } from '../support/documents.ts';
import { CookieJar, signInAs } from '../support/fixtures/company-sign-in.ts';
import { startTestGateway } from '../support/fixtures/gateway.ts';
import { callAt } from '../support/fixtures/tool-addresses.ts';
import { startApprovalFixture } from '../support/fixtures/tool-approvals.ts';
import { startForgingIssuer } from '../support/peers/forging-issuer.ts';

/** What is encrypted under the keys of the gateway, and encrypted again when they change. */

const fixture = await startApprovalFixture();
const issuer = await startForgingIssuer();
const company = { PUBLIC_URL: 'http://gateway.example', OIDC_LOGOUT: 'true', OIDC_ORGANIZATION: fixture.organization };
const gateway = await startTestGateway({ ...issuer.env, ...company }, { beside: fixture.gateway });
afterAll(async () => {
  await gateway.close();
  await issuer.stop();
  await fixture.stop();
});

/** The columns with values that are encrypted, in all tables. */
async function encryptedColumns(): Promise<string[]> {
  const { sql } = gateway.dependencies;
  const tables = await sql.query<{ name: string }>(
    `select relname as name from pg_class where relnamespace = 'public'::regnamespace and relkind in ('r', 'p') and not relispartition order by 1`,
    [],
  );
  const found: string[] = [];
  for (const { name } of tables) {
    const columns = await sql.query<{ column: string }>(
      `select distinct e.key as column from "${name}" t, jsonb_each_text(to_jsonb(t)) e
        where e.value ~ '(^|")eyJ[A-Za-z0-9_-]+(\\.[A-Za-z0-9_-]+){4}' order by 1`,
      [],
    );
    found.push(...columns.map(({ column }) => `${name}.${column}`));
  }
  return found;
}

test('after a rotation all of it can be read without the old key', async () => {
  const headers = { 'Idempotency-Key': 'a webhook' };
  const body = { url: 'https://hooks.example.com/', types: ['session.created'] };
  expect((await gateway.rest('POST', '/v1/webhooks', { key: fixture.key, headers, body })).status).toBe(201);
  expect(await callAt('rest', fixture.place, fixture.caller.key, 'write', { title: 'x' })).toMatchObject({
    kind: 'ASKED',
  });
  const jar = new CookieJar(gateway);
  await signInAs(jar, issuer, { sub: 'ada', sid: 'one', email: 'ada@example.com', email_verified: true });
  const listed = SEALED_COLUMNS.map(({ table, column }) => `${table}.${column}`).toSorted();
  expect(await encryptedColumns()).toEqual(listed);

  const next = `next:${randomBytes(32).toString('base64')}`;
  const [both, alone] = [`${next},${gateway.encryptionKeys}`, next].map((keys) =>
    createSecretBox(parseEncryptionKeys(keys)),
  );
  if (!both || !alone) throw new Error('two boxes are needed');
  const command = { name: 'secrets rotate', json: true } as const;
  const streams = { progress: { isTTY: false, write: () => true } };
  const run = () => runCommand({ ...gateway.dependencies, secrets: both }, command, streams);
  const counted = { answers: expect.any(Number), keyId: 'next' };
  expect(await run()).toEqual({ rotated: expect.any(Number), ...counted });
  expect(await run()).toEqual({ rotated: 0, answers: 0, keyId: 'next' });
  for (const { table, column, keys, placeOf } of SEALED_COLUMNS) {
    const rows = await gateway.dependencies.sql.query<Record<string, string>>(
      `select ${[...keys, column].join(', ')} from "${table}" where ${column} <> ''`,
      [],
    );
    expect([table, rows.length]).not.toEqual([table, 0]);
    for (const row of rows) expect(await alone.open(row[column] ?? '', placeOf(row))).not.toBe('');
  }
});

test('after a loss of the key, what the guide deletes is all of it, and what is left can be used', async () => {
  const blocks = await codeBlocks('docs/operations.md', 'sql');
  const statements = blocks.find((text) => text.startsWith('delete from secret'))?.split(';') ?? [];
  for (const statement of statements) if (statement.trim()) await gateway.dependencies.sql.query(statement, []);
  expect(await encryptedColumns()).toEqual([]);
  for (const path of ['/v1/webhooks', '/v1/mcp-connections', '/v1/tool-approvals'])
    expect([path, (await gateway.rest('GET', path, { key: fixture.key })).status]).toEqual([path, 200]);
});

/** Where the source encrypts, and where the value is kept. A column must be one of `SEALED_COLUMNS`. */
const SEALING: Readonly<Record<string, string>> = {
  'core/secrets/secret-store.ts': 'secret.sealed',
  'domains/mcp-connections/authorization/confirmation.ts': 'a form, for minutes',
  'domains/mcp-use/headers.ts': 'an answer, for the client',
  'domains/tool-approvals/ask-or-use.ts': 'tool_approval.sealed_arguments',
  'gateway/admission/browser-session.ts': 'a cookie',
  'gateway/authorization-consent.ts': 'a form and a cookie, for minutes',
  'gateway/company-sign-in.ts': 'a cookie, for minutes; api_key.id_token',
  'gateway/idempotency/answers.ts': 'idempotency_key.answer',
};

test('whatever encrypts a value says where the value is kept', async () => {
  const src = new URL('../../src/', import.meta.url);
  const files = (await readdir(src, { recursive: true })).filter((path) => path.endsWith('.ts'));
  const sealing = [];
  for (const path of files) if (/\.seal\(/.test(await readFile(new URL(path, src), 'utf8'))) sealing.push(path);
  expect(sealing.toSorted()).toEqual(Object.keys(SEALING).toSorted());
  const kept = Object.values(SEALING).flatMap((place) => place.match(/\w+\.\w+/g) ?? []);
  expect(kept.toSorted()).toEqual(SEALED_COLUMNS.map(({ table, column }) => `${table}.${column}`).toSorted());
});
