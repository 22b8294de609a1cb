import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest';
import { type TestGateway, startTestGateway, useTestGateway } from '../../support/fixtures/gateway.ts';
import { type Accepted, acceptWithoutKey, invite } from '../../support/fixtures/invitations.ts';
import { untilWaitingForLock, whileLocked } from '../../support/fixtures/locks.ts';
import { deleteOrganization } from '../../support/fixtures/organization-deletions.ts';
import { REMOVE, mutateOrganization } from '../../support/fixtures/organizations.ts';
import { dumpTables } from '../../support/fixtures/second-gateway.ts';
import { sampled } from '../../support/sample.ts';

/** A person whose answer with the first API key was lost accepts the invitation again. */

const gateway = useTestGateway();
let beside: TestGateway;
let admin: Awaited<ReturnType<TestGateway['createKey']>>;
let email: string;
let token: string;

beforeAll(async () => {
  beside = await startTestGateway({}, { beside: gateway });
});

beforeEach(async () => {
  gateway.setClock(undefined);
  admin = await gateway.createKey();
  email = `${randomUUID()}@example.com`;
  ({ token } = await invite(gateway, admin.key, email));
});

afterAll(() => beside.close());

const accept = (headers: Record<string, string> = {}, to = gateway) =>
  acceptWithoutKey(to, { token, name: 'Ann' }, headers);
const statusOf = async ({ apiKey }: Accepted) =>
  (await gateway.rest('GET', '/v1/sessions', { key: apiKey.key })).status;
const rowsOf = (table: 'membership' | 'api_key') =>
  gateway.dependencies.sql.query(
    `select 1 from ${table} where user_id = (select id from user_account where email = $1)`,
    [email],
  );
const openInvitations = async () =>
  (
    await gateway.graphql<{ viewer: { organization: { invitations: { totalCount: number; nodes: object[] } } } }>(
      admin.key,
      '{ viewer { organization { invitations { totalCount nodes { email } } } } }',
    )
  ).data?.viewer.organization.invitations;

const NOT_FOUND = { status: 404, body: { error: 'invitation not found' } };
const DAY_MS = 86_400_000;

test('until its first key was used, the token gets a new key in its place, and the account stays one', async () => {
  const first = await accept();
  const second = await accept();
  expect([first.status, second.status]).toEqual([201, 201]);
  expect(second.body.apiKey.key).not.toBe(first.body.apiKey.key);
  expect({ ...second.body, apiKey: second.body.apiKey.id }).toEqual({ ...first.body, apiKey: first.body.apiKey.id });
  expect([await rowsOf('membership'), await rowsOf('api_key')].map(({ length }) => length)).toEqual([1, 1]);
  expect([await statusOf(first.body), await statusOf(second.body)]).toEqual([401, 200]);
  expect(await accept()).toMatchObject(NOT_FOUND);
});

test('a retry with the same Idempotency-Key gets a key that works', async () => {
  const headers = { 'Idempotency-Key': randomUUID() };
  await accept(headers);
  const { status, body } = await accept(headers);
  expect([status, await statusOf(body)]).toEqual([201, 200]);
  expect(await accept(headers)).toMatchObject(NOT_FOUND);
});

test('an accepted invitation is not listed, cannot be revoked or accepted with a key, and does not stop a new one', async () => {
  const { body } = await accept();
  expect(await openInvitations()).toEqual({ totalCount: 0, nodes: [] });
  const [row] = await gateway.dependencies.sql.query<{ id: string }>('select id from invitation where email = $1', [
    email,
  ]);
  const REVOKE =
    'mutation($id: ID!) { revokeOrganizationInvitation(input: { invitationId: $id }) { __typename ... on Error { message } } }';
  expect((await gateway.graphql(admin.key, REVOKE, { id: row?.id })).data).toEqual({
    revokeOrganizationInvitation: { __typename: 'NotFoundError', message: 'invitation not found' },
  });
  await LOSSES['the person is removed from the organization']?.(body);
  const again = await invite(gateway, admin.key, email);
  expect(await openInvitations()).toEqual({ totalCount: 1, nodes: [{ email }] });
  const ACCEPT =
    'mutation($token: String!) { acceptOrganizationInvitation(input: { token: $token }) { __typename ... on Error { message } } }';
  const acceptWith = async (given: string) => (await gateway.graphql(body.apiKey.key, ACCEPT, { token: given })).data;
  expect(await acceptWith(token)).toEqual({
    acceptOrganizationInvitation: { __typename: 'NotFoundError', message: 'invitation not found' },
  });
  expect(await acceptWith(again.token)).toEqual({
    acceptOrganizationInvitation: { __typename: 'AcceptOrganizationInvitationPayload' },
  });
});

test('after 7 days the token is 404', async () => {
  const at = new Date();
  gateway.setClock(at);
  ({ token } = await invite(gateway, admin.key, email));
  await accept();
  gateway.setClock(new Date(at.getTime() + 7 * DAY_MS - 1));
  expect((await accept()).status).toBe(201);
  gateway.setClock(new Date(at.getTime() + 7 * DAY_MS));
  expect(await accept()).toMatchObject(NOT_FOUND);
});

test('of concurrent acceptances in two processes one creates the account, and the last key is the valid one', async () => {
  const lock = 'select from organization where id = ? for update';
  const answers = await whileLocked(gateway, lock, [admin.organizationId], async (release) => {
    const twins = [gateway, beside, gateway, beside].map((to) => accept({}, to));
    await untilWaitingForLock(gateway, 4);
    await release();
    return Promise.all(twins);
  });
  expect(answers.map(({ status }) => status)).toEqual([201, 201, 201, 201]);
  expect([await rowsOf('membership'), await rowsOf('api_key')].map(({ length }) => length)).toEqual([1, 1]);
  const statuses = await Promise.all(answers.map(({ body }) => statusOf(body)));
  expect(statuses.toSorted((a, b) => a - b)).toEqual([200, 401, 401, 401]);
});

const LOSSES: Record<string, (accepted: Accepted) => Promise<unknown>> = {
  'the API key is revoked': async ({ apiKey }) => {
    const revoked = await gateway.dependencies.sql.query(
      'update api_key set revoked_at = now() where id = $1 returning id',
      [apiKey.id],
    );
    expect(revoked).toHaveLength(1);
  },
  'the person is removed from the organization': async () => {
    const [user] = await gateway.dependencies.sql.query<{ id: string }>(
      'select id from user_account where email = $1',
      [email],
    );
    const removed = await mutateOrganization(gateway, admin.key, REMOVE, { userId: user?.id });
    expect(removed).toMatchObject({ removedUserId: expect.any(String) });
  },
  'the organization is deleted': async () => {
    const deletion = await deleteOrganization(gateway, admin.key, { confirmSlug: admin.organization });
    expect(deletion).toMatchObject({ deletionJob: { state: 'QUEUED' } });
  },
};

sampled(test, 3).each(Object.keys(LOSSES))('after %s the token is 404', async (loss) => {
  const { body } = await accept();
  await LOSSES[loss]?.(body);
  expect(await accept()).toMatchObject(NOT_FOUND);
});

test('each acceptance has an audit log entry; token and keys are in no table and no log', async () => {
  const answers = [await accept(), await accept()];
  const entries = await gateway.dependencies.sql.query<{ operation: string }>(
    `select operation from audit_entry where organization_id = $1 and operation = 'acceptOrganizationInvitation'`,
    [admin.organizationId],
  );
  expect(entries).toHaveLength(2);
  const kept = [await dumpTables(gateway), ...gateway.logged].join('\n');
  for (const secret of [token, ...answers.map(({ body }) => body.apiKey.key)]) expect(kept).not.toContain(secret);
});

test('the token replaces no key of an account that is joined to an identity provider', async () => {
  const { body } = await accept();
  await gateway.dependencies.sql.query(
    `insert into identity (id, issuer, subject, user_id, created_at, last_signed_in_at)
      select gen_random_uuid(), 'https://provider.example', $1, id, now(), now() from user_account where email = $1`,
    [email],
  );
  expect(await accept()).toMatchObject({
    status: 409,
    body: {
      error:
        'the invitation was accepted, and its account is joined to an identity provider; sign in on the page /sign-in',
    },
  });
  expect([await statusOf(body), (await rowsOf('api_key')).length]).toEqual([200, 1]);
});
