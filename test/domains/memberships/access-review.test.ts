import { expect, test } from 'vitest';
import { createPerson } from '../../support/fixtures/api-keys.ts';
import { useTestGateway } from '../../support/fixtures/gateway.ts';
import { invite } from '../../support/fixtures/invitations.ts';
import { mutate } from '../../support/fixtures/sessions.ts';
import { suspendMember } from '../../support/fixtures/suspended-members.ts';

const gateway = useTestGateway();

interface Reviewed {
  readonly email: string;
  readonly role: string;
  readonly origin: string | null;
  readonly apiKeys: number;
  readonly suspendedAt: string | null;
  readonly lastSeenAt: string | null;
}

test('the access review has everybody, suspended ones too: role, why, last seen and keys, in GraphQL and as a file', async () => {
  const admin = await gateway.createKey({ email: 'ada@example.com' });
  const person = await createPerson(gateway, 'bea@example.com');
  const { token } = await invite(gateway, admin.key, person.email, { role: 'VIEWER' });
  await mutate(gateway, person.key, 'acceptOrganizationInvitation', { token });
  await mutate(gateway, person.key, 'updateViewer', { name: '=1+1' });
  await suspendMember(gateway, admin.organization, 'cid@example.com');
  const file = async (type: string, key = admin.key) => {
    const headers = { Authorization: `Bearer ${key}`, Accept: type };
    const response = await gateway.fetch('/v1/access-review', { headers });
    return { status: response.status, type: response.headers.get('content-type'), text: await response.text() };
  };
  const { text } = await file('application/x-ndjson');
  const lines = text
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line) as Reviewed);
  const seen = expect.any(String) as string;
  expect(
    lines.map(({ email, role, origin, apiKeys, suspendedAt, lastSeenAt }) => [
      email,
      role,
      origin,
      apiKeys,
      suspendedAt,
      lastSeenAt,
    ]),
  ).toEqual([
    ['ada@example.com', 'admin', 'created', 1, null, seen],
    ['bea@example.com', 'viewer', 'invited', 1, null, seen],
    ['cid@example.com', 'member', null, 1, seen, null],
  ]);
  const csv = await file('text/csv');
  expect(csv.type).toBe('text/csv; charset=utf-8');
  expect(csv.text.split('\r\n').map((line) => line.split(',').slice(1, 5))).toEqual([
    ['email', 'name', 'role', 'origin'],
    ['ada@example.com', '', 'admin', 'created'],
    ['bea@example.com', "'=1+1", 'viewer', 'invited'],
    ['cid@example.com', '', 'member', ''],
    [],
  ]);
  const query = `{ viewer { organization { members { nodes { origin apiKeyCount } } suspendedMembers { nodes { origin apiKeyCount } } } } }`;
  expect((await gateway.graphql(admin.key, query)).data).toEqual({
    viewer: {
      organization: {
        members: {
          nodes: [
            { origin: 'CREATED', apiKeyCount: 1 },
            { origin: 'INVITED', apiKeyCount: 1 },
          ],
        },
        suspendedMembers: { nodes: [{ origin: null, apiKeyCount: 1 }] },
      },
    },
  });
  const linked = (parameters: string, headers = {}) =>
    gateway.fetch(`/v1/access-review?${parameters}`, {
      headers: { Authorization: `Bearer ${admin.key}`, Accept: '*/*', ...headers },
    });
  const [asCsv, asLines, refused] = await Promise.all(['csv', 'ndjson', 'xml'].map((each) => linked(`format=${each}`)));
  expect(await asCsv?.text()).toBe(csv.text);
  expect(await asLines?.text()).toBe(text);
  expect([refused?.status, await refused?.text()]).toEqual([400, expect.stringContaining('format: ')]);
  const elsewhere = await linked('organization=elsewhere');
  expect(await elsewhere.text()).toContain('organization: this key acts only in');
  const contradicted = await linked(`organization=${admin.organization}`, { 'X-Organization-Id': 'elsewhere' });
  expect([contradicted.status, await contradicted.text()]).toEqual([
    400,
    expect.stringContaining('X-Organization-Id: this key acts only in'),
  ]);
  const member = await gateway.createKey({ organization: admin.organization, role: 'member' });
  expect((await file('text/csv', member.key)).status).toBe(403);
});
