// The size of an answer is limited twice: in the rows that the database returns for it, and in the bytes that are sent,
// which can repeat a value. The limit is smaller here than in production.
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { DEFAULT_BOUNDS } from '../../src/gateway/bounds.ts';
import { type GraphQLAnswer, type TestGateway, startTestGateway } from '../support/fixtures/gateway.ts';
import { repeat } from '../support/fixtures/graphql-limits.ts';
import { append, createSession, eventsOf, subscribe } from '../support/fixtures/sessions.ts';

const MIB = 1024 * 1024;
const LENGTH = 40_000;
const message = 'the answer would be larger than 1 MiB; ask for fewer or smaller objects';
const tooLarge = { message, extensions: { code: 'ANSWER_TOO_LARGE' } };

let gateway: TestGateway;
let key: string;
let organization: string;
let id: string;
beforeAll(async () => {
  gateway = await startTestGateway({}, { bounds: { answerBytes: MIB } });
  ({ key, organization } = await gateway.createKey());
  for (let count = 0; count < 40; count += 1) id = await createSession(gateway, key);
  await describeAll('x', LENGTH);
});
afterAll(() => gateway.close());

const describeAll = (character: string, length: number, ...session: string[]) =>
  gateway.dependencies.sql.query(
    `update session set description = repeat($1, $2)${session.map(() => ' where id = $3').join('')}`,
    [character, length, ...session],
  );
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

test('the limits are those of the documents', () => {
  expect(DEFAULT_BOUNDS).toMatchObject({ answerBytes: 8 * MIB, unreadBytesOfUser: 16 * MIB, unreadBytes: 64 * MIB });
});

describe('the limit on rows that are read', () => {
  /** Each list is another statement, whose page ends at half of the limit. */
  const lists = (count: number) =>
    repeat(count, (index) => `s${index}: sessions(first: ${50 + index}) { nodes { description } }`);

  test('GraphQL: a field that reads too much is null with an error at its path; its siblings and other callers are answered', async () => {
    const { key: neighbor } = await gateway.createKey();
    for (const run of ['executed', 'executed again', 'compiled', 'compiled again']) {
      const [answer, other] = await Promise.all([
        ask(`{ viewer { role organization { name ${lists(4)} } } }`),
        gateway.graphql(neighbor, '{ viewer { role organization { sessions { totalCount } } } }'),
      ]);
      const { viewer } = answer.data as { viewer: { role: string; organization: Record<string, unknown> } };
      expect({ run, role: viewer.role, name: viewer.organization['name'] }).toEqual({
        run,
        role: 'ADMIN',
        name: organization,
      });
      const refused = (answer.errors ?? []).map(({ path }) => String(path?.at(-1)));
      expect(refused.length).toBeGreaterThan(0);
      for (const name of refused) expect(viewer.organization[name]).toBeNull();
      for (const error of answer.errors ?? []) expect(error).toMatchObject(tooLarge);
      expect(other.data).toEqual({ viewer: { role: 'ADMIN', organization: { sessions: { totalCount: 0 } } } });
    }
  });

  test('the limit applies to all fields of a request together', async () => {
    expect((await ask(`{ viewer { organization { ${lists(1)} } } }`)).errors).toBeUndefined();
    const { errors = [] } = await ask(`{ viewer { organization { ${lists(4)} } } }`);
    expect(codesOf(errors)).toEqual(['ANSWER_TOO_LARGE']);
  });

  test('the gateway does not receive the remaining rows: it closes the connection, and the pool opens another', async () => {
    // Concurrent requests make the pool open several connections.
    const busy = () => Promise.all(Array.from({ length: 10 }, () => ask('{ viewer { role } }')));
    for (let round = 0; round < 4; round += 1) {
      for (const answer of await busy()) expect(answer).toMatchObject({ data: { viewer: { role: 'ADMIN' } } });
      const before = await connections();
      await ask(`{ viewer { organization { ${lists(1)} } } }`);
      // PostgreSQL notices the closed connection only when it sends more rows.
      await expect
        .poll(async () => {
          const now = await connections();
          return [...before].every((pid) => now.has(pid));
        })
        .toBe(false);
    }
  });
});

describe('the limit on bytes that are sent', () => {
  const query = (count: number) => `query($id: ID!) { session(id: $id) { ${aliases(count, 'description')} } }`;

  test('an answer that repeats one value too often is replaced by an error', async () => {
    for (let run = 0; run < 4; run += 1) {
      const { data, errors } = await ask(query(100), { id });
      expect({ data, errors }).toEqual({ data: null, errors: [tooLarge] });
    }
    const { data } = await ask(query(26), { id });
    expect(Object.values(data?.['session'] ?? {}).map((text: string) => text.length)).toEqual(
      Array.from({ length: 26 }, () => LENGTH),
    );
  });

  test('the limit counts bytes, not characters', async () => {
    const other = await createSession(gateway, key);
    await describeAll('ä', LENGTH, other);
    expect((await ask(query(14), { id: other })).errors).toEqual([tooLarge]);
    expect((await ask(query(13), { id: other })).errors).toBeUndefined();
  });

  test('REST: an answer that is too large is 400', async () => {
    const other = await createSession(gateway, key);
    await describeAll('\\', 600_000, other);
    const { status, body } = await gateway.rest('GET', `/v1/sessions/${other}`, { key });
    expect({ status, body }).toEqual({ status: 400, body: { error: message } });
    await gateway.dependencies.sql.query('delete from session where id = $1', [other]);
  });

  test('a page of events under many aliases: the answer stays below the limit and has an error', async () => {
    const session = await createSession(gateway, key);
    await append(gateway, key, session, eventsOf(1, { data: { text: 'x'.repeat(LENGTH) } }));
    const fields = aliases(90, 'session(id: $id) { events { nodes { eventDataJson } } }');
    for (let run = 0; run < 4; run += 1) {
      const { data, errors = [] } = await ask(`query($id: ID!) { ${fields} }`, { id: session });
      expect(codesOf(errors)).toEqual(['ANSWER_TOO_LARGE']);
      expect(JSON.stringify(data).length).toBeLessThan(MIB);
    }
  });

  test('a subscription replaces an event that is too large by an error, and delivers the next event', async () => {
    const session = await createSession(gateway, key);
    const events = `subscription($id: ID!) { sessionEvents(sessionId: $id) { ${aliases(50, 'eventDataJson')} } }`;
    const stream = await subscribe(gateway, key, events, { id: session });
    await append(gateway, key, session, eventsOf(1, { data: { text: 'x'.repeat(LENGTH) } }));
    await append(gateway, key, session, eventsOf(1));
    const [first, second] = (await stream.take(2)).map(({ data = '' }) => JSON.parse(data) as unknown);
    await stream.close();
    expect(first).toMatchObject({ data: null, errors: [tooLarge] });
    expect(second).toMatchObject({ data: { sessionEvents: { a0: { type: 'text', index: 1 } } } });
  });
});

describe('the answer of a write that would be too large is a success, without what makes it so', () => {
  const mutation = (selection: string) =>
    `mutation($input: TransitionSessionInput!) { transitionSession(input: $input) { ... on TransitionSessionPayload { ${selection} } } }`;
  const stateOf = async (session: string) =>
    (await gateway.dependencies.sql.query<{ state: string }>('select state from session where id = $1', [session]))[0]
      ?.state;

  test.each([
    ['without an idempotency key', {}],
    ['with an idempotency key, whose replay has only the id', { 'Idempotency-Key': 'too-large' }],
  ])('GraphQL, %s', async (_, headers: Readonly<Record<string, string>>) => {
    const session = await createSession(gateway, key);
    await describeAll('x', 600_000, session);
    const input = { sessionId: session, state: 'CANCELLED' };
    const selection = 'session { databaseId a: description b: description c: description title }';
    for (let run = 0; run < (headers['Idempotency-Key'] ? 2 : 1); run += 1) {
      const { data, errors } = await gateway.graphql(key, mutation(selection), { input }, headers);
      expect(data).toMatchObject({
        transitionSession: { session: { databaseId: session, title: run === 0 ? 'Mend the test' : null } },
      });
      const texts = Object.entries((data as { transitionSession: { session: object } }).transitionSession.session);
      const cleared = run === 0 ? 2 : 4;
      expect(texts.filter(([, value]) => value === null)).toHaveLength(cleared);
      const path = ['transitionSession', 'session', expect.stringMatching(/^(?:[abc]|title)$/)];
      const code = { extensions: tooLarge.extensions };
      expect(errors).toMatchObject(Array.from({ length: cleared }, () => ({ ...(run === 0 ? tooLarge : code), path })));
      expect(await stateOf(session)).toBe('cancelled');
    }
  });

  test('GraphQL: a value that cannot be null is left out with the object above it', async () => {
    const session = await createSession(gateway, key);
    await gateway.dependencies.sql.query("update session set title = repeat('x', 600000) where id = $1", [session]);
    const input = { sessionId: session, state: 'CANCELLED' };
    const { data, errors } = await gateway.graphql(key, mutation('session { a: title b: title }'), { input });
    expect({ data, errors }).toMatchObject({
      data: { transitionSession: { session: null } },
      errors: [{ ...tooLarge, path: ['transitionSession', 'session'] }],
    });
    expect(await stateOf(session)).toBe('cancelled');
    await gateway.dependencies.sql.query('delete from session where id = $1', [session]);
  });

  test.each([
    ['without an idempotency key', {}],
    ['with an idempotency key', { 'Idempotency-Key': 'rest-too-large' }],
  ])('REST, %s', async (_, headers) => {
    const session = await createSession(gateway, key);
    await describeAll('\\', 600_000, session);
    const path = `/v1/sessions/${session}`;
    const answer = await gateway.rest<Record<string, unknown>>('PATCH', path, {
      key,
      headers,
      body: { title: 'Changed' },
    });
    expect(answer).toMatchObject({ status: 200, body: { id: session, title: 'Changed', description: null } });
    const [row] = await gateway.dependencies.sql.query<{ title: string; length: number }>(
      'select title, length(description)::int as length from session where id = $1',
      [session],
    );
    expect(row).toEqual({ title: 'Changed', length: 600_000 });
    await gateway.dependencies.sql.query('delete from session where id = $1', [session]);
  });

  test('a mutation after one that used up the limit is refused, and nothing is written', async () => {
    const [first, second] = [await createSession(gateway, key), await createSession(gateway, key)];
    await describeAll('x', 600_000, first);
    const field = (name: string, session: string) =>
      `${name}: transitionSession(input: { sessionId: "${session}", state: CANCELLED }) { ... on TransitionSessionPayload { session { description ${name === 'a' ? 'creator { ... on Node { id } } artifacts { nodes { id } }' : ''} } } }`;
    const twice = `${field('a', first)} b: pinSession(input: { sessionId: "${first}" }) { ... on PinSessionPayload { session { description } } }`;
    const { data, errors } = await ask(`mutation { ${twice} ${field('c', second)} }`);
    expect(data).toMatchObject({ c: null });
    expect(errors?.at(-1)).toMatchObject({ extensions: { code: 'ANSWER_TOO_LARGE' } });
    expect([await stateOf(first), await stateOf(second)]).toEqual(['cancelled', 'queued']);
  });
});
