import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { LEAVE } from '../../support/fixtures/organizations.ts';
import { type TestGateway, startTestGateway } from '../../support/fixtures/gateway.ts';
import {
  type ClientHost,
  authorizationQuery,
  authorize,
  exchangeCode,
  pkce,
  refresh,
  signedInBrowser,
  startClientHost,
} from '../../support/fixtures/oauth-flow.ts';
import { type ForgingIssuer, startForgingIssuer } from '../../support/peers/forging-issuer.ts';

/** A grant is refreshed exactly when its tokens are accepted. */

let issuer: ForgingIssuer;
let gateway: TestGateway;
let onlyCompany: TestGateway;
let client: ClientHost;
beforeAll(async () => {
  issuer = await startForgingIssuer();
  const env = { ...issuer.env, OIDC_KEYS_SLEEP_AFTER: '30' };
  gateway = await startTestGateway(env);
  onlyCompany = await startTestGateway({ ...env, OIDC_ONLY: 'true' }, { beside: gateway });
  client = await startClientHost();
});
afterAll(async () => {
  await onlyCompany.close();
  await gateway.close();
  await issuer.stop();
  await client.stop();
});

type Person = Awaited<ReturnType<TestGateway['createKey']>>;
const run = (statement: string, values: readonly unknown[]) => gateway.dependencies.sql.query(statement, [...values]);

async function connected() {
  const admin = await gateway.createKey();
  const person = await gateway.createKey({ organization: admin.organization, role: 'member' });
  const jar = await signedInBrowser(gateway, person.key);
  const { verifier, challenge } = pkce();
  const answer = await authorize(jar, authorizationQuery(client, challenge));
  return { admin, person, code: { code: answer.get('code') ?? '', verifier } };
}

const lastSignedIn = ({ userId }: Person, daysAgo: number) =>
  run(
    `insert into identity (id, issuer, subject, user_id, created_at, last_signed_in_at) values ($1, $2, $3::uuid::text, $3::uuid, now(), $4)
     on conflict (user_id, issuer) do update set last_signed_in_at = excluded.last_signed_in_at`,
    [randomUUID(), issuer.issuer, userId, new Date(Date.now() - daysAgo * 86_400_000)],
  );
const removed = ({ userId }: Person) => run('delete from membership where user_id = $1', [userId]);
const joined = ({ userId, organizationId }: Person) =>
  run(`insert into membership (organization_id, user_id, role, created_at) values ($1, $2, 'member', now())`, [
    organizationId,
    userId,
  ]);

/** What a client sees with its tokens: the status at its address, and the answer to a refresh. */
async function seen(tokens: { readonly access_token: string; readonly refresh_token: string }, at = gateway) {
  const used = await at.fetch('/mcp', {
    method: 'POST',
    headers: {
      Authorization: `Bearer ${tokens.access_token}`,
      'Content-Type': 'application/json',
      Accept: 'application/json, text/event-stream',
    },
    body: JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'ping' }),
  });
  const refreshed = await refresh(at, client.clientId, tokens.refresh_token);
  return { used: used.status, refreshed: refreshed.body.error ?? refreshed.status, next: refreshed.body };
}

const ACCEPTED = { used: 200, refreshed: 200 };
const REFUSED = { used: 401, refreshed: 'invalid_grant' };

describe.each<[string, (person: Person) => Promise<unknown>, (person: Person) => Promise<unknown>]>([
  ['has not signed in for long', (person) => lastSignedIn(person, 31), (person) => lastSignedIn(person, 1)],
  ['is no longer a member', removed, joined],
])('the grant of a person who %s', (_, go, comeBack) => {
  test('is not refreshed until they come back, and then goes on', async () => {
    const { person, code } = await connected();
    const { body: tokens } = await exchangeCode(gateway, client, code);
    await go(person);
    expect(await seen(tokens)).toMatchObject(REFUSED);
    expect(await seen(tokens)).toMatchObject(REFUSED);
    await comeBack(person);
    const { next, ...outcome } = await seen(tokens);
    expect(outcome).toEqual(ACCEPTED);
    // Neither is the answer repeated for a client that did not get it.
    await go(person);
    expect(await seen({ ...next, refresh_token: tokens.refresh_token })).toMatchObject(REFUSED);
    await comeBack(person);
    expect(await seen(next)).toMatchObject(ACCEPTED);
  });

  test('is not given to the client that has the code', async () => {
    const { person, code } = await connected();
    await go(person);
    expect((await exchangeCode(gateway, client, code)).body.error).toBe('invalid_grant');
    await comeBack(person);
    expect((await exchangeCode(gateway, client, code)).status).toBe(200);
  });
});

describe('a grant has ended, also for refreshes,', () => {
  const endings: [string, (given: Awaited<ReturnType<typeof connected>>) => Promise<unknown>][] = [
    ['when the person leaves', ({ person }) => gateway.graphql(person.key, LEAVE, { input: {} })],
    ['with the key of the sign-in', ({ person }) => gateway.rest('DELETE', `/v1/api-keys/${person.keyId}`, person)],
    [
      'when the key of the sign-in expires',
      ({ person }) =>
        run(`update api_key set expires_at = now() - interval '1 second' where user_id = $1`, [person.userId]),
    ],
  ];
  test.each(endings)('%s', async (_, end) => {
    const given = await connected();
    const { body: tokens } = await exchangeCode(gateway, client, given.code);
    await end(given);
    expect(await seen(tokens)).toMatchObject(REFUSED);
  });
});

test('a person who becomes a member keeps the grant and its scopes, because none depends on the role', async () => {
  const { admin, code } = await connected();
  const { body: tokens } = await exchangeCode(gateway, client, code);
  await run(`update membership set role = 'admin' where organization_id = $1`, [admin.organizationId]);
  const raised = await seen(tokens);
  await run(`update membership set role = 'member' where user_id <> $1 and organization_id = $2`, [
    admin.userId,
    admin.organizationId,
  ]);
  const lowered = await seen(raised.next);
  expect([raised, lowered]).toMatchObject([ACCEPTED, ACCEPTED]);
  expect([raised.next.scope, lowered.next.scope]).toEqual([tokens.scope, tokens.scope]);
});

test('where keys no longer sign browsers in, grants from before go on like their keys', async () => {
  const { person, code } = await connected();
  const { body: tokens } = await exchangeCode(gateway, client, code);
  expect((await onlyCompany.rest('GET', '/v1/users/me', person)).status).toBe(200);
  expect(await seen(tokens, onlyCompany)).toMatchObject(ACCEPTED);
});
