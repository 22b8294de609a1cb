import { randomUUID } from 'node:crypto';
import { describe, expect, test } from 'vitest';
import { createPerson } from '../../support/fixtures/api-keys.ts';
import { useTestGateway } from '../../support/fixtures/gateway.ts';
import {
  ACCEPT,
  INVITATIONS,
  INVITE,
  REVOKE,
  acceptWithoutKey,
  invite,
  previewInvitation,
} from '../../support/fixtures/invitations.ts';
import { CHANGE, REMOVE, mutateOrganization, refused } from '../../support/fixtures/organizations.ts';
import { dumpTables } from '../../support/fixtures/second-gateway.ts';
import { createServiceAccountKey } from '../../support/fixtures/service-accounts.ts';
import { sampled } from '../../support/sample.ts';

const gateway = useTestGateway();
const mutate = (key: string, query: string, input: object) => mutateOrganization(gateway, key, query, input);
const NAME = `mutation($input: UpdateViewerInput!) { updateViewer(input: $input) { __typename } }`;
const newAddress = () => `${randomUUID()}@example.com`;
const NOT_FOUND = refused('NotFound', 'invitation not found');

const listed = async (key: string) => {
  const { data } = await gateway.graphql<{ viewer: { organization: { invitations: { nodes: object[] } } } }>(
    key,
    INVITATIONS,
  );
  return data?.viewer.organization.invitations;
};

describe('inviting', () => {
  test('an invitation stores the address in lower case, is valid for 7 days, and is listed until it is revoked', async () => {
    const admin = await gateway.createKey();
    const address = `${randomUUID()}@Example.COM`;
    const at = new Date('2026-03-01T10:20:30.500Z');
    gateway.setClock(at);
    const answer = await mutate(admin.key, INVITE, { email: address, role: 'ADMIN' });
    const expiresAt = '2026-03-08T10:20:30.500Z';
    expect(answer).toEqual({
      __typename: 'InviteOrganizationMemberPayload',
      token: expect.stringMatching(/^wgi_[\w-]{43}$/),
      invitation: {
        id: expect.any(String),
        databaseId: expect.any(String),
        email: address.toLowerCase(),
        role: 'ADMIN',
        expiresAt,
      },
    });
    const { id } = (answer as { invitation: { id: string } }).invitation;
    const node = { id, email: address.toLowerCase(), role: 'ADMIN', viewerCanRevoke: true, expiresAt };
    expect(await listed(admin.key)).toEqual({ totalCount: 1, nodes: [{ ...node, invitedBy: { email: admin.email } }] });
    expect(await mutate(admin.key, REVOKE, { invitationId: id })).toEqual({
      __typename: 'RevokeOrganizationInvitationPayload',
      deletedId: id,
    });
    expect(await listed(admin.key)).toEqual({ totalCount: 0, nodes: [] });
    expect(await mutate(admin.key, REVOKE, { invitationId: id })).toEqual(NOT_FOUND);
    gateway.setClock(undefined);
  });

  test('a second invitation of an address replaces the first, whose token no longer works', async () => {
    const admin = await gateway.createKey();
    const guest = await createPerson(gateway);
    const first = await invite(gateway, admin.key, guest.email.toUpperCase());
    const second = await invite(gateway, admin.key, guest.email, { role: 'ADMIN' });
    expect((await listed(admin.key))?.nodes).toMatchObject([{ email: guest.email, role: 'ADMIN' }]);
    expect(await mutate(guest.key, ACCEPT, { token: first.token })).toEqual(NOT_FOUND);
    expect(await mutate(guest.key, ACCEPT, { token: second.token })).toMatchObject({ role: 'ADMIN' });
  });

  test('409: a member cannot be invited, and an organization has at most 100 open invitations', async () => {
    const admin = await gateway.createKey();
    const member = await gateway.createKey({ organization: admin.organization });
    expect(await mutate(admin.key, INVITE, { email: member.email.toUpperCase() })).toEqual(
      refused('Conflict', `email: ${member.email} is already a member of the organization`, ['email']),
    );
    const addresses = Array.from({ length: 100 }, () => newAddress());
    for (const email of addresses) await invite(gateway, admin.key, email);
    expect(await mutate(admin.key, INVITE, { email: newAddress() })).toEqual(
      refused('Conflict', 'an organization has at most 100 open invitations; revoke one first'),
    );
    // Replaced and expired invitations do not count.
    await invite(gateway, admin.key, addresses[0] ?? '');
    gateway.setClock(new Date(Date.now() + 8 * 86_400_000));
    await invite(gateway, admin.key, newAddress());
    gateway.setClock(undefined);
  });

  sampled(test, 3).each(['', 'x', 'a@', '@b', 'a b@example.com', `${'a'.repeat(250)}@example.com`, 'a@example.com\0'])(
    '%j is no e-mail address: 400',
    async (email) => {
      const { key } = await gateway.createKey();
      expect(await mutate(key, INVITE, { email })).toMatchObject({ __typename: 'ValidationError', path: ['email'] });
    },
  );

  test('only an administrator can invite, list and revoke; inviting and revoking also need the scope', async () => {
    const admin = await gateway.createKey();
    const { organization } = admin;
    const member = await gateway.createKey({ organization });
    const bare = await gateway.createKey({ organization, role: 'admin', scopes: ['sessions.read'] });
    const { id } = await invite(gateway, admin.key, newAddress());
    for (const [query, input] of [
      [INVITE, { email: newAddress() }],
      [REVOKE, { invitationId: id }],
    ] as const) {
      expect(await mutate(member.key, query, input)).toEqual(
        refused('Forbidden', 'only administrators of the organization can do this'),
      );
      expect(await mutate(bare.key, query, input)).toEqual(
        refused('Forbidden', 'the API key lacks the scope organizations.write'),
      );
    }
    expect(await listed(member.key)).toBeNull();
    expect((await listed(bare.key))?.nodes).toMatchObject([{ viewerCanRevoke: false }]);
    const node = `{ node(id: "${btoa(`OrganizationInvitation:${id}`)}") { id } }`;
    expect((await gateway.graphql(member.key, node)).data).toEqual({ node: null });
    expect((await gateway.graphql(bare.key, node)).data).toEqual({ node: { id: expect.any(String) } });
  });
});

describe('accepting with a key', () => {
  test.each(['unbound', 'bound to another organization'])('the caller can join with a key that is %s', async (kind) => {
    const admin = await gateway.createKey();
    const guest = await createPerson(gateway);
    const key = kind === 'unbound' ? guest.key : (await guest.join(`home-${randomUUID()}`)).key;
    const { token } = await invite(gateway, admin.key, guest.email);
    expect(await mutate(key, ACCEPT, { token })).toEqual({
      __typename: 'AcceptOrganizationInvitationPayload',
      role: 'MEMBER',
      organization: { slug: admin.organization },
    });
    expect(await mutate(key, ACCEPT, { token })).toEqual(NOT_FOUND);
    expect(await listed(admin.key)).toMatchObject({ nodes: [] });
    const acting = { 'X-Organization-Id': admin.organization };
    const { data } = await gateway.graphql(
      guest.key,
      '{ viewer { organization { slug viewerRole memberCount } } }',
      {},
      acting,
    );
    expect(data).toEqual({
      viewer: { organization: { slug: admin.organization, viewerRole: 'MEMBER', memberCount: 2 } },
    });
  });

  test('403 with the account of another address; the invitation stays open', async () => {
    const admin = await gateway.createKey();
    const guest = await createPerson(gateway);
    const thief = await createPerson(gateway);
    const { token } = await invite(gateway, admin.key, guest.email);
    expect(await mutate(thief.key, ACCEPT, { token })).toEqual(
      refused('Forbidden', 'the invitation is for another e-mail address than the address of your account'),
    );
    expect(await mutate(guest.key, ACCEPT, { token })).toMatchObject({ role: 'MEMBER' });
  });

  test('used, expired, revoked and unknown tokens get the same 404, on both APIs', async () => {
    const admin = await gateway.createKey();
    const guest = await createPerson(gateway);
    const used = (await invite(gateway, admin.key, guest.email)).token;
    await mutate(guest.key, ACCEPT, { token: used });
    const revoked = await invite(gateway, admin.key, newAddress());
    await mutate(admin.key, REVOKE, { invitationId: revoked.id });
    const { token: expired } = await invite(gateway, admin.key, newAddress());
    gateway.setClock(new Date(Date.now() + 7 * 86_400_000));
    for (const token of [used, revoked.token, expired, `wgi_${'A'.repeat(43)}`, 'x']) {
      expect(await mutate(guest.key, ACCEPT, { token })).toEqual(NOT_FOUND);
      const { status, body } = await acceptWithoutKey(gateway, { token });
      expect([status, body]).toEqual([
        404,
        { error: 'invitation not found', details: { type: 'OrganizationInvitation' } },
      ]);
    }
    gateway.setClock(undefined);
  });

  test('an invitation ends when the inviting user is no longer an administrator', async () => {
    const admin = await gateway.createKey();
    const deputy = await gateway.createKey({ organization: admin.organization, role: 'admin' });
    const guest = await createPerson(gateway);
    const { token } = await invite(gateway, deputy.key, guest.email, { role: 'ADMIN' });
    await mutate(admin.key, CHANGE, { userId: deputy.userId, role: 'MEMBER' });
    expect(await listed(admin.key)).toMatchObject({ nodes: [] });
    expect(await mutate(guest.key, ACCEPT, { token })).toEqual(NOT_FOUND);
  });

  test('an invitation of a service account stays ended when its role comes back', async () => {
    const admin = await gateway.createKey();
    const account = await createServiceAccountKey(gateway, admin.key, {
      role: 'admin',
      scopes: ['organizations.write'],
    });
    const guest = await createPerson(gateway);
    const { token } = await invite(gateway, account.key, guest.email);
    for (const role of ['member', 'admin'])
      await gateway.rest('PATCH', `/v1/service-accounts/${account.id}`, { key: admin.key, body: { role } });
    expect(await listed(admin.key)).toMatchObject({ nodes: [] });
    expect(await mutate(guest.key, ACCEPT, { token })).toEqual(NOT_FOUND);
  });

  test('409 if the caller would be administrator of a 21st organization; the invitation stays open', async () => {
    const admin = await gateway.createKey();
    const guest = await createPerson(gateway);
    for (let count = 0; count < 20; count += 1) await guest.join(`own-${randomUUID()}`, 'admin');
    const { token } = await invite(gateway, admin.key, guest.email, { role: 'ADMIN' });
    expect(await mutate(guest.key, ACCEPT, { token })).toMatchObject({ __typename: 'ConflictError' });
    expect((await listed(admin.key))?.nodes).toHaveLength(1);
  });

  test('409 for a caller who has already become a member', async () => {
    const admin = await gateway.createKey();
    const guest = await createPerson(gateway);
    const { token } = await invite(gateway, admin.key, guest.email);
    await guest.join(admin.organization);
    expect(await mutate(guest.key, ACCEPT, { token })).toEqual(
      refused('Conflict', 'you are already a member of the organization'),
    );
  });
});

describe('the preview of an invitation', () => {
  test('names organization, inviter, address and role to whoever has the token, and changes nothing', async () => {
    const admin = await gateway.createKey();
    const address = newAddress();
    const at = new Date('2026-03-01T10:20:30.500Z');
    gateway.setClock(at);
    const { token } = await invite(gateway, admin.key, address, { role: 'ADMIN' });
    const before = await dumpTables(gateway);
    const preview = {
      organizationName: admin.organization,
      email: address,
      role: 'admin',
      inviter: admin.email,
      expiresAt: '2026-03-08T10:20:30.500Z',
    };
    expect(await previewInvitation(gateway, token)).toMatchObject({ status: 200, body: preview });
    expect(await dumpTables(gateway)).toEqual(before);
    await mutate(admin.key, NAME, { name: 'Ann Admin' });
    expect((await previewInvitation(gateway, token)).body).toEqual({ ...preview, inviter: 'Ann Admin' });
    gateway.setClock(new Date('2026-03-08T10:20:30.501Z'));
    expect(await previewInvitation(gateway, token)).toMatchObject({ status: 404, body: { error: NOT_FOUND.message } });
    gateway.setClock(undefined);
  });

  test('404 for unknown, replaced, revoked and used tokens, and when the inviter is no longer an administrator', async () => {
    const admin = await gateway.createKey();
    const other = await gateway.createKey({ organization: admin.organization, role: 'admin' });
    const address = newAddress();
    const { token: replaced } = await invite(gateway, admin.key, address);
    const { token: used } = await invite(gateway, admin.key, address);
    const { token: revoked, id } = await invite(gateway, admin.key, newAddress());
    await mutate(admin.key, REVOKE, { invitationId: id });
    const { token: ended } = await invite(gateway, other.key, newAddress());
    await mutate(admin.key, CHANGE, { userId: other.userId, role: 'MEMBER' });
    await acceptWithoutKey(gateway, { token: used });
    for (const token of [`wgi_${'0'.repeat(43)}`, 'x', replaced, used, revoked, ended])
      expect(await previewInvitation(gateway, token)).toMatchObject({
        status: 404,
        body: { error: NOT_FOUND.message },
      });
  });
});

test('an invitation has ended for good when its inviter loses the right to invite, whether a person or a service account', async () => {
  const admin = await gateway.createKey();
  const status = async (token: string) => (await previewInvitation(gateway, token)).status;
  const role = (userId: string, given: string) => mutate(admin.key, CHANGE, { userId, role: given });
  const demoted = await gateway.createKey({ organization: admin.organization, role: 'admin' });
  const ofDemoted = await invite(gateway, demoted.key, newAddress());
  await role(demoted.userId, 'MEMBER');
  await role(demoted.userId, 'ADMIN');
  const removed = await gateway.createKey({ organization: admin.organization, role: 'admin' });
  const ofRemoved = await invite(gateway, removed.key, newAddress());
  await mutate(admin.key, REMOVE, { userId: removed.userId });
  const back = { email: removed.email, organization: admin.organization, role: 'admin' as const };
  const again = await gateway.createKey(back);
  const program = await createServiceAccountKey(gateway, admin.key, { role: 'admin', scopes: ['organizations.write'] });
  const ofProgram = await invite(gateway, program.key, newAddress());
  for (const given of ['member', 'admin'])
    await gateway.rest('PATCH', `/v1/service-accounts/${program.id}`, { key: admin.key, body: { role: given } });
  const tokens = [ofDemoted, ofRemoved, ofProgram].map(({ token }) => token);
  expect(await Promise.all(tokens.map(status))).toEqual([404, 404, 404]);
  const later = [demoted.key, again.key, program.key].map((key) => invite(gateway, key, newAddress()));
  expect(await Promise.all((await Promise.all(later)).map(({ token }) => status(token)))).toEqual([200, 200, 200]);
});

describe('accepting without a key', () => {
  test('creates the account, and returns an unbound key that acts in the organization', async () => {
    const admin = await gateway.createKey();
    const email = newAddress();
    const { token } = await invite(gateway, admin.key, email);
    const { status, body } = await acceptWithoutKey(gateway, { token, name: 'Ann' });
    expect([status, body]).toEqual([
      201,
      {
        organization: {
          id: admin.organizationId,
          name: admin.organization,
          slug: admin.organization,
          logoUrl: null,
          memberCount: 2,
          createdAt: expect.any(String),
          updatedAt: expect.any(String),
        },
        apiKey: { id: expect.any(String), key: expect.stringMatching(/^wgk_/) },
      },
    ]);
    const { key } = body.apiKey;
    const { data } = await gateway.graphql(
      key,
      '{ viewer { user { email name } organization { slug viewerRole } apiKey { databaseId } } }',
    );
    expect(data).toEqual({
      viewer: {
        user: { email, name: 'Ann' },
        organization: { slug: admin.organization, viewerRole: 'MEMBER' },
        apiKey: { databaseId: body.apiKey.id },
      },
    });
    expect((await gateway.rest('POST', '/v1/organizations', { key, body: { name: 'Own' } })).status).toBe(201);
    expect((await acceptWithoutKey(gateway, { token })).status).toBe(404);
  });

  test('409 for an address that has an account, whose key can accept the invitation', async () => {
    const admin = await gateway.createKey();
    const guest = await createPerson(gateway);
    const { token } = await invite(gateway, admin.key, guest.email);
    const { status, body } = await acceptWithoutKey(gateway, { token });
    expect([status, body]).toEqual([
      409,
      {
        error:
          'the invited e-mail address already has an account; accept with its API key and the GraphQL mutation acceptOrganizationInvitation',
      },
    ]);
    expect(await mutate(guest.key, ACCEPT, { token })).toMatchObject({ role: 'MEMBER' });
  });

  test.each([
    [{}, 'token: is required'],
    [{ token: 1 }, 'token: must be a string'],
    [{ token: '' }, 'token: must not be empty'],
    [{ token: 'x', name: '' }, 'name: must not be empty'],
    [{ token: 'x', role: 'admin' }, 'role: is not a known property'],
  ])('400 for %j', async (body, error) => {
    expect(await acceptWithoutKey(gateway, body)).toMatchObject({ status: 400, body: { error } });
  });
});

test('a token is stored neither in a table, even with an idempotency key, nor in the log', async () => {
  const admin = await gateway.createKey();
  const guest = await createPerson(gateway);
  const send = async (key: string, query: string, input: object) => {
    const headers = { 'Idempotency-Key': randomUUID() };
    const { data } = await gateway.graphql<Record<string, { token?: string }>>(key, query, { input }, headers);
    return Object.values(data ?? {})[0];
  };
  const token = (await send(admin.key, INVITE, { email: guest.email }))?.token ?? '';
  expect(token).toMatch(/^wgi_/);
  const open = await dumpTables(gateway);
  expect(await send(guest.key, ACCEPT, { token })).toMatchObject({ role: 'MEMBER' });
  const other = await invite(gateway, admin.key, newAddress());
  await acceptWithoutKey(gateway, { token: other.token });
  const kept = [open, await dumpTables(gateway), ...gateway.logged].join('\n');
  expect(kept).not.toContain(token);
  expect(kept).not.toContain(other.token);
});
