import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest';
import { type TestGateway, startTestGateway } from '../../support/fixtures/gateway.ts';
import { visibleParts } from '../../support/fixtures/idempotency.ts';
import { type Accepted, acceptWithoutKey, invite } from '../../support/fixtures/invitations.ts';
import { untilWaitingForLock, whileLocked } from '../../support/fixtures/locks.ts';
import { deleteOrganization } from '../../support/fixtures/organization-deletions.ts';
import { REMOVE, mutateOrganization } from '../../support/fixtures/organizations.ts';
import { dumpTables } from '../../support/fixtures/second-gateway.ts';

/** `Idempotency-Key` of the write without a caller: a person whose answer was lost still gets their first API key. */

let gateway: TestGateway;
let beside: TestGateway;
let admin: Awaited<ReturnType<TestGateway['createKey']>>;
let email: string;
let token: string;

beforeAll(async () => {
  gateway = await startTestGateway();
  beside = await startTestGateway({}, { beside: gateway });
});

beforeEach(async () => {
  gateway.setClock(undefined);
  admin = await gateway.createKey();
  email = `${randomUUID()}@example.com`;
  ({ token } = await invite(gateway, admin.key, email));
});

afterAll(async () => {
  await beside.close();
  await gateway.close();
});

const accept = (idempotencyKey: string, input: object = {}, to = gateway) =>
  acceptWithoutKey(to, { token, name: 'Ann', ...input }, { 'Idempotency-Key': idempotencyKey });

const rowsOf = (table: 'membership' | 'idempotency_key') =>
  gateway.dependencies.sql.query<{ answer?: string }>(`select * from ${table} where organization_id = $1`, [
    admin.organizationId,
  ]);

const accounts = () => gateway.dependencies.sql.query('select 1 from user_account where email = $1', [email]);

const NOT_FOUND = { status: 404, body: { error: 'invitation not found' } };

test('a repeated request gets the same bytes, for 24 hours, and the key works', async () => {
  const at = new Date();
  gateway.setClock(at);
  const first = await accept('k-1');
  expect([first.status, visibleParts(first).replayed]).toEqual([201, undefined]);
  const before = await dumpTables(gateway);
  const replayed = { answer: visibleParts(first).answer, replayed: 'true' };
  expect(visibleParts(await accept('k-1'))).toEqual(replayed);
  expect(await dumpTables(gateway)).toBe(before);
  gateway.setClock(new Date(at.getTime() + 86_400_000 - 1));
  expect(visibleParts(await accept('k-1'))).toEqual(replayed);
  expect((await gateway.rest('GET', '/v1/sessions', { key: first.body.apiKey.key })).status).toBe(200);
  gateway.setClock(new Date(at.getTime() + 86_400_000));
  expect(await accept('k-1')).toMatchObject(NOT_FOUND);
});

test('another input is 409; another key, no key and another token are 404', async () => {
  await accept('k-1');
  expect(await accept('k-1', { name: 'Anna' })).toMatchObject({
    status: 409,
    body: {
      error:
        'Idempotency-Key: was used for another request; use a new key for each request, and the same key only to retry a request',
    },
  });
  expect(await accept('k-2')).toMatchObject(NOT_FOUND);
  expect(await acceptWithoutKey(gateway, { token, name: 'Ann' })).toMatchObject(NOT_FOUND);
  expect(await accept('k-1', { token: 'wgi_other' })).toMatchObject(NOT_FOUND);
  expect((await accept('k-1')).status).toBe(201);
});

test('without a key nothing is stored, and a repeated request is 404', async () => {
  expect((await acceptWithoutKey(gateway, { token })).status).toBe(201);
  expect(await rowsOf('idempotency_key')).toEqual([]);
  expect(await acceptWithoutKey(gateway, { token })).toMatchObject(NOT_FOUND);
});

test('400 unless the key has 1 to 255 characters; the invitation stays open', async () => {
  for (const bad of ['', 'k'.repeat(256)])
    expect(await accept(bad)).toMatchObject({
      status: 400,
      body: { error: 'Idempotency-Key: must be 1 to 255 characters' },
    });
  expect((await accept('k'.repeat(255))).status).toBe(201);
});

test('an error is not stored: after it the key can be used again', async () => {
  expect((await accept('k-1', { name: '' })).status).toBe(400);
  expect(await accept('k-1', { token: 'wgi_other' })).toMatchObject(NOT_FOUND);
  const known = await gateway.createKey();
  const { token: ofKnown } = await invite(gateway, admin.key, known.email);
  for (let attempt = 0; attempt < 2; attempt += 1)
    expect(await accept('k-1', { token: ofKnown })).toMatchObject({
      status: 409,
      body: { error: expect.stringContaining('already has an account') },
    });
  expect((await accept('k-1')).status).toBe(201);
});

test('of concurrent requests in two processes one creates the account, and the others wait for its answer', async () => {
  const lock = 'select from organization where id = ? for update';
  const answers = await whileLocked(gateway, lock, [admin.organizationId], async (release) => {
    const twins = [gateway, beside, gateway, beside].map((to) => accept('k-1', {}, to));
    // In each process one request waits for the lock, and the other one in a queue.
    await untilWaitingForLock(gateway, 2);
    await release();
    return (await Promise.all(twins)).map(visibleParts);
  });
  expect(new Set(answers.map(({ answer }) => JSON.stringify(answer))).size).toBe(1);
  expect(answers[0]?.answer.status).toBe(201);
  expect(answers.filter(({ replayed }) => replayed === undefined)).toHaveLength(1);
  expect([await rowsOf('membership'), await rowsOf('idempotency_key')].map(({ length }) => length)).toEqual([2, 1]);
});

test('if the answer cannot be stored, nothing is changed, and a retry succeeds', async () => {
  const { sql } = gateway.dependencies;
  await sql.query(
    `create function refuse_for_test() returns trigger language plpgsql as $$ begin raise 'refused'; end $$`,
    [],
  );
  await sql.query(
    'create trigger refuse_for_test before update on idempotency_key for each row execute function refuse_for_test()',
    [],
  );
  const failed = await accept('k-1');
  await sql.query('drop trigger refuse_for_test on idempotency_key', []);
  expect([failed.status, await accounts(), await rowsOf('idempotency_key')]).toEqual([500, [], []]);
  expect(await rowsOf('membership')).toHaveLength(1);
  expect(visibleParts(await accept('k-1'))).toMatchObject({ answer: { status: 201 }, replayed: undefined });
  expect(await accounts()).toHaveLength(1);
});

const LOSSES: Record<string, (accepted: Accepted) => Promise<unknown>> = {
  'the API key is revoked': async ({ apiKey }) => {
    const headers = { 'X-Organization-Id': admin.organization };
    const { body } = await gateway.rest('DELETE', `/v1/api-keys/${apiKey.id}`, { key: apiKey.key, headers });
    expect(body).toMatchObject({ deleted: true });
  },
  'the person is removed from the organization': async ({ apiKey }) => {
    const { data } = await gateway.graphql<Viewer>(apiKey.key, '{ viewer { user { id } } }');
    const removed = await mutateOrganization(gateway, admin.key, REMOVE, { userId: data?.viewer.user.id });
    expect(removed).toMatchObject({ removedUserId: expect.any(String) });
  },
  'the organization is deleted': async () => {
    const deletion = await deleteOrganization(gateway, admin.key, { confirmSlug: admin.organization });
    expect(deletion).toMatchObject({ deletionJob: { state: 'QUEUED' } });
  },
};

interface Viewer {
  readonly viewer: { readonly user: { readonly id: string } };
}

test.each(Object.keys(LOSSES))('after %s a repeated request is 404', async (loss) => {
  const { body } = await accept('k-1');
  await LOSSES[loss]?.(body);
  expect(await accept('k-1')).toMatchObject(NOT_FOUND);
  expect(await accept('k-1', { name: 'Anna' })).toMatchObject(NOT_FOUND);
});

test('token, idempotency key and API key are in no table, and the answer is stored encrypted', async () => {
  const { body } = await accept('a-key-that-is-easily-found');
  const [row] = await rowsOf('idempotency_key');
  expect(row?.answer).toMatch(/^ey[\w-]+\.[\w.-]+$/);
  const kept = [await dumpTables(gateway), ...gateway.logged].join('\n');
  for (const secret of [token, 'a-key-that-is-easily-found', body.apiKey.key]) expect(kept).not.toContain(secret);
});

test('the search for a stored answer uses the index', async () => {
  const { sql } = gateway.dependencies;
  gateway.statements.length = 0;
  expect((await accept('k-1', { token: 'wgi_other' })).status).toBe(404);
  const search = gateway.statements.find((text) => text.includes('from "idempotency_key"')) ?? '';
  const plain = search.replaceAll('$1', `'digest'`).replaceAll('$2', 'now()');
  // Enough answers to requests with a caller that reading all of them costs more than the index.
  await gateway.rest('POST', '/v1/organizations', {
    key: admin.key,
    body: { name: 'Acme' },
    headers: { 'Idempotency-Key': 'k-1' },
  });
  await sql.query(
    `insert into idempotency_key (user_id, digest, fingerprint, scopes, operation, claim, answer, created_at, expires_at)
      select user_id, digest || n, fingerprint, scopes, operation, claim, answer, created_at, expires_at
      from idempotency_key, generate_series(1, 5000) n where user_id = $1`,
    [admin.userId],
  );
  await sql.query('analyze idempotency_key', []);
  const plan = await sql.query<{ 'QUERY PLAN': string }>(`explain ${plain}`, []);
  expect(plan.map((line) => line['QUERY PLAN']).join('\n')).toContain('idempotency_key_keyless_index');
});
