import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { useTestGateway } from '../../support/fixtures/gateway.ts';
import { type ClientHost, connect, refresh, startClientHost } from '../../support/fixtures/oauth-flow.ts';

const gateway = useTestGateway({ ALLOW_PRIVATE_NETWORK: 'true' });
let client: ClientHost;
beforeAll(async () => void (client = await startClientHost()));
afterAll(() => client.stop());

const BASE = 'http://127.0.0.1:4000';
const RECORDING = `${BASE}/v1/sessions`;
const BOTH = 'sessions.read sessions.record';

const connected = async () => {
  const { key } = await gateway.createKey();
  return connect(gateway, client, key, { resource: RECORDING, scope: BOTH });
};
const again = (token: string, changes: Readonly<Record<string, string>> = {}) =>
  refresh(gateway, client.clientId, token, changes);
/** The statuses of a read and of a change. */
const statusesOf = async (key: string) => [
  (await gateway.rest('GET', '/v1/sessions', { key })).status,
  (await gateway.rest('POST', '/v1/sessions', { key, body: { title: 'Run' } })).status,
];

test('a token that was refreshed for some of the scopes can do no more; the grant keeps all', async () => {
  const tokens = await connected();
  expect(await statusesOf(tokens.access_token)).toEqual([200, 201]);
  const { body: narrow } = await again(tokens.refresh_token, { scope: 'sessions.read' });
  expect([narrow.scope, await statusesOf(narrow.access_token)]).toEqual(['sessions.read', [200, 403]]);
  const { body: other } = await again(narrow.refresh_token, { scope: 'sessions.record' });
  expect([other.scope, await statusesOf(other.access_token)]).toEqual(['sessions.record', [403, 201]]);
  const { body: whole } = await again(other.refresh_token);
  expect([whole.scope.split(' ').toSorted(), await statusesOf(whole.access_token)]).toEqual([
    BOTH.split(' '),
    [200, 201],
  ]);
});

describe('a refresh token that is used again within the minute', () => {
  test('gives the same answer only for the same scopes and the same resource', async () => {
    const tokens = await connected();
    const first = await again(tokens.refresh_token);
    const errors = async (changes: Readonly<Record<string, string>>) => {
      const { status, body } = await again(tokens.refresh_token, changes);
      return [status, body.error];
    };
    expect(await errors({ scope: 'sessions.read' })).toEqual([400, 'invalid_scope']);
    expect(await errors({ resource: `${BASE}/mcp` })).toEqual([400, 'invalid_target']);
    const alike: Readonly<Record<string, string>>[] = [
      { scope: 'sessions.record sessions.read' },
      { resource: RECORDING },
      {},
    ];
    for (const changes of alike) expect((await again(tokens.refresh_token, changes)).text).toBe(first.text);
    expect((await again(first.body.refresh_token)).status).toBe(200);
  });

  test('gives no answer for all scopes when the first was for some', async () => {
    const tokens = await connected();
    const first = await again(tokens.refresh_token, { scope: 'sessions.read' });
    expect((await again(tokens.refresh_token, { scope: BOTH })).body.error).toBe('invalid_scope');
    expect((await again(tokens.refresh_token, { scope: 'sessions.read' })).text).toBe(first.text);
  });
});

test.each(['refresh_token', 'client_id', 'grant_type', 'resource', 'scope'])(
  'a second %s is refused, in either order, and uses nothing up',
  async (name) => {
    const tokens = await connected();
    const fields = {
      grant_type: 'refresh_token',
      client_id: client.clientId,
      refresh_token: tokens.refresh_token,
      resource: RECORDING,
      scope: BOTH,
    };
    for (const isFirst of [true, false]) {
      const given = Object.entries(fields).filter(([each]) => each !== name);
      const values = [fields[name as keyof typeof fields], 'other'];
      for (const value of isFirst ? values : values.toReversed()) given.push([name, value]);
      const answer = await gateway.fetch('/oauth/token', {
        method: 'POST',
        headers: { 'Content-Type': 'application/x-www-form-urlencoded' },
        body: String(new URLSearchParams(given)),
      });
      expect(answer.ok).toBe(false);
    }
    expect((await again(tokens.refresh_token)).status).toBe(200);
  },
);
