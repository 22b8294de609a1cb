import { expect, test } from 'vitest';
import { workContext } from '../../../src/gateway/contexts.ts';
import { maintenanceJob } from '../../../src/gateway/background-jobs.ts';
import { useTestGateway } from '../../support/fixtures/gateway.ts';
import { acceptWithoutKey, invite } from '../../support/fixtures/invitations.ts';
import { createSession, mutate } from '../../support/fixtures/sessions.ts';

const gateway = useTestGateway();

interface Entry {
  readonly operation: string;
  readonly targetLabel: string | null;
  readonly target: object | null;
}

/** The entries with their labels, the earliest first. */
async function logOf(key: string): Promise<Entry[]> {
  const { data, errors } = await gateway.graphql<{ viewer: { organization: { auditLog: { nodes: Entry[] } } } }>(
    key,
    `{ viewer { organization { auditLog(first: 100, filter: { sources: [REQUEST] }, orderBy: { field: OCCURRED_AT, direction: ASC }) {
      nodes { operation targetLabel target { id } } } } } }`,
  );
  expect(errors).toBeUndefined();
  return data?.viewer.organization.auditLog.nodes ?? [];
}

test('a person, a key, an invitation and an event definition are named by their entries after they are gone', async () => {
  const { key, organization } = await gateway.createKey();
  const member = await gateway.createKey({ organization, role: 'member' });
  await mutate(gateway, member.key, 'updateViewer', { name: 'Ada Lovelace' });
  const unbound = await mutate<{ apiKey: { id: string; preview: string } }>(
    gateway,
    member.key,
    'createApiKey',
    { name: 'laptop', scopes: ['SESSIONS_READ'] },
    'apiKey { id preview }',
  );
  await mutate(gateway, member.key, 'revokeApiKey', { apiKeyId: unbound.apiKey.id });
  await mutate(gateway, key, 'changeOrganizationMemberRole', { userId: member.userId, role: 'ADMIN' });
  await mutate(gateway, key, 'removeOrganizationMember', { userId: member.userId });
  const invited = await invite(gateway, key, 'new@example.com');
  expect((await acceptWithoutKey(gateway, { token: invited.token })).status).toBe(201);
  const refused = await mutate<{ invitation: { id: string } }>(
    gateway,
    key,
    'inviteOrganizationMember',
    { email: 'gone@example.com' },
    'invitation { id }',
  );
  await mutate(gateway, key, 'revokeOrganizationInvitation', { invitationId: refused.invitation.id });
  await mutate(gateway, key, 'createEventDefinition', { label: 'Order paid' });
  await mutate(gateway, key, 'deleteEventDefinition', { eventName: 'order_paid' });
  const person = `Ada Lovelace (${member.email})`;
  const laptop = `laptop (${unbound.apiKey.preview})`;
  const entries = (await logOf(key)).map(({ operation, targetLabel }) => [operation, targetLabel]);
  expect(entries.filter(([operation]) => operation !== 'updateViewer')).toEqual([
    ['createApiKey', laptop],
    ['revokeApiKey', laptop],
    ['changeOrganizationMemberRole', person],
    ['removeOrganizationMember', person],
    ['inviteOrganizationMember', 'new@example.com'],
    ['acceptOrganizationInvitation', 'new@example.com'],
    ['createApiKey', expect.stringMatching(/^First key \(wgk_/)],
    ['inviteOrganizationMember', 'gone@example.com'],
    ['revokeOrganizationInvitation', 'gone@example.com'],
    ['createEventDefinition', 'order_paid'],
    ['deleteEventDefinition', 'order_paid'],
  ]);
});

test('the title of a session is in no entry, and names of keys and definitions need their scopes', async () => {
  const { key, organization, email } = await gateway.createKey();
  await createSession(gateway, key, { title: 'Secret' });
  await mutate(gateway, key, 'createApiKey', { name: 'Secret', scopes: ['SESSIONS_READ'] });
  await mutate(gateway, key, 'createEventDefinition', { label: 'Secret' });
  await invite(gateway, key, 'guest@example.com');
  const narrow = await gateway.createKey({ organization, email, scopes: ['organizations.write'] });
  expect((await logOf(narrow.key)).map(({ operation, targetLabel }) => [operation, targetLabel])).toEqual([
    ['createSession', null],
    ['createApiKey', null],
    ['createEventDefinition', null],
    ['inviteOrganizationMember', 'guest@example.com'],
  ]);
});

test('the address of an invitation that is revoked, replaced or expired is erased where nobody has it', async () => {
  const { key } = await gateway.createKey();
  const invited = async (address: string) =>
    (
      await mutate<{ invitation: { id: string } }>(
        gateway,
        key,
        'inviteOrganizationMember',
        { email: address },
        'invitation { id }',
      )
    ).invitation;
  const { config, log, sql } = gateway.dependencies;
  const clean = () =>
    maintenanceJob(config).run(
      { ...workContext(gateway.dependencies), log, signal: new AbortController().signal },
      {},
      'a job',
    );
  const addresses = async () =>
    (await logOf(key))
      .filter(({ operation }) => /Invitation|invite/.test(operation))
      .map(({ targetLabel }) => targetLabel);
  const other = await gateway.createKey();
  const { token } = await invite(gateway, key, 'joined@example.com');
  expect((await acceptWithoutKey(gateway, { token })).status).toBe(201);
  const { id } = await invited('revoked@example.com');
  await mutate(gateway, key, 'revokeOrganizationInvitation', { invitationId: id });
  await invited('open@example.com');
  await invited('open@example.com');
  await invited(other.email);
  // An invitation of another organization is none of this one.
  await invite(gateway, other.key, 'revoked@example.com');
  const joined = ['joined@example.com', 'joined@example.com'];
  const open = ['open@example.com', 'open@example.com'];
  await clean();
  expect(await addresses()).toEqual([...joined, null, null, ...open, other.email]);
  gateway.setClock(new Date(Date.now() + 8 * 86_400_000));
  await clean();
  expect(await addresses()).toEqual([...joined, null, null, null, null, other.email]);
  gateway.setClock(undefined);
  const left = `select 1 from audit_entry a where a::text ~ 'revoked@|open@'`;
  expect(await sql.query(left, [])).toEqual([]);
});
