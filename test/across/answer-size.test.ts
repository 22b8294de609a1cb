// An answer is limited to 32 MiB twice: in the rows that the database returns for it, and in the bytes that are sent,
// which can repeat a value.
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { type GraphQLAnswer, type TestGateway, startTestGateway } from '../support/fixtures/gateway.ts';
import { repeat } from '../support/fixtures/graphql-limits.ts';
import { append, createSession, eventsOf, subscribe } from '../support/fixtures/sessions.ts';

const SESSIONS = 40;
const LENGTH = 1_000_000;
const message = 'the answer would be larger than 32 MiB; ask for fewer or smaller objects';
const tooLarge = { message, extensions: { code: 'ANSWER_TOO_LARGE' } };

let gateway: TestGateway;
let key: string;
let organization: string;
let id: string;
beforeAll(async () => {
  gateway = await startTestGateway();
  ({ key, organization } = await gateway.createKey());
  for (let count = 0; count < SESSIONS; count += 1) id = await createSession(gateway, key);
  await gateway.dependencies.sql.query("update session set description = repeat('x', $1)", [LENGTH]);
});
afterAll(() => gateway.close());

const ask = (query: string, variables?: Record<string, unknown>) =>
  gateway.graphql<Record<string, unknown>>(key, query, variables);
const aliases = (count: number, field: string) => repeat(count, (index) => `a${index}: ${field}`);

const codesOf = (errors: NonNullable<GraphQLAnswer['errors']>) => [
  ...new Set(errors.map(({ extensions }) => extensions?.['code'])),
];

/** The process ids of the connections to the gateway's database. */
const connections = async () =>
  new Set(
    (
      await gateway.dependencies.sql.query<{ pid: number }>(
        'select pid from pg_stat_activity where datname = current_database()',
        [],
      )
    ).map(({ pid }) => pid),
  );

describe('the limit on rows that are read', () => {
  const wide = '{ viewer { role organization { name sessions(first: 100) { nodes { description } } } } }';

  test('GraphQL: a field that reads too much is null with an error at its path; its siblings and other callers are answered', async () => {
    const { key: neighbor } = await gateway.createKey();
    for (const run of ['executed', 'executed again', 'compiled', 'compiled again']) {
      const [answer, other] = await Promise.all([
        ask(wide),
        gateway.graphql(neighbor, '{ viewer { role organization { sessions { totalCount } } } }'),
      ]);
      expect({ run, data: answer.data, errors: answer.errors }).toEqual({
        run,
        data: { viewer: { role: 'ADMIN', organization: { name: organization, sessions: null } } },
        errors: [expect.objectContaining({ ...tooLarge, path: ['viewer', 'organization', 'sessions'] })],
      });
      expect(other.data).toEqual({ viewer: { role: 'ADMIN', organization: { sessions: { totalCount: 0 } } } });
    }
  });

  test('REST: a request that reads too much is 400, in the error format of its path', async () => {
    const small = await startTestGateway({}, { beside: gateway, bounds: { answerBytes: 2 * 1024 * 1024 } });
    const session = await createSession(gateway, key);
    const events = eventsOf(3, { data: { text: 'x'.repeat(LENGTH) } });
    await append(gateway, key, session, events);
    const path = `/v1/sessions/${session}/events`;
    // A page also reads the event after its last one.
    expect((await small.rest('GET', `${path}?limit=1`, { key })).status).toBe(200);
    const { status, body } = await small.rest('GET', path, { key });
    expect({ status, body }).toEqual({ status: 400, body: { error: message.replace('32', '2') } });
    await small.close();
  });

  test('the gateway does not receive the remaining rows: it closes the connection, and the pool opens another', async () => {
    // Concurrent requests make the pool open several connections.
    const busy = () => Promise.all(Array.from({ length: 10 }, () => ask('{ viewer { role } }')));
    for (let round = 0; round < 4; round += 1) {
      for (const answer of await busy()) expect(answer).toMatchObject({ data: { viewer: { role: 'ADMIN' } } });
      const before = await connections();
      await ask(wide);
      // PostgreSQL notices the closed connection only when it sends more rows.
      await expect
        .poll(async () => {
          const now = await connections();
          return [...before].every((pid) => now.has(pid));
        })
        .toBe(false);
    }
  });

  test('the limit applies to all fields of a request together', async () => {
    const fields = (count: number) =>
      repeat(count, (index) => `s${index}: sessions(first: ${10 + index}) { nodes { description } }`);
    expect((await ask(`{ viewer { organization { ${fields(2)} } } }`)).errors).toBeUndefined();
    const { errors = [] } = await ask(`{ viewer { organization { ${fields(4)} } } }`);
    expect(codesOf(errors)).toEqual(['ANSWER_TOO_LARGE']);
  });
});

describe('the limit on bytes that are sent', () => {
  test('an answer that repeats one value too often is replaced by an error', async () => {
    const query = (count: number) => `query($id: ID!) { session(id: $id) { ${aliases(count, 'description')} } }`;
    for (let run = 0; run < 4; run += 1) {
      const { data, errors } = await ask(query(100), { id });
      expect({ data, errors }).toEqual({ data: null, errors: [tooLarge] });
    }
    const { data } = await ask(query(33), { id });
    expect(Object.values(data?.['session'] ?? {}).map((text: string) => text.length)).toEqual(
      Array.from({ length: 33 }, () => LENGTH),
    );
  });

  test('the limit counts bytes, not characters', async () => {
    const other = await createSession(gateway, key);
    await gateway.dependencies.sql.query("update session set description = repeat('ä', $1) where id = $2", [
      LENGTH,
      other,
    ]);
    const query = (count: number) => `query($id: ID!) { session(id: $id) { ${aliases(count, 'description')} } }`;
    expect((await ask(query(17), { id: other })).errors).toEqual([tooLarge]);
    expect((await ask(query(16), { id: other })).errors).toBeUndefined();
  });

  test('a page of events under many aliases: the answer stays below the limit and has an error', async () => {
    const session = await createSession(gateway, key);
    await append(gateway, key, session, eventsOf(1, { data: { text: 'x'.repeat(LENGTH) } }));
    const query = `query($id: ID!) { ${aliases(90, 'session(id: $id) { events { nodes { eventDataJson } } }')} }`;
    for (let run = 0; run < 4; run += 1) {
      const { data, errors = [] } = await ask(query, { id: session });
      expect(codesOf(errors)).toEqual(['ANSWER_TOO_LARGE']);
      expect(JSON.stringify(data).length).toBeLessThan(32 * 1024 * 1024);
    }
  });

  test('a subscription replaces an event that is too large by an error, and delivers the next event', async () => {
    const session = await createSession(gateway, key);
    const query = `subscription($id: ID!) { sessionEvents(sessionId: $id) { ${aliases(50, 'eventDataJson')} } }`;
    const stream = await subscribe(gateway, key, query, { id: session });
    await append(gateway, key, session, eventsOf(1, { data: { text: 'x'.repeat(LENGTH) } }));
    await append(gateway, key, session, eventsOf(1));
    const [first, second] = (await stream.take(2)).map(({ data = '' }) => JSON.parse(data) as unknown);
    await stream.close();
    expect(first).toMatchObject({ data: null, errors: [tooLarge] });
    expect(second).toMatchObject({ data: { sessionEvents: { a0: { type: 'text', index: 1 } } } });
  });
});

describe('the answer of a mutation', () => {
  const payload = `session { ${aliases(40, 'description')} }`;
  const mutation = (selection: string) =>
    `mutation($input: TransitionSessionInput!) { transitionSession(input: $input) { ... on TransitionSessionPayload { ${selection} } } }`;
  const stateOf = async (session: string) =>
    (await gateway.dependencies.sql.query<{ state: string }>('select state from session where id = $1', [session]))[0]
      ?.state;

  test('with an idempotency key, nothing is changed, and the key can be used again for a smaller answer', async () => {
    const headers = { 'Idempotency-Key': 'too-large' };
    const before = await stateOf(id);
    const input = { sessionId: id, state: 'CANCELLED' };
    const { data, errors } = await gateway.graphql(key, mutation(payload), { input }, headers);
    expect({ data, errors }).toMatchObject({ data: null, errors: [tooLarge] });
    expect(await stateOf(id)).toBe(before);
    const again = await gateway.graphql(key, mutation('session { state { isCancelled } }'), { input }, headers);
    expect(again).toMatchObject({ data: { transitionSession: { session: { state: { isCancelled: true } } } } });
  });

  test('without an idempotency key, the change is committed, and only the answer is missing', async () => {
    const session = await createSession(gateway, key);
    await gateway.dependencies.sql.query("update session set description = repeat('x', $1) where id = $2", [
      LENGTH,
      session,
    ]);
    const { data, errors } = await gateway.graphql(key, mutation(payload), {
      input: { sessionId: session, state: 'CANCELLED' },
    });
    expect({ data, errors }).toEqual({ data: null, errors: [tooLarge] });
    expect(await stateOf(session)).toBe('cancelled');
  });
});
