import { afterAll, beforeAll, expect, test } from 'vitest';
import { type TestGateway, startTestGateway } from '../../support/fixtures/gateway.ts';
import { createSession, moveTo, mutate } from '../../support/fixtures/sessions.ts';

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

async function follow(on: TestGateway, key: string, filter: object | null = null): Promise<Follower> {
  const response = await on.fetch('/graphql', {
    method: 'POST',
    headers: { Authorization: `Bearer ${key}`, 'Content-Type': 'application/json', Accept: 'text/event-stream' },
    body: JSON.stringify({
      query: 'subscription($filter: SessionFilter) { sessionChanged(filter: $filter) { title state { current } } }',
      variables: { filter },
    }),
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
