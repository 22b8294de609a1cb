import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { type Answer, useTestGateway } from '../../support/fixtures/gateway.ts';
import {
  EVENTS,
  type Write,
  createDefinition,
  createRemote,
  definition,
  visibleParts,
  sendKeyed,
  storedAnswers,
} from '../../support/fixtures/idempotency.ts';
import { dumpTables } from '../../support/fixtures/second-gateway.ts';
import { createSession } from '../../support/fixtures/sessions.ts';
import { type Peer, mcpHandler, startPeer } from '../../support/peers/mcp-server.ts';

/** `Idempotency-Key` on REST: a repeated request does not run again and gets the same bytes. */

const gateway = useTestGateway({ ALLOW_PRIVATE_NETWORK: 'true' });
let server: Peer;
let key: string;

beforeAll(async () => {
  server = await startPeer(mcpHandler());
});

beforeEach(async () => {
  gateway.setClock(undefined);
  ({ key } = await gateway.createKey());
});

afterAll(() => server.stop());

function send(write: Write, idempotencyKey: string, { by = key, to = gateway } = {}) {
  return sendKeyed(to, write, { key: by, idempotencyKey });
}

describe('the same key and input', () => {
  test('the order of properties does not matter', async () => {
    const first = await send(
      { method: 'POST', path: EVENTS, body: '{"label":"Signed up","primaryObject":"CONTACT"}' },
      'k-1',
    );
    const second = await send(
      { method: 'POST', path: EVENTS, body: '{ "primaryObject": "CONTACT", "label": "Signed up" }' },
      'k-1',
    );
    expect([first.status, visibleParts(second)]).toEqual([
      201,
      { answer: visibleParts(first).answer, replayed: 'true' },
    ]);
  });

  test('another input, another path, or another operation gets 409', async () => {
    await send(createDefinition('Signed up'), 'k-1');
    const message =
      'Idempotency-Key: was used for another request; use a new key for each request, and the same key only to retry a request';
    const others = [
      createDefinition('Signed off'),
      { method: 'DELETE', path: `${EVENTS}/signed_up` },
      { method: 'POST', path: '/v1/organizations', body: { name: 'Acme' } },
    ];
    const answers = await Promise.all(others.map((write) => send(write, 'k-1')));
    expect(answers.map(({ status, body }) => [status, body.message ?? body.error])).toEqual([
      [409, message],
      [409, message],
      [409, message],
    ]);
    expect(answers[0]?.body).toEqual({
      status: 'error',
      message,
      category: 'CONFLICT',
      correlationId: answers[0]?.headers.get('x-request-id'),
      errors: [{ message, code: 'WRONG_STATE', in: '' }],
    });
  });

  test('belong to one user and one organization: elsewhere the key is a different one', async () => {
    const [own, other] = [await gateway.createKey(), await gateway.createKey()];
    const secondOrganization = `second-${randomUUID()}`;
    await gateway.createKey({ email: own.email, organization: secondOrganization });
    const colleague = await gateway.createKey({ organization: own.organization });
    const inSecond = await gateway.createKey({ email: own.email, organization: secondOrganization });
    const write: Write = { method: 'POST', path: '/v1/organizations', body: { name: 'Acme' } };
    const answers = [];
    for (const { key: by } of [own, other, colleague, inSecond]) answers.push(await send(write, 'k-1', { by }));
    expect(answers.map((answer) => [answer.status, visibleParts(answer).replayed])).toEqual(
      Array.from({ length: 4 }, () => [201, undefined]),
    );
    expect(new Set(answers.map(({ text }) => text)).size).toBe(4);
    const another = await gateway.createKey({ email: own.email, organization: own.organization });
    expect(visibleParts(await send(write, 'k-1', { by: another.key }))).toEqual({
      ...visibleParts(answers[0] as Answer),
      replayed: 'true',
    });
  });

  test('an API key with fewer scopes does not get the stored answer of another key', async () => {
    const { organization, email } = await gateway.createKey();
    const [strong, weak] = [
      await gateway.createKey({ organization, email }),
      await gateway.createKey({ organization, email, scopes: ['behavioral_events.event_definitions.read_write'] }),
    ];
    const write = createDefinition();
    await send(write, 'k-1', { by: strong.key });
    const answer = await send(write, 'k-1', { by: weak.key });
    expect([answer.status, answer.body.message]).toEqual([
      403,
      expect.stringMatching(
        /^Idempotency-Key: the stored answer was given to an API key with scopes that this key lacks: mcp_connections\.read, /,
      ),
    ]);
  });

  test('the key can be used again after 24 hours', async () => {
    const at = new Date('2026-06-01T12:00:00.000Z');
    gateway.setClock(at);
    await send(createDefinition('Signed up'), 'k-1');
    gateway.setClock(new Date(at.getTime() + 86_400_000 - 1));
    expect(visibleParts(await send(createDefinition('Signed up'), 'k-1')).replayed).toBe('true');
    expect((await send(createDefinition('Signed off'), 'k-1')).status).toBe(409);
    gateway.setClock(new Date(at.getTime() + 86_400_000));
    const again = await send(createDefinition('Signed off'), 'k-1');
    expect([again.status, again.body.name, visibleParts(again).replayed]).toEqual([201, 'signed_off', undefined]);
    expect(visibleParts(await send(createDefinition('Signed off'), 'k-1')).replayed).toBe('true');
  });
});
describe('the key', () => {
  test('has 1 to 255 characters', async () => {
    const message = 'Idempotency-Key: must be 1 to 255 characters';
    for (const bad of ['', 'k'.repeat(256)]) {
      const answer = await send(createDefinition(), bad);
      expect([answer.status, answer.body.message]).toEqual([400, message]);
    }
    expect((await send(createDefinition(), 'k'.repeat(255))).status).toBe(201);
  });

  test('is ignored and not stored by a read', async () => {
    const answer = await send({ method: 'GET', path: EVENTS }, 'k'.repeat(256));
    expect([answer.status, await storedAnswers(gateway, key)]).toEqual([200, []]);
  });

  test('costs no SQL statement in a request without it', async () => {
    await gateway.rest('POST', EVENTS, { key, body: definition('Signed up') });
    expect(await storedAnswers(gateway, key)).toEqual([]);
    gateway.statements.length = 0;
    await gateway.rest('POST', EVENTS, { key, body: definition('Signed off') });
    expect(
      gateway.statements.filter((statement) => /idempotency_key|lock_timeout|savepoint statement/.test(statement)),
    ).toEqual([]);
  });

  test('is not stored, and the answer is stored only encrypted', async () => {
    await send(createDefinition('Unmistakable'), 'a-key-that-is-easily-found');
    const [row] = await storedAnswers(gateway, key);
    expect(row?.answer).toMatch(/^ey[\w-]+\.[\w.-]+$/);
    expect(await dumpTables(gateway)).not.toContain('a-key-that-is-easily-found');
  });
});
describe('an error', () => {
  test('changes nothing, is not stored, and the key can be used again', async () => {
    await send(createDefinition('Signed up'), 'k-1');
    const taken = { ...createDefinition(), body: { ...definition('Other'), name: 'signed_up' } };
    const refused = [await send(taken, 'k-2'), await send(taken, 'k-2')];
    expect(refused.map((answer) => [answer.status, visibleParts(answer).replayed])).toEqual([
      [409, undefined],
      [409, undefined],
    ]);
    expect((await send({ ...createDefinition(), body: {} }, 'k-2')).status).toBe(400);
    expect((await send(createDefinition('Signed off'), 'k-2')).status).toBe(201);
    expect(await storedAnswers(gateway, key)).toHaveLength(2);
  });

  test('of a remote server is not stored either, and the key can be used again', async () => {
    const { handler } = server;
    const write = createRemote(server.origin);
    server.handler = (_, response) => response.writeHead(500).end();
    expect((await send(write, 'k-1')).status).toBe(502);
    expect(await storedAnswers(gateway, key)).toEqual([]);
    server.handler = handler;
    expect((await send(write, 'k-1')).status).toBe(201);
  });
});

describe('an answer over 256 KiB', () => {
  const description = 'd'.repeat(600_000);
  const queryFor = (sessionId: string) => `mutation($first: Int = 1) {
    changed: updateSession(input: { sessionId: "${sessionId}", title: "Large" }) { __typename ...Payload }
  }
  fragment Payload on UpdateSessionPayload { found: session { databaseId title ...Text events(first: $first) { nodes { databaseId } } } }
  fragment Text on Session { description }`;
  const mutate = async (query: string, by = key) => {
    const headers = {
      Authorization: `Bearer ${by}`,
      'Content-Type': 'application/json',
      Accept: 'application/json',
      'Idempotency-Key': 'large too',
    };
    const response = await gateway.fetch('/graphql', { method: 'POST', headers, body: JSON.stringify({ query }) });
    return (await response.json()) as { data: object; errors?: object[] };
  };

  const message =
    'this answer is a replay; the first one had more than 256 KiB, so only its ids are stored: read the object again by its id';

  test('is not stored: its replay has the id of the object, with the status of before', async () => {
    const sessionId = await createSession(gateway, key);
    const change: Write = { method: 'PATCH', path: `/v1/sessions/${sessionId}`, body: { description } };
    const create: Write = { method: 'POST', path: '/v1/sessions', body: { title: 'New', description } };
    const [changed, created] = [await send(change, 'large'), await send(create, 'create')];
    expect(changed.body).toMatchObject({ id: sessionId, description });
    const replays = [await send(change, 'large'), await send(create, 'create')];
    expect(replays.map(({ status, body, headers }) => [status, body, headers.get('idempotent-replayed')])).toEqual([
      [200, { id: sessionId }, 'true'],
      [201, { id: (JSON.parse(created.text) as { id: string }).id }, 'true'],
    ]);
    expect(replays[1]?.headers.get('location')).toBe(created.headers.get('location'));
    expect(
      (await storedAnswers(gateway, key)).map(({ answer }) => answer?.length ?? 0).every((size) => size < 10_000),
    ).toBe(true);
  });

  test('over GraphQL its replay has the ids of the objects, and null with an error in place of other fields', async () => {
    const sessionId = await createSession(gateway, key);
    await gateway.rest('PATCH', `/v1/sessions/${sessionId}`, { key, body: { description } });
    const first = await mutate(queryFor(sessionId));
    expect(first).toMatchObject({ data: { changed: { found: { databaseId: sessionId, description } } } });
    const path = (field: string) => ['changed', 'found', field];
    expect(await mutate(queryFor(sessionId))).toMatchObject({
      data: {
        changed: {
          __typename: 'UpdateSessionPayload',
          found: { databaseId: sessionId, title: null, events: null, description: null },
        },
      },
      errors: ['title', 'description', 'events'].map((field) => ({
        message,
        path: path(field),
        extensions: { code: 'ANSWER_TOO_LARGE' },
      })),
    });
  });

  test('is refused to those who may no longer change the object', async () => {
    const { email, organization } = await gateway.createKey();
    const scopes = ['sessions.read', 'sessions.write', 'sessions.record'] as const;
    const { key: full } = await gateway.createKey({ email, organization, scopes });
    const { key: writer, userId } = await gateway.createKey({ email, organization, scopes: ['sessions.write'] });
    const sessionId = await createSession(gateway, full);
    const change: Write = { method: 'PATCH', path: `/v1/sessions/${sessionId}`, body: { description } };
    await send(change, 'large', { by: writer });
    expect((await send(change, 'large', { by: writer })).body).toEqual({ id: sessionId });
    await mutate(queryFor(sessionId), full);
    await gateway.dependencies.sql.query(`update session set visibility = 'private', creator_id = null where id = $1`, [
      sessionId,
    ]);
    await gateway.dependencies.sql.query(`update membership set role = 'member' where user_id = $1`, [userId]);
    expect((await send(change, 'large', { by: writer })).status).toBe(404);
    const { data } = await mutate(queryFor(sessionId), full);
    expect(data).toMatchObject({ changed: { __typename: 'NotFoundError' } });
  });
});
