import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { createPerson } from '../../support/fixtures/api-keys.ts';
import { type Fetch, useTestGateway } from '../../support/fixtures/gateway.ts';
import { ACCEPT, INVITE, REVOKE, invite } from '../../support/fixtures/invitations.ts';
import { CHANGE } from '../../support/fixtures/organizations.ts';
import { startSecondGateway } from '../../support/fixtures/second-gateway.ts';
import { sampledRuns } from '../../support/sample.ts';

/** Concurrent requests about invitations, on two gateways. */

const gateway = useTestGateway();
let gateways: Fetch[];
let close: () => Promise<void>;
beforeAll(async () => {
  const peer = await startSecondGateway(gateway);
  gateways = [gateway.fetch, peer.fetch];
  close = () => peer.close();
});
afterAll(() => close());

const post = async (index: number, path: string, body: object, key?: string) => {
  const headers = { 'Content-Type': 'application/json', ...(key && { Authorization: `Bearer ${key}` }) };
  const fetch = gateways[index % gateways.length] ?? gateway.fetch;
  return fetch(path, { method: 'POST', headers, body: JSON.stringify(body) });
};

/** Runs a mutation. Returns the type of its result. */
async function mutate(index: number, key: string, query: string, input: object): Promise<string> {
  const response = await post(index, '/graphql', { query, variables: { input } }, key);
  const { data } = (await response.json()) as { data: Record<string, { __typename: string }> };
  return Object.values(data)[0]?.__typename ?? '';
}

const accept = async (index: number, token: string) =>
  String((await post(index, '/v1/invitations/accept', { token })).status);

async function memberships(organizationId: string): Promise<number> {
  const rows = await gateway.dependencies.sql.query('select 1 from membership where organization_id = $1', [
    organizationId,
  ]);
  return rows.length;
}

test('of 10 concurrent acceptances of one token, one creates a membership; with a key the others are 404, without one they get another first key', async () => {
  const admin = await gateway.createKey();
  const guest = await createPerson(gateway);
  const known = await invite(gateway, admin.key, guest.email);
  const unknown = await invite(gateway, admin.key, `${randomUUID()}@example.com`);
  const answers = await Promise.all(
    Array.from({ length: 10 }, (_, index) => mutate(index, guest.key, ACCEPT, { token: known.token })),
  );
  expect(answers.toSorted()).toEqual([
    'AcceptOrganizationInvitationPayload',
    ...Array<string>(9).fill('NotFoundError'),
  ]);
  const statuses = await Promise.all(Array.from({ length: 10 }, (_, index) => accept(index, unknown.token)));
  expect(statuses).toEqual(Array<string>(10).fill('201'));
  expect(await memberships(admin.organizationId)).toBe(3);
});

test('two concurrent acceptances of invitations for one new address create one account; the other is 409, as it needs the key of that account', async () => {
  for (let round = sampledRuns(5, 2); round > 0; round -= 1) {
    const [one, two] = [await gateway.createKey(), await gateway.createKey()];
    const email = `${randomUUID()}@example.com`;
    const tokens = [await invite(gateway, one.key, email), await invite(gateway, two.key, email)];
    const statuses = await Promise.all(tokens.map(({ token }, index) => accept(index, token)));
    expect(statuses.toSorted()).toEqual(['201', '409']);
  }
});

test('of a concurrent acceptance and revocation, exactly one succeeds', async () => {
  for (let round = sampledRuns(10, 2); round > 0; round -= 1) {
    const admin = await gateway.createKey();
    const { token, id } = await invite(gateway, admin.key, `${randomUUID()}@example.com`);
    const [accepted, revoked] = await Promise.all([
      accept(round, token),
      mutate(round + 1, admin.key, REVOKE, { invitationId: id }),
    ]);
    const isRevoked = revoked === 'RevokeOrganizationInvitationPayload';
    expect([accepted, revoked, await memberships(admin.organizationId)]).toEqual(
      isRevoked ? ['404', revoked, 1] : ['201', 'NotFoundError', 2],
    );
  }
});

test('nobody joins with an invitation after the answer to the demotion of the inviting user', async () => {
  for (let round = sampledRuns(10, 2); round > 0; round -= 1) {
    const admin = await gateway.createKey();
    const deputy = await gateway.createKey({ organization: admin.organization, role: 'admin' });
    const { token } = await invite(gateway, deputy.key, `${randomUUID()}@example.com`, { role: 'ADMIN' });
    const demoted = mutate(round, admin.key, CHANGE, { userId: deputy.userId, role: 'MEMBER' }).then(() =>
      memberships(admin.organizationId),
    );
    const [status, count] = await Promise.all([accept(round + 1, token), demoted]);
    expect([status, count]).toEqual(status === '201' ? ['201', 3] : ['404', 2]);
    expect(await memberships(admin.organizationId)).toBe(count);
  }
});

test('10 concurrent invitations of one address leave one open invitation, for which only one token works', async () => {
  const admin = await gateway.createKey();
  const email = `${randomUUID()}@example.com`;
  const tokens = await Promise.all(
    Array.from({ length: 10 }, async (_, index) => {
      const response = await post(index, '/graphql', { query: INVITE, variables: { input: { email } } }, admin.key);
      const { data } = (await response.json()) as { data: { inviteOrganizationMember: { token: string } } };
      return data.inviteOrganizationMember.token;
    }),
  );
  const statuses = [];
  for (const token of tokens) statuses.push(await accept(0, token));
  expect(statuses.toSorted()).toEqual(['201', ...Array<string>(9).fill('404')]);
});
