import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest';
import { type Person, actingIn, createPerson, postKey } from '../../support/fixtures/api-keys.ts';
import { type TestGateway, startTestGateway } from '../../support/fixtures/gateway.ts';
import { acceptWithoutKey, invite } from '../../support/fixtures/invitations.ts';
import { createConnection, visit } from '../../support/fixtures/mcp-connections.ts';
import { NOTIFICATIONS_ONLY } from '../../support/fixtures/notifications.ts';
import { REMAINING_ROWS, deleteOrganization, tablesWith } from '../../support/fixtures/organization-deletions.ts';
import { append, createSession, eventsOf, subscribe, tail } from '../../support/fixtures/sessions.ts';
import { createWorkspace } from '../../support/fixtures/workspace.ts';
import { startOAuthFixture } from '../../support/peers/mcp-authorization-server.ts';
import { runJobs } from '../../support/processes/jobs.ts';

let gateway: TestGateway;
let peer: TestGateway;
let person: Person;
let slug: string;
let organizationId: string;
beforeAll(async () => {
  gateway = await startTestGateway({ ALLOW_PRIVATE_NETWORK: 'true' }, { timing: NOTIFICATIONS_ONLY });
  peer = await startTestGateway({}, { beside: gateway, timing: NOTIFICATIONS_ONLY });
});
afterAll(async () => {
  await peer.close();
  await gateway.close();
});
beforeEach(async () => {
  person = await createPerson(gateway);
  slug = `doomed-${randomUUID().slice(0, 13)}`;
  ({ organizationId } = await person.join(slug, 'admin'));
});

const jobOf = async (key: string, id: string) => {
  const query = 'query($id: ID!) { deletionJob(id: $id) { state deletedOrganizationId finishedAt } }';
  return (await gateway.graphql<{ deletionJob: object | null }>(key, query, { id })).data?.deletionJob;
};
const statusOf = async (to: TestGateway, key: string, header?: string) =>
  (await to.rest('GET', '/v1/sessions', { key, headers: actingIn(header) })).status;

test('after the deletion of an organization with rows in every table, only the record of the deletion remains', async () => {
  const workspace = await createWorkspace();
  try {
    const { gateway: full, pool } = workspace;
    const key = workspace.keyOf('unbound') ?? '';
    const id = pool['organizationId']?.[0] ?? '';
    await invite(full, key, `${randomUUID()}@example.com`);
    const registration =
      'mutation { registerObjectIdentifiers(input: { objectType: "CONTACT", propertyName: "badge", identifiers: [{ value: "7", objectId: "1" }] }) { __typename } }';
    await full.graphql(key, registration);
    const body = { title: 'Kept for replay' };
    await full.rest('POST', '/v1/sessions', { key, body, headers: { 'Idempotency-Key': 'once' } });
    const held = await tablesWith(full, id);
    expect(Object.keys(held)).toEqual(expect.arrayContaining(['session_event', 'event_occurrence', 'idempotency_key']));
    const { data } = await full.graphql<{ viewer: { organization: { slug: string } } }>(
      key,
      '{ viewer { organization { slug } } }',
    );
    const confirmSlug = data?.viewer.organization.slug;
    expect(await deleteOrganization(full, key, { confirmSlug })).toMatchObject({ deletionJob: { state: 'QUEUED' } });
    await runJobs(full);
    expect(await tablesWith(full, id)).toEqual(REMAINING_ROWS);
    const entries = await full.dependencies.sql.query('select 1 from audit_entry where organization_id = $1', [id]);
    expect(entries).toEqual([]);
    // Events of sessions and secrets of connections do not contain the organization id, but these ids.
    for (const other of [...(pool['sessionId'] ?? []), ...(pool['mcpConnectionId'] ?? []), ...(pool['apiKeyId'] ?? [])])
      expect([other, await tablesWith(full, other)]).toEqual([other, {}]);
  } finally {
    await workspace.close();
  }
});

test('after the answer no key can access it in any process; members keep their accounts and other organizations', async () => {
  const member = await createPerson(gateway);
  const bound = await member.join(slug);
  const elsewhere = await member.join(`other-${randomUUID()}`);
  const { token } = await invite(gateway, bound.key, 'x@example.com').catch(() => ({ token: '' }));
  expect(token).toBe('');
  const invitation = await invite(gateway, (await person.join(slug)).key, `${randomUUID()}@example.com`);
  const id = btoa(`Organization:${organizationId}`);
  expect(await deleteOrganization(gateway, person.key, { confirmSlug: slug, organizationId: id }, slug)).toEqual({
    __typename: 'DeleteOrganizationPayload',
    deletedId: id,
    deletionJob: { id: expect.any(String), databaseId: expect.any(String), state: 'QUEUED', deletedOrganizationId: id },
  });
  for (const to of [gateway, peer]) {
    expect(await statusOf(to, bound.key)).toBe(401);
    for (const header of [slug, organizationId]) expect(await statusOf(to, member.key, header)).toBe(404);
    expect(await statusOf(to, elsewhere.key)).toBe(200);
    expect((await acceptWithoutKey(to, { token: invitation.token })).status).toBe(404);
  }
  // Its slug is available, and it does not count for the maximum of organizations of a person.
  const body = { name: 'Again', slug };
  expect((await gateway.rest('POST', '/v1/organizations', { key: person.key, body })).status).toBe(201);
});

test('live tails end immediately in every process, for bound and unbound keys', async () => {
  const member = await createPerson(gateway);
  const bound = await member.join(slug);
  const sessionId = await createSession(gateway, bound.key, { visibility: 'PUBLIC' });
  await append(gateway, bound.key, sessionId, eventsOf(1));
  const streams = await Promise.all(
    [gateway, peer].flatMap((to) => [
      tail(to, bound.key, sessionId),
      tail(to, member.key, sessionId, { headers: actingIn(slug) }),
    ]),
  );
  await Promise.all(streams.map((stream) => stream.take(1)));
  const rest = streams.map((stream) => stream.take(2));
  await deleteOrganization(gateway, person.key, { confirmSlug: slug }, slug);
  const refused = (error: string) => [{ event: 'error', data: JSON.stringify({ error }) }];
  const [ofBound, ofUnbound] = [
    refused('missing or invalid API key'),
    refused('X-Organization-Id: organization not found'),
  ];
  expect(await Promise.all(rest)).toEqual([ofBound, ofUnbound, ofBound, ofUnbound]);
});

test('the job can be followed by a subscription with the scope that the deletion needs', async () => {
  const deletion = await deleteOrganization(gateway, person.key, { confirmSlug: slug }, slug);
  const input = { name: 'Narrow', scopes: ['organizations.write'], allOrganizations: true };
  const { body } = await postKey(gateway, person.key, input);
  const query = 'subscription($id: ID!) { deletionJobChanged(deletionJobId: $id) { state } }';
  const stream = await subscribe(gateway, body.key, query, { id: deletion?.deletionJob?.id });
  const states = stream.take(3);
  await runJobs(gateway);
  expect((await states).map(({ data }) => JSON.parse(data ?? '') as unknown)).toEqual(
    ['QUEUED', 'RUNNING', 'DONE'].map((state) => ({ data: { deletionJobChanged: { state } } })),
  );
});

test('only the user who requested the deletion can read its job', async () => {
  const other = await createPerson(gateway);
  await other.join(slug, 'admin');
  const deletion = await deleteOrganization(gateway, person.key, { confirmSlug: slug }, slug);
  const id = deletion?.deletionJob?.databaseId ?? '';
  const deletedOrganizationId = btoa(`Organization:${organizationId}`);
  expect(await jobOf(person.key, id)).toEqual({ state: 'QUEUED', deletedOrganizationId, finishedAt: null });
  await runJobs(gateway);
  expect(await jobOf(person.key, id)).toEqual({
    state: 'DONE',
    deletedOrganizationId,
    finishedAt: expect.any(String),
  });
  expect(await jobOf(other.key, id)).toBeNull();
  const cancel = `mutation { cancelUserDeletion(input: { deletionJobId: "${id}" }) { __typename } }`;
  expect((await gateway.graphql(person.key, cancel)).data).toEqual({
    cancelUserDeletion: { __typename: 'NotFoundError' },
  });
});

test.each(['', 'DOOMED', 'other'])('400 if confirmSlug is %j and not the slug', async (confirmSlug) => {
  expect(await deleteOrganization(gateway, person.key, { confirmSlug }, slug)).toMatchObject({
    __typename: 'ValidationError',
    path: ['confirmSlug'],
  });
  expect(await statusOf(gateway, person.key, slug)).toBe(200);
});

test('an organization without a slug is confirmed by its id', async () => {
  await gateway.dependencies.sql.query('update organization set slug = null where id = $1', [organizationId]);
  expect(await deleteOrganization(gateway, person.key, { confirmSlug: slug }, organizationId)).toMatchObject({
    message: 'confirmSlug: must be the id of the organization',
  });
  expect(await deleteOrganization(gateway, person.key, { confirmSlug: organizationId }, organizationId)).toMatchObject({
    __typename: 'DeleteOrganizationPayload',
  });
});

test('403 for members and without the scope, for whom viewerCanDelete is false; 404 for another organization', async () => {
  const member = await gateway.createKey({ organization: slug });
  const bare = await gateway.createKey({ organization: slug, role: 'admin', scopes: ['sessions.read'] });
  const foreign = await gateway.createKey();
  const may = '{ viewer { organization { viewerCanDelete deletionPreview { memberCount } } } }';
  for (const { key } of [member, bare]) {
    expect(await deleteOrganization(gateway, key, { confirmSlug: slug })).toMatchObject({
      __typename: 'ForbiddenError',
    });
    expect((await gateway.graphql(key, may)).data).toEqual({
      viewer: { organization: { viewerCanDelete: false, deletionPreview: null } },
    });
  }
  const input = { confirmSlug: slug, organizationId };
  expect(await deleteOrganization(gateway, foreign.key, input)).toMatchObject({ __typename: 'NotFoundError' });
});

test('deletionPreview counts what would be deleted', async () => {
  const { key } = await person.join(slug);
  const sessionId = await createSession(gateway, key);
  await append(gateway, key, sessionId, eventsOf(5));
  // Deletes the oldest events, like `events prune`.
  await gateway.dependencies.sql.query('delete from session_event where session_id = $1 and id <= 2', [sessionId]);
  await createConnection(gateway, key, { type: 'stdio', name: 'Local', command: 'mcp' });
  await gateway.rest('POST', '/events/2026-03/event-definitions', { key, body: { label: 'Paid' } });
  const fields = 'memberCount sessionCount sessionEventCount mcpServerCount eventDefinitionCount apiKeyCount';
  const query = `{ viewer { organization { viewerCanDelete deletionPreview { ${fields} } } } }`;
  expect((await gateway.graphql(key, query)).data).toEqual({
    viewer: {
      organization: {
        viewerCanDelete: true,
        deletionPreview: {
          memberCount: 1,
          sessionCount: 1,
          sessionEventCount: '3',
          mcpServerCount: 1,
          eventDefinitionCount: 1,
          apiKeyCount: 2,
        },
      },
    },
  });
});

test('the tokens of its MCP connections are revoked at their authorization server', async () => {
  const fixture = await startOAuthFixture();
  try {
    const { key } = await person.join(slug);
    for (const visibility of ['shared', 'personal']) {
      const { body } = await createConnection(gateway, key, {
        name: visibility,
        visibility,
        serverUrl: fixture.serverUrl,
      });
      expect((await visit(gateway, fixture.consent(body.authorizationUrl ?? ''))).status).toBe(200);
    }
    await deleteOrganization(gateway, person.key, { confirmSlug: slug }, slug);
    await runJobs(gateway);
    expect(new Set(fixture.revoked).size).toBe(2);
    expect(await tablesWith(gateway, organizationId)).toEqual(REMAINING_ROWS);
  } finally {
    await fixture.stop();
  }
});
