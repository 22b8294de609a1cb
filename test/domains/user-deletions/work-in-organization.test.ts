import { expect, test } from 'vitest';
import { createPerson } from '../../support/fixtures/api-keys.ts';
import { useOwnGateway } from '../../support/fixtures/gateway.ts';
import { append, createSession, eventsOf, mutate } from '../../support/fixtures/sessions.ts';
import { runJobs } from '../../support/processes/jobs.ts';

/** What administrators do with the data of a person, and with a text in all sessions. */

const gateway = useOwnGateway();

async function people() {
  const admin = await gateway.createKey();
  const person = await gateway.createKey({ organization: admin.organization, role: 'member' });
  const at = `/v1/organizations/${admin.organizationId}/members/${person.userId}`;
  return { admin, person, at };
}
const titles = async (key: string) => {
  const { body } = await gateway.rest<{ items: { title: string }[] }>('GET', '/v1/sessions', { key });
  return body.items.map(({ title }) => title).toSorted();
};
const JOB = `query($id: ID!) { deletionJob(id: $id) { kind state redactedSessions heldSessions deletedOrganizationId } }`;
const jobOf = async (key: string, id: string) =>
  (await gateway.graphql<{ deletionJob: object }>(key, JOB, { id })).data;

test('an administrator deletes what a person has recorded privately, but what is held, also after they have left', async () => {
  const { admin, person, at } = await people();
  const session = (title: string, visibility: string) => createSession(gateway, person.key, { title, visibility });
  await session('public', 'PUBLIC');
  const held = await session('held', 'PRIVATE');
  await append(gateway, person.key, await session('private', 'PRIVATE'), eventsOf(3));
  await createSession(gateway, admin.key, { title: 'of others', visibility: 'PRIVATE' });
  await mutate(gateway, admin.key, 'holdSession', { sessionId: held, reason: 'Case 7' });
  expect((await gateway.rest('DELETE', `${at}/data`, { key: person.key })).status).toBe(403);
  expect((await gateway.rest('DELETE', `${at}/data`, { key: (await gateway.createKey()).key })).status).toBe(404);
  const { status, body } = await gateway.rest<{ deletionJobId: string }>('DELETE', `${at}/data`, { key: admin.key });
  expect(status).toBe(202);
  await runJobs(gateway);
  expect(await titles(admin.key)).toEqual(['held', 'of others', 'public']);
  expect(await gateway.dependencies.sql.query('select 1 from session_event', [])).toEqual([]);
  expect((await gateway.rest('GET', '/v1/users/me', { key: person.key })).status).toBe(200);
  expect(await jobOf(admin.key, body.deletionJobId)).toEqual({
    deletionJob: {
      kind: 'MEMBER_DATA',
      state: 'DONE',
      redactedSessions: null,
      heldSessions: null,
      deletedOrganizationId: null,
    },
  });
  await mutate(gateway, admin.key, 'removeOrganizationMember', { userId: person.userId });
  expect((await gateway.rest('DELETE', `${at}/data`, { key: admin.key })).status).toBe(202);
});

test('with account, the account goes too, where the person belongs to no other organization', async () => {
  const { admin, person, at } = await people();
  const elsewhere = await gateway.createKey();
  await gateway.createKey({ organization: elsewhere.organization, email: person.email });
  const refused = await gateway.rest<{ error: string }>('DELETE', `${at}/data?account=true`, { key: admin.key });
  expect([refused.status, refused.body.error]).toEqual([409, expect.stringContaining('leave out account')]);
  await mutate(gateway, elsewhere.key, 'removeOrganizationMember', { userId: person.userId });
  expect((await gateway.rest('DELETE', `${at}/data?account=true`, { key: admin.key })).status).toBe(202);
  await runJobs(gateway);
  expect((await gateway.rest('GET', '/v1/users/me', { key: person.key })).status).toBe(401);
  expect(await gateway.dependencies.sql.query('select 1 from user_account where id = $1', [person.userId])).toEqual([]);
});

test('everything of one person is a file, for administrators and the person, with what is of others left out', async () => {
  const { admin, person, at } = await people();
  await createSession(gateway, admin.key, { title: 'of others', visibility: 'PUBLIC' });
  await append(gateway, person.key, await createSession(gateway, person.key, { title: 'own' }), eventsOf(2));
  const export_ = async (key: string) => {
    const response = await gateway.fetch(`${at}/export`, { headers: { Authorization: `Bearer ${key}` } });
    const { status } = response;
    const text = await response.text();
    return {
      status,
      lines:
        status === 200
          ? text
              .trim()
              .split('\n')
              .map((line) => JSON.parse(line) as Line)
          : [],
    };
  };
  for (const key of [admin.key, person.key]) {
    const { lines } = await export_(key);
    expect(lines.flatMap(({ kind }) => (kind === 'auditEntry' ? [] : [kind]))).toEqual([
      'export',
      'member',
      'apiKey',
      'session',
      'sessionEvent',
      'sessionEvent',
      'end',
    ]);
    expect(lines[0]).toMatchObject({ person: { email: person.email, identities: [] } });
    expect(lines.at(-1)).toMatchObject({ counts: { session: 1, sessionEvent: 2, apiKey: 1, member: 1 } });
    expect(JSON.stringify(lines)).not.toContain('of others');
  }
  const other = await gateway.createKey({ organization: admin.organization, role: 'member' });
  expect((await export_(other.key)).status).toBe(403);
  expect((await export_((await gateway.createKey()).key)).status).toBe(404);
  const stranger = await createPerson(gateway);
  const unknown = at.replace(person.userId, stranger.userId);
  expect((await gateway.rest('GET', `${unknown}/export`, { key: admin.key })).status).toBe(404);
  const entries = await gateway.dependencies.sql.query<{ operation: string }>(
    'select operation from audit_entry where refusal is null and organization_id = $1 and operation in ($2, $3)',
    [admin.organizationId, 'exportOrganizationMember', 'readPrivateSession'],
  );
  expect(entries.map(({ operation }) => operation)).toEqual(['exportOrganizationMember', 'exportOrganizationMember']);
});
interface Line {
  readonly kind: string;
}

test('a text is redacted in all sessions of the organization; held ones are left and counted', async () => {
  const { admin, person } = await people();
  const text = 'correct horse battery staple';
  const session = (title: string, visibility = 'PRIVATE') => createSession(gateway, person.key, { title, visibility });
  const inEvent = await session('in an event');
  await append(gateway, person.key, inEvent, eventsOf(1, { data: { accumulatedText: `It is ${text}!` } }));
  await session(`title ${text}`, 'PUBLIC');
  const untouched = await session('without');
  const held = await session(`held ${text}`);
  await mutate(gateway, admin.key, 'holdSession', { sessionId: held, reason: 'Case 7' });
  const before = await gateway.rest<{ updatedAt: string }>('GET', `/v1/sessions/${untouched}`, { key: person.key });
  const foreign = await gateway.createKey();
  await createSession(gateway, foreign.key, { title: `foreign ${text}` });
  expect((await mutate(gateway, person.key, 'redactOrganization', { text })).__typename).toBe('ForbiddenError');
  const { deletionJob } = await mutate<{ deletionJob: { id: string } }>(
    gateway,
    admin.key,
    'redactOrganization',
    { text },
    'deletionJob { id }',
  );
  await runJobs(gateway);
  expect(await titles(admin.key)).toEqual([`held ${text}`, 'in an event', 'title [redacted]', 'without']);
  expect((await gateway.rest('GET', `/v1/sessions/${inEvent}/events`, { key: person.key })).text).not.toContain(text);
  expect(await titles(foreign.key)).toEqual([`foreign ${text}`]);
  const after = await gateway.rest<{ updatedAt: string }>('GET', `/v1/sessions/${untouched}`, { key: person.key });
  expect(after.body.updatedAt).toBe(before.body.updatedAt);
  expect(await jobOf(admin.key, deletionJob.id)).toMatchObject({
    deletionJob: { kind: 'REDACTION', state: 'DONE', redactedSessions: 2, heldSessions: 1 },
  });
  const kept = await gateway.dependencies.sql.query('select object from deletion_job where object is not null', []);
  expect(kept).toEqual([]);
});
