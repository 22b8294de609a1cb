import { runJobs } from '../../support/processes/jobs.ts';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { type TestGateway, startTestGateway } from '../../support/fixtures/gateway.ts';
import { createSession, moveTo, mutate, pullRequestInput } from '../../support/fixtures/sessions.ts';

const HOUR_MS = 3_600_000;

let gateway: TestGateway;
let second: TestGateway;
let organization: string;
let admin: { key: string; keyId: string };
let member: { key: string; keyId: string };
beforeAll(async () => {
  // Polls so rarely that only a notification can deliver a change.
  gateway = await startTestGateway({}, { timing: { livePollMs: HOUR_MS } });
  second = await startTestGateway({}, { beside: gateway });
  const first = await gateway.createKey();
  ({ organization } = first);
  admin = first;
  member = await gateway.createKey({ organization, role: 'member' });
});
afterAll(async () => {
  await second.close();
  await gateway.close();
});

interface Follower {
  /** Reads until the stream contains this text. Returns all that was read. */
  until(part: string): Promise<string>;
  /** Reads until the stream ends. Returns all that was read. */
  untilEnd(): Promise<string>;
  end(): Promise<void>;
}

const FIELDS = 'title state { current }';

function follow(on: TestGateway, key: string, filter: object | null = null, fields = FIELDS): Promise<Follower> {
  const query = `subscription($filter: SessionFilter) { sessionChange(filter: $filter) { ... on SessionChanged { session { ${fields} } } ... on SessionLeft { sessionId left: session { ${fields} } } } }`;
  return followQuery(on, key, query, { filter });
}

async function followQuery(on: TestGateway, key: string, query: string, variables = {}): Promise<Follower> {
  const response = await on.fetch('/graphql', {
    method: 'POST',
    headers: { Authorization: `Bearer ${key}`, 'Content-Type': 'application/json', Accept: 'text/event-stream' },
    body: JSON.stringify({ query, variables }),
  });
  const reader = response.body?.pipeThrough(new TextDecoderStream()).getReader();
  let text = '';
  return {
    async until(part) {
      while (!text.includes(part)) {
        const { done, value } = (await reader?.read()) ?? { done: true };
        if (done) throw new Error(`the stream ended without ${part}: ${text}`);
        text += value;
      }
      return text;
    },
    async untilEnd() {
      for (;;) {
        const { done, value } = (await reader?.read()) ?? { done: true };
        if (done) return text;
        text += value;
      }
    },
    end: async () => reader?.cancel(),
  };
}

test('a subscription delivers a session that another process creates, updates or moves to another state', async () => {
  const follower = await follow(gateway, admin.key);
  const id = await createSession(second, admin.key, { title: 'Created there' });
  expect(await follower.until('"title":"Created there"')).toContain('"title":"Created there"');
  await mutate(second, admin.key, 'updateSession', { sessionId: id, title: 'Renamed there' });
  expect(await follower.until('"title":"Renamed there"')).toContain('"title":"Renamed there"');
  await moveTo(second, admin.key, id, 'IN_PROGRESS');
  expect(await follower.until('IN_PROGRESS')).toContain('IN_PROGRESS');
  await follower.end();
});

test('without notifications, polling delivers the change', async () => {
  const withoutNotifications = await startTestGateway(
    {},
    { beside: gateway, timing: { livePollMs: 20 }, listenUrl: 'postgres://127.0.0.1:1/none' },
  );
  const follower = await follow(withoutNotifications, admin.key);
  await createSession(second, admin.key, { title: 'Found by the poll' });
  expect(await follower.until('"title":"Found by the poll"')).toContain('"title":"Found by the poll"');
  await follower.end();
  await withoutNotifications.close();
});

test('private sessions of others and sessions of other organizations are not delivered', async () => {
  const stranger = await gateway.createKey();
  const follower = await follow(gateway, member.key);
  await createSession(second, admin.key, { title: 'Private', visibility: 'PRIVATE' });
  await createSession(second, stranger.key, { title: 'Foreign', visibility: 'PUBLIC' });
  await createSession(second, admin.key, { title: 'Public', visibility: 'PUBLIC' });
  const text = await follower.until('"title":"Public"');
  expect(text).not.toContain('Private');
  expect(text).not.toContain('Foreign');
  await follower.end();
});

test('with a filter, only matching sessions are delivered', async () => {
  const follower = await follow(gateway, admin.key, { states: ['IN_PROGRESS'], title: 'followed' });
  const id = await createSession(second, admin.key, { title: 'Followed' });
  const other = await createSession(second, admin.key, { title: 'Another' });
  await moveTo(second, admin.key, other, 'IN_PROGRESS');
  await moveTo(second, admin.key, id, 'IN_PROGRESS');
  const text = await follower.until('"title":"Followed"');
  expect(text).not.toContain('Another');
  expect(text).not.toContain('QUEUED');
  await follower.end();
});

interface Change {
  /** The session that has changed. */
  readonly session?: { readonly title: string };
  /** The session that has left. */
  readonly sessionId?: string;
  readonly left?: { readonly title: string } | null;
}

/** The changes in what was read of a stream. */
function changesIn(text: string): Change[] {
  const lines = text.split('\n').filter((line) => line.startsWith('data: {'));
  return lines.map((line) => (JSON.parse(line.slice(6)) as { data: { sessionChange: never } }).data.sessionChange);
}

const globalId = (id: string) => btoa(`Session:${id}`);

test('a session is sent when an artifact or a pull request of it is recorded or changed', async () => {
  const id = await createSession(second, admin.key, { title: 'With results' });
  const fields = 'artifacts(first: 2) { nodes { type pullRequests(first: 2) { nodes { title status } } } }';
  const follower = await follow(gateway, admin.key, { title: 'With results' }, fields);
  const { artifact } = await mutate<{ artifact: { databaseId: string } }>(
    second,
    admin.key,
    'recordArtifact',
    { sessionId: id, type: 'PULL_REQUEST' },
    'artifact { databaseId }',
  );
  await follower.until('"pullRequests":{"nodes":[]}');
  const input = { ...pullRequestInput(artifact.databaseId), title: 'Recorded', status: 'OPEN' };
  await mutate(second, admin.key, 'recordPullRequest', input);
  await follower.until('{"title":"Recorded","status":"OPEN"}');
  await mutate(second, admin.key, 'recordPullRequest', { ...input, status: 'MERGED' });
  const shown = changesIn(await follower.until('{"title":"Recorded","status":"MERGED"}'));
  expect(shown.length).toBeGreaterThanOrEqual(3);
  await follower.end();
});

test('with a filter, a session that no longer meets it is sent once more, as SessionLeft', async () => {
  const ended = await createSession(second, admin.key, { title: 'Filtered one' });
  const never = await createSession(second, admin.key, { title: 'Filtered never' });
  const last = await createSession(second, admin.key, { title: 'Filtered last' });
  await moveTo(second, admin.key, ended, 'IN_PROGRESS');
  const follower = await follow(gateway, admin.key, { title: 'Filtered', states: ['IN_PROGRESS'] });
  // Until this arrives, the subscription may not have seen the session.
  await mutate(second, admin.key, 'pinSession', { sessionId: ended });
  await follower.until('Filtered one');
  await moveTo(second, admin.key, ended, 'COMPLETED');
  await follower.until('"sessionId"');
  for (const sessionId of [ended, never]) await mutate(second, admin.key, 'pinSession', { sessionId });
  await moveTo(second, admin.key, last, 'IN_PROGRESS');
  await follower.until('Filtered last');
  await mutate(second, admin.key, 'updateSession', { sessionId: last, title: 'Another title' });
  expect(changesIn(await follower.until('Another title'))).toEqual([
    { session: { title: 'Filtered one', state: { current: 'IN_PROGRESS' } } },
    { sessionId: globalId(ended), left: { title: 'Filtered one', state: { current: 'COMPLETED' } } },
    { session: { title: 'Filtered last', state: { current: 'IN_PROGRESS' } } },
    { sessionId: globalId(last), left: { title: 'Another title', state: { current: 'IN_PROGRESS' } } },
  ]);
  await follower.end();
});

test('a session that can no longer be read is sent once more, by its id alone', async () => {
  const sessionId = await createSession(second, admin.key, {
    title: 'Open',
    description: 'Said',
    visibility: 'PUBLIC',
  });
  await mutate(second, admin.key, 'recordArtifact', { sessionId, type: 'PLAN' });
  const fields = 'title visibility description artifacts { totalCount nodes { type } }';
  const follower = await follow(gateway, member.key, { title: 'Open' }, fields);
  await mutate(second, admin.key, 'pinSession', { sessionId });
  await follower.until('Said');
  const secret = { sessionId, title: 'Open secret', description: 'Secret', visibility: 'PRIVATE' };
  await mutate(second, admin.key, 'updateSession', secret);
  await follower.until('"left":null');
  await mutate(second, admin.key, 'updateSession', { sessionId, title: 'Open secret too' });
  await createSession(second, admin.key, { title: 'Open again', visibility: 'PUBLIC' });
  const shown = changesIn(await follower.until('Open again'));
  const artifacts = { totalCount: 1, nodes: [{ type: 'PLAN' }] };
  expect(shown.slice(0, 2)).toEqual([
    { session: { title: 'Open', visibility: 'PUBLIC', description: 'Said', artifacts } },
    { sessionId: globalId(sessionId), left: null },
  ]);
  expect(shown[2]).toMatchObject({ session: { title: 'Open again' } });
  expect(shown.length).toBe(3);
  await follower.end();
});

test('sessions that are deleted, or that another role cannot read, leave', async () => {
  const own = await gateway.createKey();
  const others = { organization: own.organization };
  const [demoted, owner] = [await gateway.createKey({ ...others, role: 'admin' }), await gateway.createKey(others)];
  const gone = await createSession(second, owner.key, { title: 'Deleted with its owner' });
  const toDelete = await follow(gateway, own.key);
  const hidden = await createSession(second, own.key, { title: 'Private of another' });
  await toDelete.until('Private of another');
  const toDemote = await follow(gateway, demoted.key);
  const deleted = await gateway.rest('DELETE', `/v1/users/${owner.userId}`, { key: owner.key, body: {} });
  expect(deleted.status).toBe(202);
  await runJobs(second);
  expect(changesIn(await toDelete.until('"left"')).at(-1)).toEqual({ sessionId: globalId(gone), left: null });
  await mutate(second, own.key, 'changeOrganizationMemberRole', { userId: demoted.userId, role: 'MEMBER' });
  await createSession(second, own.key, { title: 'Public', visibility: 'PUBLIC' });
  await toDemote.until('"title":"Public"');
  expect(changesIn(await toDemote.until(globalId(hidden)))).toContainEqual({ sessionId: globalId(hidden), left: null });
  await toDelete.end();
  await toDemote.end();
});

test('the deprecated sessionChanged sends a session once more when it leaves, as the caller could read it last', async () => {
  const sessionId = await createSession(second, admin.key, {
    title: 'Older',
    description: 'Said',
    visibility: 'PUBLIC',
  });
  const query = 'subscription { sessionChanged(filter: { title: "Older" }) { title description visibility } }';
  const follower = await followQuery(gateway, member.key, query);
  await mutate(second, admin.key, 'pinSession', { sessionId });
  await follower.until('Said');
  await mutate(second, admin.key, 'updateSession', { sessionId, title: 'Older secret', visibility: 'PRIVATE' });
  const shown = await follower.until('"description":null');
  expect(shown).toContain('{"title":"Older","description":null,"visibility":"PUBLIC"}');
  expect(shown).not.toContain('Older secret');
  await follower.end();
});

test('a revoked key ends the subscription, and a key without the scope cannot start one', async () => {
  const leaver = await gateway.createKey({ organization, role: 'member' });
  const follower = await follow(gateway, leaver.key);
  await mutate(second, admin.key, 'revokeApiKey', { apiKeyId: leaver.keyId });
  const text = await follower.untilEnd();
  expect([text.match(/"code":"\w+"/g), text.match(/event: complete/g)]).toEqual([
    ['"code":"UNAUTHENTICATED"'],
    ['event: complete'],
  ]);
  const { key } = await gateway.createKey({ organization, scopes: ['sessions.write'] });
  const refused = await follow(gateway, key);
  expect(await refused.untilEnd()).toContain('lacks the scope sessions.read');
});
