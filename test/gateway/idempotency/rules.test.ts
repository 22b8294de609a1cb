import { randomUUID } from 'node:crypto';
import { setTimeout as delay } from 'node:timers/promises';
import type { Pool } from 'pg';
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { createGateway } from '../../../src/gateway/gateway.ts';
import { createIdempotency } from '../../../src/gateway/idempotency.ts';
import { routes } from '../../../src/gateway/routes.ts';
import { type Answer, type TestGateway, fetchOf, startTestGateway } from '../../support/fixtures/gateway.ts';
import { type Peer, mcpHandler, startPeer } from '../../support/peers/mcp-server.ts';
import { dumpTables } from '../../support/fixtures/second-gateway.ts';
import { createSession } from '../../support/fixtures/sessions.ts';
import { heldTransactions } from '../../support/fixtures/transactions.ts';

/** `Idempotency-Key` on REST: what is sent again is not done again, and gets the same bytes. */

let gateway: TestGateway;
let server: Peer;
let key: string;

beforeAll(async () => {
  gateway = await startTestGateway({ ALLOW_PRIVATE_NETWORK: 'true' });
  server = await startPeer(mcpHandler());
});

beforeEach(async () => {
  gateway.setClock(undefined);
  ({ key } = await gateway.createKey());
});

afterAll(async () => {
  await gateway.close();
  await server.stop();
});

interface Write {
  readonly method: string;
  readonly path: string;
  readonly body?: unknown;
}

const events = '/events/2026-03/event-definitions';
const definition = (label: string) => ({ label, primaryObject: 'CONTACT', propertyDefinitions: [] });
const create = (label = `Signed up ${randomUUID()}`): Write => ({
  method: 'POST',
  path: events,
  body: definition(label),
});

function send(
  write: Write,
  idempotencyKey: string,
  { by = key, to = gateway, headers = {} } = {},
): Promise<Answer<{ name?: string; error?: string; message?: string }>> {
  return to.rest(write.method, write.path, {
    key: by,
    body: write.body,
    headers: { 'Idempotency-Key': idempotencyKey, ...headers },
  });
}

/** All that a client sees, but for the id of the request. */
function seen({ status, headers, text }: Pick<Answer, 'status' | 'headers' | 'text'>) {
  const { 'x-request-id': _, 'idempotent-replayed': replayed, ...rest } = Object.fromEntries(headers);
  return { answer: { status, headers: rest, text }, replayed };
}

const rows = <Row extends object>(text: string, ...values: unknown[]) =>
  gateway.dependencies.sql.query<Row>(text, values);
const stored = () =>
  rows<{ answer: string | null }>(
    'select answer from idempotency_key k join api_key a on a.user_id = k.user_id where a.hash = sha256($1)',
    key,
  );

/** Runs while another transaction holds the rows that a statement selects. */
async function whileHeld<Result>(
  text: string,
  values: unknown[],
  run: (release: () => Promise<void>) => Promise<Result>,
): Promise<Result> {
  const em = gateway.dependencies.database.em.fork();
  await em.begin();
  try {
    await em.execute(text, values);
    return await run(() => em.rollback());
  } finally {
    if (em.isInTransaction()) await em.rollback();
  }
}

/** Until so many backends or more wait for a lock. */
async function untilWaiting(count: number): Promise<void> {
  for (;;) {
    const [row] = await rows<{ count: number }>(
      `select count(*)::int as count from pg_stat_activity where wait_event_type = 'Lock' and datname = current_database()`,
    );
    if ((row?.count ?? 0) >= count) return;
    await delay(10);
  }
}

async function definitionWithProperty(): Promise<string> {
  const { body } = await gateway.rest<{ name: string }>('POST', events, { key, body: definition('Signed up') });
  await gateway.rest('POST', `${events}/${body.name}/property`, { key, body: { label: 'Plan', type: 'string' } });
  return body.name;
}

const remote = () => ({
  name: `Tracker ${randomUUID()}`,
  serverUrl: `${server.origin}/mcp`,
  authType: 'oauth',
  visibility: 'personal',
});

/** One of every write. */
const WRITES: Readonly<Record<string, () => Write | Promise<Write>>> = {
  createOrganization: () => ({ method: 'POST', path: '/v1/organizations', body: { name: 'Acme' } }),
  revokeApiKey: async () => {
    const { organization, email } = await gateway.createKey();
    const [first, second] = [
      await gateway.createKey({ organization, email }),
      await gateway.createKey({ organization, email }),
    ];
    ({ key } = first);
    return { method: 'DELETE', path: `/v1/api-keys/${second.keyId}` };
  },
  deleteUser: async () => {
    const issued = await gateway.createKey();
    ({ key } = issued);
    return {
      method: 'DELETE',
      path: `/v1/users/${issued.userId}`,
      body: { deletionQuestionnaire: { reasons: ['other'] } },
    };
  },
  createMcpConnection: () => ({ method: 'POST', path: '/v1/mcp-connections', body: remote() }),
  authorizeMcpConnection: async () => {
    const { body } = await gateway.rest<{ connection: { id: string } }>('POST', '/v1/mcp-connections', {
      key,
      body: remote(),
    });
    return { method: 'POST', path: `/v1/mcp-connections/${body.connection.id}/authorize` };
  },
  updateSession: async () => ({
    method: 'PATCH',
    path: `/v1/sessions/${await createSession(gateway, key)}`,
    body: { title: 'Mended' },
  }),
  createEventDefinition: () => create(),
  updateEventDefinition: async () => ({
    method: 'PATCH',
    path: `${events}/${await definitionWithProperty()}`,
    body: { label: 'Signed off' },
  }),
  deleteEventDefinition: async () => ({ method: 'DELETE', path: `${events}/${await definitionWithProperty()}` }),
  addEventProperty: async () => ({
    method: 'POST',
    path: `${events}/${await definitionWithProperty()}/property`,
    body: { label: 'Price', type: 'number' },
  }),
  updateEventProperty: async () => ({
    method: 'PATCH',
    path: `${events}/${await definitionWithProperty()}/property`,
    body: { name: 'plan', label: 'Tariff' },
  }),
  updateEventPropertyByPath: async () => ({
    method: 'PATCH',
    path: `${events}/${await definitionWithProperty()}/property/plan`,
    body: { label: 'Tariff' },
  }),
  deleteEventProperty: async () => ({
    method: 'DELETE',
    path: `${events}/${await definitionWithProperty()}/property/plan`,
  }),
  sendEventOccurrence: async () => ({
    method: 'POST',
    path: '/events/2026-03/send',
    body: { eventName: await definitionWithProperty(), properties: { plan: 'free' }, email: 'a@example.com' },
  }),
  sendEventOccurrences: async () => ({
    method: 'POST',
    path: '/events/2026-03/send/batch',
    body: {
      inputs: [{ eventName: await definitionWithProperty(), properties: { plan: 'free' }, email: 'a@example.com' }],
    },
  }),
  createBroadcast: async () => ({ method: 'POST', path: '/broadcast/v1/broadcasts', body: await broadcast() }),
  cancelBroadcast: async () => {
    const { body } = await gateway.rest<{ broadcastGuid: string }>('POST', '/broadcast/v1/broadcasts', {
      key,
      body: await broadcast(),
    });
    return { method: 'DELETE', path: `/broadcast/v1/broadcasts/${body.broadcastGuid}` };
  },
};

async function broadcast() {
  const { body } = await gateway.rest<{ channelGuid: string }[]>(
    'GET',
    '/broadcast/v1/channels/setting/publish/current',
    { key },
  );
  return { channelGuid: body[0]?.channelGuid, content: { body: 'News' } };
}

describe('the same key and input', () => {
  test('every write has its case', () => {
    const writes = routes.filter(({ method }) => method !== 'GET').map(({ operationId }) => operationId);
    expect(Object.keys(WRITES).toSorted()).toEqual(writes.toSorted());
  });

  test.each(Object.keys(WRITES))('%s is done once and answers the same bytes again', async (operation) => {
    const write = await WRITES[operation]?.();
    if (!write) throw new Error(operation);
    const first = seen(await send(write, 'k-1'));
    expect(first).toMatchObject({
      answer: { status: expect.toSatisfy((status: number) => status < 300) },
      replayed: undefined,
    });
    const before = await dumpTables(gateway);
    const second = seen(await send(write, 'k-1'));
    expect(second).toEqual({ answer: first.answer, replayed: 'true' });
    expect(await dumpTables(gateway)).toBe(before);
  });

  test('the order of properties does not matter', async () => {
    const first = await send(
      { method: 'POST', path: events, body: '{"label":"Signed up","primaryObject":"CONTACT"}' },
      'k-1',
    );
    const second = await send(
      { method: 'POST', path: events, body: '{ "primaryObject": "CONTACT", "label": "Signed up" }' },
      'k-1',
    );
    expect([first.status, seen(second)]).toEqual([201, { answer: seen(first).answer, replayed: 'true' }]);
  });

  test('another input, another path, or another operation is 409', async () => {
    await send(create('Signed up'), 'k-1');
    const message =
      'Idempotency-Key: stands for another request already; take a new key for each request, and the same one only to send it again';
    const others = [
      create('Signed off'),
      { method: 'DELETE', path: `${events}/signed_up` },
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
      errors: [{ message, code: 'conflict', in: '' }],
    });
  });

  test('of another user or another organization is another key', async () => {
    const [own, other] = [await gateway.createKey(), await gateway.createKey()];
    const secondOrganization = `second-${randomUUID()}`;
    await gateway.createKey({ email: own.email, organization: secondOrganization });
    const colleague = await gateway.createKey({ organization: own.organization });
    const inSecond = await gateway.createKey({ email: own.email, organization: secondOrganization });
    const write: Write = { method: 'POST', path: '/v1/organizations', body: { name: 'Acme' } };
    const answers = [];
    for (const { key: by } of [own, other, colleague, inSecond]) answers.push(await send(write, 'k-1', { by }));
    expect(answers.map((answer) => [answer.status, seen(answer).replayed])).toEqual(
      Array.from({ length: 4 }, () => [201, undefined]),
    );
    expect(new Set(answers.map(({ text }) => text)).size).toBe(4);
    const another = await gateway.createKey({ email: own.email, organization: own.organization });
    expect(seen(await send(write, 'k-1', { by: another.key }))).toEqual({
      ...seen(answers[0] as Answer),
      replayed: 'true',
    });
  });

  test('an API key with fewer scopes is not shown what another one was', async () => {
    const { organization, email } = await gateway.createKey();
    const [strong, weak] = [
      await gateway.createKey({ organization, email }),
      await gateway.createKey({ organization, email, scopes: ['sessions.read'] }),
    ];
    const write = create();
    await send(write, 'k-1', { by: strong.key });
    const answer = await send(write, 'k-1', { by: weak.key });
    expect([answer.status, answer.body.message]).toEqual([
      403,
      expect.stringMatching(
        /^Idempotency-Key: its answer was given to an API key with scopes that this one lacks: mcp_connections\.read, /,
      ),
    ]);
  });

  test('after 24 hours the key may be used again', async () => {
    const at = new Date('2026-06-01T12:00:00.000Z');
    gateway.setClock(at);
    await send(create('Signed up'), 'k-1');
    gateway.setClock(new Date(at.getTime() + 86_400_000 - 1));
    expect(seen(await send(create('Signed up'), 'k-1')).replayed).toBe('true');
    expect((await send(create('Signed off'), 'k-1')).status).toBe(409);
    gateway.setClock(new Date(at.getTime() + 86_400_000));
    const again = await send(create('Signed off'), 'k-1');
    expect([again.status, again.body.name, seen(again).replayed]).toEqual([201, 'signed_off', undefined]);
    expect(seen(await send(create('Signed off'), 'k-1')).replayed).toBe('true');
  });
});

describe('the key', () => {
  test('has 1 to 255 characters', async () => {
    const message = 'Idempotency-Key: must be 1 to 255 characters';
    for (const bad of ['', 'k'.repeat(256)]) {
      const answer = await send(create(), bad);
      expect([answer.status, answer.body.message]).toEqual([400, message]);
    }
    expect((await send(create(), 'k'.repeat(255))).status).toBe(201);
  });

  test('is neither looked at nor stored by a read', async () => {
    const answer = await send({ method: 'GET', path: events }, 'k'.repeat(256));
    expect([answer.status, await stored()]).toEqual([200, []]);
  });

  test('costs nothing where there is none', async () => {
    await gateway.rest('POST', events, { key, body: definition('Signed up') });
    expect(await stored()).toEqual([]);
    gateway.statements.length = 0;
    await gateway.rest('POST', events, { key, body: definition('Signed off') });
    expect(
      gateway.statements.filter((statement) => /idempotency_key|lock_timeout|savepoint statement/.test(statement)),
    ).toEqual([]);
  });

  test('is not kept, and neither is the answer in clear', async () => {
    await send(create('Unmistakable'), 'a-key-that-is-easily-found');
    const [row] = await stored();
    expect(row?.answer).toMatch(/^ey[\w-]+\.[\w.-]+$/);
    expect(await dumpTables(gateway)).not.toContain('a-key-that-is-easily-found');
  });
});

describe('an error', () => {
  test('changes nothing, is not stored, and leaves the key free', async () => {
    await send(create('Signed up'), 'k-1');
    const taken = { ...create(), body: { ...definition('Other'), name: 'signed_up' } };
    const refused = [await send(taken, 'k-2'), await send(taken, 'k-2')];
    expect(refused.map((answer) => [answer.status, seen(answer).replayed])).toEqual([
      [409, undefined],
      [409, undefined],
    ]);
    expect((await send({ ...create(), body: {} }, 'k-2')).status).toBe(400);
    expect((await send(create('Signed off'), 'k-2')).status).toBe(201);
    expect(await stored()).toHaveLength(2);
  });

  test('of a remote server leaves the key free, too', async () => {
    const { handler } = server;
    const write: Write = { method: 'POST', path: '/v1/mcp-connections', body: remote() };
    server.handler = (_, response) => response.writeHead(500).end();
    expect((await send(write, 'k-1')).status).toBe(502);
    expect(await stored()).toEqual([]);
    server.handler = handler;
    expect((await send(write, 'k-1')).status).toBe(201);
  });
});

describe('twins', () => {
  test('20 at once: one effect, 20 equal answers', async () => {
    const write = create('Signed up');
    const answers = (await Promise.all(Array.from({ length: 20 }, () => send(write, 'k-1')))).map(seen);
    expect(new Set(answers.map(({ answer }) => JSON.stringify(answer))).size).toBe(1);
    expect(answers.filter(({ replayed }) => replayed === undefined)).toHaveLength(1);
    expect(await stored()).toHaveLength(1);
  });

  test('1,000 requests in two processes, 10 a key: 100 effects', async () => {
    const beside = await startTestGateway({}, { beside: gateway });
    try {
      const keys = Array.from({ length: 100 }, () => randomUUID());
      for (let start = 0; start < keys.length; start += 4) {
        const twins = keys
          .slice(start, start + 4)
          .flatMap((name) => Array.from({ length: 10 }, (_, index) => ({ name, to: index % 2 ? beside : gateway })));
        const answers = await Promise.all(twins.map(({ name, to }) => send(create(`Event ${name}`), name, { to })));
        expect(new Set(answers.map(({ status }) => status))).toEqual(new Set([201]));
        expect(new Set(answers.map(({ text }) => text)).size).toBe(4);
        expect(answers.filter((answer) => seen(answer).replayed === undefined)).toHaveLength(4);
      }
      const { body } = await gateway.rest<{ total: number }>('GET', events, { key });
      expect(body.total).toBe(100);
    } finally {
      await beside.close();
    }
  });

  test('wait for a slow request, in this process and in another; and are refused when it takes too long', async () => {
    const sessionId = await createSession(gateway, key);
    const write: Write = { method: 'PATCH', path: `/v1/sessions/${sessionId}`, body: { title: 'Mended' } };
    const beside = await startTestGateway({}, { beside: gateway });
    const impatient = [gateway, beside].map(({ dependencies }) =>
      fetchOf(createGateway({ ...dependencies, idempotency: createIdempotency(dependencies, { waitMs: 200 }) })),
    );
    const headers = { Authorization: `Bearer ${key}`, 'Content-Type': 'application/json', 'Idempotency-Key': 'k-1' };
    const request = () =>
      new Request(`http://gateway${write.path}`, { method: 'PATCH', headers, body: JSON.stringify(write.body) });
    try {
      await whileHeld('select from session where id = ? for update', [sessionId], async (release) => {
        const first = send(write, 'k-1');
        await untilWaiting(1);
        const twins = [send(write, 'k-1'), send(write, 'k-1', { to: beside })];
        await untilWaiting(2);
        const refused = await Promise.all(impatient.map(async (handle) => (await handle(request())).json()));
        const error = 'Idempotency-Key: a request with this key still runs; send it again later to get its answer';
        expect(refused).toEqual([{ error }, { error }]);
        await release();
        const { answer } = seen(await first);
        expect(answer.status).toBe(200);
        expect((await Promise.all(twins)).map(seen)).toEqual([
          { answer, replayed: 'true' },
          { answer, replayed: 'true' },
        ]);
      });
    } finally {
      await beside.close();
    }
  });

  test('wait for a slow remote server without a transaction, in this process and in another', async () => {
    const beside = await startTestGateway({ ALLOW_PRIVATE_NETWORK: 'true' }, { beside: gateway });
    const write: Write = { method: 'POST', path: '/v1/mcp-connections', body: remote() };
    const { handler } = server;
    const held = Promise.withResolvers<void>();
    const asked = Promise.withResolvers<void>();
    server.handler = (request, response) => {
      asked.resolve();
      void held.promise.then(() => handler(request, response));
    };
    try {
      const first = send(write, 'k-1');
      await asked.promise;
      const twins = [send(write, 'k-1'), send(write, 'k-1', { to: beside })];
      expect(await heldTransactions(gateway)).toEqual([]);
      expect(await stored()).toEqual([{ answer: null }]);
      held.resolve();
      const { answer } = seen(await first);
      expect(answer.status).toBe(201);
      expect((await Promise.all(twins)).map(seen)).toEqual([
        { answer, replayed: 'true' },
        { answer, replayed: 'true' },
      ]);
    } finally {
      held.resolve();
      server.handler = handler;
      await beside.close();
    }
  });

  test('take over what a process that has died did not finish: after two minutes, and once', async () => {
    const write: Write = { method: 'POST', path: '/v1/mcp-connections', body: remote() };
    const { handler } = server;
    const held = Promise.withResolvers<void>();
    const asked = Promise.withResolvers<void>();
    const beside = await startTestGateway({ ALLOW_PRIVATE_NETWORK: 'true' }, { beside: gateway });
    server.handler = (request, response) => {
      asked.resolve();
      void held.promise.then(() => handler(request, response));
    };
    try {
      const lost = send(write, 'k-1');
      await asked.promise;
      server.handler = handler;
      beside.setClock(new Date(Date.now() + 121_000));
      const second = seen(await send(write, 'k-1', { to: beside }));
      expect([second.answer.status, second.replayed]).toEqual([201, undefined]);
      held.resolve();
      expect((await lost).status).toBe(409);
      expect(seen(await send(write, 'k-1'))).toEqual({ answer: second.answer, replayed: 'true' });
    } finally {
      held.resolve();
      server.handler = handler;
      await beside.close();
    }
  });

  test('of a request that fails run in its place', async () => {
    const sessionId = await createSession(gateway, key);
    const write: Write = { method: 'PATCH', path: `/v1/sessions/${sessionId}`, body: { mcpServers: ['tracker'] } };
    const answers = await Promise.all(Array.from({ length: 5 }, () => send(write, 'k-1')));
    expect(new Set(answers.map(({ status, text }) => `${status} ${text}`)).size).toBe(1);
    expect([answers[0]?.status, await stored()]).toEqual([400, []]);
  });
});

describe('a connection to the database that is lost in the middle of a write', () => {
  test.each<Record<string, string>>([{ 'Idempotency-Key': 'k-1' }, {}])(
    '503, nothing is done, a retry does it, and the pool is as large as before: %j',
    async (headers) => {
      const { method, path } = create();
      const { body } = await gateway.rest<{ name: string }>(method, path, { key, body: definition('Signed up') });
      const change = () =>
        gateway.rest<{ label: string }>('PATCH', `${path}/${body.name}`, {
          key,
          headers,
          body: { label: 'Signed off' },
        });
      const answer = await whileHeld('select from event_definition for update', [], async () => {
        const lost = change();
        await untilWaiting(1);
        await rows(
          `select pg_terminate_backend(pid) from pg_stat_activity where wait_event_type = 'Lock' and datname = current_database()`,
        );
        return lost;
      });
      expect([answer.status, await stored()]).toEqual([503, []]);
      const retried = await change();
      expect([retried.status, retried.body.label, seen(retried).replayed]).toEqual([200, 'Signed off', undefined]);
      const pool: Pool = await gateway.dependencies.database.driver.getConnection().getNativeClient();
      await expect.poll(() => pool.totalCount - pool.idleCount).toBe(0);
    },
  );
});
