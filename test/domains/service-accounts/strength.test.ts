import { describe, expect, test } from 'vitest';
import { CookieJar } from '../../support/fixtures/company-sign-in.ts';
import { useTestGateway } from '../../support/fixtures/gateway.ts';
import { untilWaitingForLock, whileLocked } from '../../support/fixtures/locks.ts';
import {
  SERVICE_ACCOUNTS,
  createServiceAccount,
  createServiceAccountKey,
} from '../../support/fixtures/service-accounts.ts';
import { createSession } from '../../support/fixtures/sessions.ts';

/** That keys of service accounts give nobody more than they had, and end with the account whatever happens at the same time. */

const gateway = useTestGateway();
const at = (hours: number) => new Date(Date.now() + hours * 3_600_000).toISOString();
const SCOPES = ['organizations.write', 'api_keys.write', 'sessions.read'];
const statusOf = async (key: string) => (await gateway.rest('GET', '/v1/sessions', { key })).status;

/** An administrator with a second key that expires. */
async function createExpiringKey() {
  const admin = await gateway.createKey();
  const expiresAt = at(1);
  const body = { name: 'expiring', scopes: SCOPES, expiresAt };
  const { key } = (await gateway.rest<{ key: string }>('POST', '/v1/api-keys', { key: admin.key, body })).body;
  return {
    admin,
    key,
    expiresAt,
    path: `${SERVICE_ACCOUNTS}/${(await createServiceAccount(gateway, key)).id}/api-keys`,
  };
}
const wanted = (expiresAt?: string) => ({ name: 'CI', scopes: ['sessions.read'], ...(expiresAt && { expiresAt }) });

describe('a key of a service account expires no later than', () => {
  test('the key that made it', async () => {
    const { key, expiresAt, path } = await createExpiringKey();
    const make = (body: object) => gateway.rest<{ expiresAt: string }>('POST', path, { key, body });
    expect((await make(wanted())).body).toMatchObject({ expiresAt });
    expect((await make(wanted(at(2)))).status).toBe(403);
    const earlier = at(0.5);
    expect((await make(wanted(earlier))).body).toMatchObject({ expiresAt: earlier });
  });

  test('the key that its maker was signed in with', async () => {
    const { key, expiresAt, path } = await createExpiringKey();
    const jar = new CookieJar(gateway);
    await jar.open('/sign-in', { method: 'POST', body: new URLSearchParams({ key }) });
    const make = (body: object) =>
      jar.open(path, { method: 'POST', headers: { 'Content-Type': 'application/json' }, body: JSON.stringify(body) });
    expect(await (await make(wanted())).json()).toMatchObject({ expiresAt });
    expect((await make(wanted(at(2)))).status).toBe(403);
  });

  test('the key of another service account that made it', async () => {
    const admin = await gateway.createKey();
    const { path } = await createExpiringKey();
    const maker = await createServiceAccountKey(gateway, admin.key, { role: 'admin', scopes: SCOPES });
    const other = await createServiceAccount(gateway, admin.key);
    const make = (address: string, body: object) => gateway.rest('POST', address, { key: maker.key, body });
    const own = `${SERVICE_ACCOUNTS}/${other.id}/api-keys`;
    expect((await make(own, wanted())).status).toBe(201);
    expect((await make(own, { ...wanted(), scopes: ['sessions.write'] })).status).toBe(403);
    // Of another organization.
    expect((await make(path, wanted())).status).toBe(404);
  });
});

test('people are no service accounts: their ids are not found, also by administrators', async () => {
  const admin = await gateway.createKey();
  const member = await gateway.createKey({ organization: admin.organization, role: 'member' });
  for (const userId of [admin.userId, member.userId]) {
    const path = `${SERVICE_ACCOUNTS}/${userId}`;
    const ask = (method: string, suffix = '', body?: object) =>
      gateway.rest(method, path + suffix, { key: admin.key, ...(body && { body }) });
    const answers = [
      await ask('PATCH', '', { role: 'admin' }),
      await ask('DELETE'),
      await ask('GET', '/api-keys'),
      await ask('POST', '/api-keys', wanted()),
    ];
    expect(answers.map(({ status }) => status)).toEqual([404, 404, 404, 404]);
  }
  expect(await Promise.all([admin.key, member.key].map(statusOf))).toEqual([200, 200]);
});

test('of keys that are created while their account is deleted, none works afterwards', async () => {
  const admin = await gateway.createKey();
  const account = await createServiceAccountKey(gateway, admin.key, { scopes: ['sessions.read', 'api_keys.write'] });
  const path = `${SERVICE_ACCOUNTS}/${account.id}`;
  const byAdmin = () => gateway.rest<{ key?: string }>('POST', `${path}/api-keys`, { key: admin.key, body: wanted() });
  const byItself = () => gateway.rest<{ key?: string }>('POST', '/v1/api-keys', { key: account.key, body: wanted() });
  const [made] = await Promise.all([
    Promise.all([byAdmin(), byItself(), byAdmin(), byItself(), byAdmin(), byItself()]),
    gateway.rest('DELETE', path, { key: admin.key }),
  ]);
  const later = [await byAdmin(), await byItself()];
  expect(later.map(({ status }) => status)).toEqual([404, 401]);
  const keys = [account.key, ...made.flatMap(({ body }) => body.key ?? [])];
  for (const key of keys) expect(await statusOf(key)).toBe(401);
});

test('a change that an account began as administrator is committed before the answer that it is none any more', async () => {
  const admin = await gateway.createKey();
  const account = await createServiceAccountKey(gateway, admin.key, { role: 'admin', scopes: ['sessions.write'] });
  const sessionId = await createSession(gateway, admin.key, { visibility: 'PUBLIC' });
  const order: string[] = [];
  await whileLocked(gateway, 'select from session where id = ? for update', [sessionId], async (release) => {
    const path = `/v1/sessions/${sessionId}`;
    const changed = gateway
      .rest('PATCH', path, { key: account.key, body: { title: 'Late' } })
      .then(({ status }) => order.push(`changed ${status}`));
    await untilWaitingForLock(gateway, 1);
    const demoted = gateway
      .rest('PATCH', `${SERVICE_ACCOUNTS}/${account.id}`, { key: admin.key, body: { role: 'member' } })
      .then(({ status }) => order.push(`demoted ${status}`));
    await untilWaitingForLock(gateway, 2);
    expect(order).toEqual([]);
    await release();
    await Promise.all([changed, demoted]);
  });
  expect(order.toSorted()).toEqual(['changed 200', 'demoted 200']);
});

test('of a deleted account nothing keeps the name but the audit log', async () => {
  const admin = await gateway.createKey();
  const { id } = await createServiceAccount(gateway, admin.key, { name: 'Nightly builds of Ann' });
  await gateway.rest('DELETE', `${SERVICE_ACCOUNTS}/${id}`, { key: admin.key });
  const { sql } = gateway.dependencies;
  expect(await sql.query('select name from user_account where id = $1', [id])).toEqual([{ name: null }]);
});
