import { randomUUID } from 'node:crypto';
import { describe, expect, test } from 'vitest';
import { generateApiKey } from '../../../src/domains/api-keys/key-format.ts';
import { createPerson } from '../../support/fixtures/api-keys.ts';
import { useOwnGateway } from '../../support/fixtures/gateway.ts';
import { ACCEPT, invite } from '../../support/fixtures/invitations.ts';
import { dumpTables, send, startSecondGateway } from '../../support/fixtures/second-gateway.ts';
import { sampledRuns } from '../../support/sample.ts';

const gateway = useOwnGateway();

const VIEWER = '{ viewer { organization { slug } role } }';
const MISSING = 'missing API key; send the header Authorization: Bearer <key>';
const INVALID = 'missing or invalid API key';
const DEFINITIONS = '/events/2026-03/event-definitions';

const run = (statement: string, values: unknown[]) => gateway.dependencies.sql.query(statement, values);

/** A request body that records whether anything began to read it. */
function observedBody() {
  let touched = false;
  const body = new ReadableStream<Uint8Array>(
    { pull: (controller) => ((touched = true), controller.close()) },
    { highWaterMark: 0 },
  );
  return { body, wasRead: () => touched };
}

describe('401: a caller without a valid key learns nothing else', () => {
  const headers: [string, () => Promise<Record<string, string>>][] = [
    ['missing', async () => ({})],
    ['of another scheme', async () => ({ Authorization: `Basic ${(await gateway.createKey()).key}` })],
    ['without a scheme', async () => ({ Authorization: (await gateway.createKey()).key })],
    ['empty', async () => ({ Authorization: 'Bearer ' })],
    [
      'given twice',
      async () => ({
        Authorization: `Bearer ${(await gateway.createKey()).key}, Bearer ${(await gateway.createKey()).key}`,
      }),
    ],
    ['mistyped', async () => ({ Authorization: `Bearer ${mistyped((await gateway.createKey()).key)}` })],
    ['unknown', async () => ({ Authorization: `Bearer ${generateApiKey()}` })],
    ['expired', async () => ({ Authorization: `Bearer ${await spoilt('expires_at')}` })],
    ['revoked', async () => ({ Authorization: `Bearer ${await spoilt('revoked_at')}` })],
  ];

  test.each(headers)(
    'a key that is %s gets the same answer on every API, before the body is read',
    async (name, make) => {
      const message = name === 'missing' ? MISSING : INVALID;
      const given = { ...(await make()), 'Content-Type': 'application/json', 'X-Request-Id': 'r1' };
      for (const [method, path] of [
        ['POST', '/v1/organizations'],
        ['POST', DEFINITIONS],
        ['POST', '/graphql'],
      ] as const) {
        const { body, wasRead } = observedBody();
        const answer = await send(gateway, method, path, { headers: given, body });
        expect({
          status: answer.status,
          challenge: answer.headers.get('www-authenticate'),
          wasRead: wasRead(),
        }).toEqual({
          status: 401,
          challenge: 'Bearer',
          wasRead: false,
        });
        expect(answer.body).toEqual(refusalAt(path, message));
      }
      // The key is checked before path ids, encodings and JSON.
      for (const [method, path, body] of [
        ['DELETE', '/v1/api-keys/no-uuid'],
        ['DELETE', '/v1/api-keys/%E0%A4%A'],
        ['POST', '/v1/organizations', '{'],
        ['GET', '/graphql?query={'],
        ['POST', '/graphql', '{'],
      ] as const) {
        expect(await send(gateway, method, path, { headers: given, body })).toMatchObject({
          status: 401,
          body: refusalAt(path, message),
        });
      }
    },
  );

  function refusalAt(path: string, message: string) {
    if (path.startsWith('/graphql'))
      return {
        errors: [{ message, extensions: { code: 'UNAUTHENTICATED' } }],
        extensions: { requestId: 'r1' },
      };
    if (path.startsWith('/v1')) return { error: message };
    return {
      status: 'error',
      message,
      category: 'INVALID_AUTHENTICATION',
      correlationId: 'r1',
      errors: [{ message, code: 'UNAUTHENTICATED', in: '' }],
    };
  }

  async function spoilt(column: 'expires_at' | 'revoked_at'): Promise<string> {
    const { key, keyId } = await gateway.createKey();
    await run(`update api_key set ${column} = now() - interval '1 second' where id = $1`, [keyId]);
    return key;
  }
});

const mistyped = (key: string) => key.slice(0, -1) + (key.endsWith('a') ? 'b' : 'a');

test('the key is read only from the header, never from the query, a cookie or the body', async () => {
  const { key } = await gateway.createKey();
  for (const parameter of ['key', 'api_key', 'access_token', 'authorization']) {
    const query = `${parameter}=${encodeURIComponent(parameter === 'authorization' ? `Bearer ${key}` : key)}`;
    expect(await send(gateway, 'GET', `${DEFINITIONS}?${query}`)).toMatchObject({ status: 401 });
    const headers = { 'Content-Type': 'application/x-www-form-urlencoded', Cookie: query };
    expect(await send(gateway, 'POST', '/graphql', { headers, body: query })).toMatchObject({ status: 401 });
  }
});

test('a key with a wrong checksum costs no SQL statement, and an unknown key costs one', async () => {
  const { key } = await gateway.createKey();
  gateway.statements.length = 0;
  for (const wrong of [mistyped(key), key.slice(0, -1), `${key}0`, 'x'.repeat(40), `WGK_${key.slice(4)}`]) {
    expect(await send(gateway, 'GET', DEFINITIONS, { key: wrong })).toMatchObject({ status: 401 });
  }
  expect(gateway.statements).toEqual([]);
  expect(await send(gateway, 'GET', DEFINITIONS, { key: generateApiKey() })).toMatchObject({ status: 401 });
  expect(gateway.statements).toHaveLength(1);
});

test('a key expires exactly at its expiry time', async () => {
  const { key, keyId } = await gateway.createKey();
  const at = new Date('2030-01-01T00:00:00.000Z');
  await run('update api_key set expires_at = $2 where id = $1', [keyId, at]);
  gateway.setClock(new Date(at.getTime() - 1));
  const before = await send(gateway, 'GET', DEFINITIONS, { key });
  gateway.setClock(at);
  const after = await send(gateway, 'GET', DEFINITIONS, { key });
  gateway.setClock(undefined);
  expect([before.status, after.status]).toEqual([200, 401]);
});

test('lastUsedAt is written at most once a minute, however many requests are concurrent', async () => {
  const { key, keyId } = await gateway.createKey();
  const start = Date.parse('2031-01-01T00:00:00.000Z');
  const uses: (string | null)[] = [];
  for (const seconds of [0, 1, 60, 61, 200]) {
    gateway.setClock(new Date(start + seconds * 1000));
    await Promise.all(Array.from({ length: 8 }, () => send(gateway, 'GET', DEFINITIONS, { key })));
    const answer = await gateway.graphql<{ viewer: { apiKey: { lastUsedAt: string | null } } }>(
      key,
      '{ viewer { apiKey { lastUsedAt } } }',
    );
    uses.push(answer.data?.viewer.apiKey.lastUsedAt ?? null);
  }
  gateway.setClock(undefined);
  expect(uses).toEqual([
    '2031-01-01T00:00:00.000Z',
    '2031-01-01T00:00:00.000Z',
    '2031-01-01T00:00:00.000Z',
    '2031-01-01T00:01:01.000Z',
    '2031-01-01T00:03:20.000Z',
  ]);
  const [row] = await gateway.dependencies.sql.query<{ xmin: string }>('select xmin::text from api_key where id = $1', [
    keyId,
  ]);
  await send(gateway, 'GET', DEFINITIONS, { key });
  expect(await run('select xmin::text from api_key where id = $1', [keyId])).toEqual([row]);
});

describe('the organization of a request', () => {
  const chosen = async (key: string, header?: string) => {
    const answer = await gateway.graphql<{ viewer: object }>(
      key,
      VIEWER,
      {},
      header === undefined ? {} : { 'X-Organization-Id': header },
    );
    return answer.data?.viewer;
  };
  const unbind = (keyId: string) => run('update api_key set organization_id = null where id = $1', [keyId]);

  test('a bound key acts in its organization, whether the header names it by id, by slug, or is absent', async () => {
    const one = await gateway.createKey();
    await gateway.createKey({ email: one.email });
    const expected = { organization: { slug: one.organization }, role: 'ADMIN' };
    for (const header of [undefined, '', one.organization, one.organizationId, one.organizationId.toUpperCase()])
      expect(await chosen(one.key, header)).toEqual(expected);
  });

  test('400: a header with another organization is refused for a bound key, before anything is read or written', async () => {
    const one = await gateway.createKey();
    const two = await gateway.createKey({ email: one.email });
    const foreign = await gateway.createKey();
    const message = `X-Organization-Id: this key acts only in ${one.organization}`;
    const names = [two.organization, two.organizationId, foreign.organization, foreign.organizationId, randomUUID()];
    for (const header of [...names, 'no-such-org']) {
      const headers = { 'X-Organization-Id': header, 'X-Request-Id': 'r1', 'Content-Type': 'application/json' };
      const { body, wasRead } = observedBody();
      const rest = await send(gateway, 'POST', '/v1/mcp-connections', { key: one.key, headers, body });
      expect([rest.status, rest.body, wasRead()]).toEqual([400, { error: message }, false]);
      const asked = await send(gateway, 'POST', '/graphql', {
        key: one.key,
        headers,
        body: '{"query":"{__typename}"}',
      });
      expect([asked.status, asked.body]).toEqual([
        400,
        {
          errors: [{ message, extensions: { code: 'INVALID_INPUT', path: ['X-Organization-Id'] } }],
          extensions: { requestId: 'r1' },
        },
      ]);
    }
  });

  test('an unbound key of a user without an organization can call operations that need no organization', async () => {
    const { key, keyId, userId } = await gateway.createKey();
    await unbind(keyId);
    await run('delete from membership where user_id = $1', [userId]);
    expect(await chosen(key)).toEqual({ organization: null, role: null });
    expect(await send(gateway, 'GET', DEFINITIONS, { key })).toMatchObject({ status: 400 });
    expect(await gateway.rest('POST', '/v1/organizations', { key, body: { name: 'First' } })).toMatchObject({
      status: 201,
    });
  });

  test('an unbound key acts in the organization of the header; without it in the only organization of its user, or in none', async () => {
    const one = await gateway.createKey();
    await unbind(one.keyId);
    expect(await chosen(one.key)).toEqual({ organization: { slug: one.organization }, role: 'ADMIN' });
    const { organization } = await gateway.createKey();
    const two = await gateway.createKey({ organization, email: one.email, role: 'member' });
    expect(await chosen(one.key)).toEqual({ organization: null, role: null });
    expect(await chosen(one.key, '')).toEqual({ organization: null, role: null });
    for (const header of [two.organizationId, two.organizationId.toUpperCase(), two.organization]) {
      expect(await chosen(one.key, header)).toEqual({ organization: { slug: two.organization }, role: 'MEMBER' });
    }
    expect(await chosen(one.key, one.organizationId)).toEqual({
      organization: { slug: one.organization },
      role: 'ADMIN',
    });
  });

  test('a slug that looks like the id of another organization does not hide that organization', async () => {
    const one = await gateway.createKey();
    await unbind(one.keyId);
    await gateway.createKey({ email: one.email, organization: one.organizationId });
    expect(await chosen(one.key, one.organizationId)).toEqual({
      organization: { slug: one.organization },
      role: 'ADMIN',
    });
  });

  test('400 on both APIs: an operation needs an organization, and the request selects none', async () => {
    const message = 'missing required organization information';
    const { key, keyId, email } = await gateway.createKey();
    await unbind(keyId);
    await gateway.createKey({ email });
    const rest = await send(gateway, 'GET', DEFINITIONS, { key, headers: { 'X-Request-Id': 'r1' } });
    expect({ status: rest.status, body: rest.body }).toEqual({
      status: 400,
      body: {
        status: 'error',
        message,
        category: 'VALIDATION_ERROR',
        correlationId: 'r1',
        errors: [{ message, code: 'REQUIRED', in: '' }],
      },
    });
    const mutation =
      'mutation { createApiKey(input: {name: "a", scopes: [SOCIAL]}) { __typename ... on Error { message code path } } }';
    expect((await gateway.graphql(key, mutation)).data).toEqual({
      createApiKey: { __typename: 'ValidationError', message, code: 'INVALID_INPUT', path: null },
    });
    // Operations that need no organization are served.
    expect(await gateway.rest('POST', '/v1/organizations', { key, body: { name: 'Third' } })).toMatchObject({
      status: 201,
    });
  });

  test('a header that names a foreign organization gets the same bytes as one that names no organization', async () => {
    const { key, keyId } = await gateway.createKey();
    await unbind(keyId);
    const foreign = await gateway.createKey();
    const answers = [];
    for (const header of [foreign.organizationId, foreign.organization, randomUUID(), 'nothing', "' or 1=1 --"]) {
      for (const path of [DEFINITIONS, '/graphql?query={__typename}']) {
        const { status, text } = await send(gateway, 'GET', path, {
          key,
          headers: { 'X-Organization-Id': header, 'X-Request-Id': 'r1' },
        });
        answers.push(`${path} ${status} ${text}`);
      }
    }
    expect([...new Set(answers)]).toEqual([
      `${DEFINITIONS} 404 {"status":"error","message":"X-Organization-Id: organization not found","category":"OBJECT_NOT_FOUND","correlationId":"r1","errors":[{"message":"X-Organization-Id: organization not found","code":"NOT_FOUND","in":""}]}`,
      '/graphql?query={__typename} 404 {"errors":[{"message":"X-Organization-Id: organization not found","extensions":{"code":"NOT_FOUND","type":"Organization"}}],"extensions":{"requestId":"r1"}}',
    ]);
  });

  test('the removal of a member ends their bound keys, and their unbound keys remain valid without the organization', async () => {
    const admin = await gateway.createKey();
    const member = await gateway.createKey({ organization: admin.organization });
    const unbound = await gateway.createKey({ organization: admin.organization, email: member.email });
    await unbind(unbound.keyId);
    const removal = 'mutation($id: ID!) { removeOrganizationMember(input: {userId: $id}) { __typename } }';
    expect((await gateway.graphql(admin.key, removal, { id: member.userId })).data).toEqual({
      removeOrganizationMember: { __typename: 'RemoveOrganizationMemberPayload' },
    });
    expect(await send(gateway, 'GET', DEFINITIONS, { key: member.key })).toMatchObject({ status: 401 });
    expect(await chosen(unbound.key)).toEqual({ organization: null, role: null });
    // A bound key also ends if the membership was deleted without revoking the key.
    const gone = await gateway.createKey({ organization: admin.organization });
    await run('delete from membership where user_id = $1', [gone.userId]);
    expect(await send(gateway, 'GET', DEFINITIONS, { key: gone.key })).toMatchObject({ status: 401 });
    // The key stays invalid when the member joins again.
    const { token } = await invite(gateway, admin.key, member.email);
    const { key: own } = await createPerson(gateway, member.email);
    expect((await gateway.graphql<object>(own, ACCEPT, { input: { token } })).data).toMatchObject({
      acceptOrganizationInvitation: { __typename: 'AcceptOrganizationInvitationPayload' },
    });
    expect(await send(gateway, 'GET', DEFINITIONS, { key: member.key })).toMatchObject({ status: 401 });
  });
});

test('A4: under load on two gateways, no request that begins after a revocation was acknowledged is accepted', async () => {
  const peer = await startSecondGateway(gateway);
  const apis = [gateway.fetch, peer.fetch];
  try {
    for (let round = sampledRuns(5, 1); round > 0; round -= 1) {
      const admin = await gateway.createKey();
      const { key, keyId } = await gateway.createKey({ organization: admin.organization });
      let isAcknowledged = false;
      let over = false;
      const accepted: boolean[] = [];
      let served = 0;
      const caller = async (index: number) => {
        while (!over) {
          const isLate = isAcknowledged;
          const response = await (apis[index % 2] ?? peer.fetch)(
            new Request(`http://gateway${DEFINITIONS}`, { headers: { Authorization: `Bearer ${key}` } }),
          );
          if (response.status === 200) served += 1;
          if (isLate) accepted.push(response.status !== 401 && response.status !== 503);
        }
      };
      const callers = Array.from({ length: 8 }, (_, index) => caller(index));
      while (served < 10) await new Promise(setImmediate);
      const revoked = await peer.fetch(
        new Request(`http://gateway/v1/api-keys/${keyId}`, {
          method: 'DELETE',
          headers: { Authorization: `Bearer ${admin.key}` },
        }),
      );
      isAcknowledged = true;
      expect(revoked.status).toBe(200);
      while (accepted.length < 50) await new Promise(setImmediate);
      over = true;
      await Promise.all(callers);
      expect(accepted.filter(Boolean)).toEqual([]);
    }
  } finally {
    await peer.close();
  }
});

test('A3: tables, log lines and metrics contain no API key', async () => {
  const { key } = await gateway.createKey();
  await send(gateway, 'GET', DEFINITIONS, { key });
  await gateway.graphql(key, VIEWER);
  await send(gateway, 'GET', DEFINITIONS, { key: mistyped(key) });
  const places = [
    await dumpTables(gateway),
    gateway.logged.join('\n'),
    await gateway.dependencies.metrics.registry.metrics(),
  ];
  expect(places.map((place) => [place.length > 0, place.includes(key.slice(8, -2))])).toEqual(
    places.map(() => [true, false]),
  );
});
