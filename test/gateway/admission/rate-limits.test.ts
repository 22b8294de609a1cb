import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { type GraphQLAnswer, type TestGateway, startTestGateway } from '../../support/fixtures/gateway.ts';
import { append, createSession, eventsOf, subscribe } from '../../support/fixtures/sessions.ts';

const LIMIT = 20;
const COST_LIMIT = 20_000;
const DEFINITIONS = '/events/2026-03/event-definitions';
/** 20 s before a minute ends. */
const AT = new Date('2026-03-01T10:20:40.000Z');
const RESET_AT = '2026-03-01T10:21:00.000Z';

let one: TestGateway;
let two: TestGateway;
let key: string;
let keyId: string;

beforeAll(async () => {
  one = await startTestGateway({ RATE_LIMIT_PER_MINUTE: String(LIMIT) });
  two = await startTestGateway({ RATE_LIMIT_PER_MINUTE: String(LIMIT) }, { beside: one });
});
beforeEach(async () => {
  setClocks(AT);
  ({ key, keyId } = await one.createKey());
});
afterAll(async () => {
  await two.close();
  await one.close();
});

function setClocks(at: Date): void {
  one.setClock(at);
  two.setClock(at);
}

const later = (ms: number) => new Date(AT.getTime() + ms);

const read = (gateway = one, headers: Record<string, string> = {}) =>
  gateway.rest('GET', DEFINITIONS, { key, headers });

interface Posted {
  readonly status: number;
  readonly headers: Headers;
  readonly body: GraphQLAnswer;
}

async function post(
  query: string,
  { gateway = one, accept = 'application/json', with: given = key } = {},
): Promise<Posted> {
  const headers = { Authorization: `Bearer ${given}`, 'Content-Type': 'application/json', Accept: accept };
  const response = await gateway.fetch('/graphql', { method: 'POST', headers, body: JSON.stringify({ query }) });
  return { status: response.status, headers: response.headers, body: (await response.json()) as GraphQLAnswer };
}

function limitHeaders({ headers }: { headers: Headers }): (string | null)[] {
  return ['RateLimit-Limit', 'RateLimit-Remaining', 'RateLimit-Reset', 'Retry-After'].map((name) => headers.get(name));
}

async function useUp(gateway = one): Promise<void> {
  const answers = await Promise.all(Array.from({ length: LIMIT }, () => read(gateway)));
  expect(answers.map(({ status }) => status)).toEqual(answers.map(() => 200));
}

const definitions = (first: number) =>
  `viewer { organization { eventDefinitions(first: ${first}) { nodes { properties { name } } } } }`;
/** A query for pages of event definitions. */
const events = (first: number, pages = 1) =>
  `{ ${Array.from({ length: pages }, (_, page) => `${page === 0 ? '' : `p${page}: `}${definitions(first)}`).join(' ')} }`;
/**
 * The objects viewer, organization and connection, the nodes with a list each, and three statements: organization,
 * definitions, properties.
 */
const costOfEvents = (first: number, pages = 1) => pages * (1 + 1 + 1 + first * (1 + 5) + 3 * 10);

test.each(['/mcp', '/v1/mcp'])('429 at %s is a JSON-RPC error with the id of the message', async (path) => {
  await useUp();
  const message = { jsonrpc: '2.0', id: 'seven', method: 'ping' };
  const headers = { Authorization: `Bearer ${key}`, 'Content-Type': 'application/json' };
  const response = await one.fetch(path, { method: 'POST', headers, body: JSON.stringify(message) });
  expect([response.status, response.headers.get('retry-after')]).toEqual([429, '20']);
  expect(await response.json()).toEqual({
    jsonrpc: '2.0',
    id: 'seven',
    error: {
      code: -32_000,
      message: expect.stringContaining('rate limit exceeded') as string,
      data: { code: 'RATE_LIMITED' },
    },
  });
});

describe('requests', () => {
  test('of 50 concurrent requests to two gateways on one database, exactly the limit is accepted, and each answer has a different number of remaining requests', async () => {
    const answers = await Promise.all(
      Array.from({ length: 50 }, (_, index) =>
        index % 4 < 2 ? read(index % 2 ? one : two) : post('{ __typename }', { gateway: index % 2 ? one : two }),
      ),
    );
    const accepted = answers.filter(({ status }) => status === 200);
    expect(accepted).toHaveLength(LIMIT);
    expect(answers.filter(({ status }) => status === 429)).toHaveLength(50 - LIMIT);
    const left = accepted.map(({ headers }) => Number(headers.get('RateLimit-Remaining')));
    expect(left.toSorted((a, b) => a - b)).toEqual(Array.from({ length: LIMIT }, (_, index) => index));
  });

  test('every authenticated request on both APIs is counted, also if it fails, until the minute ends', async () => {
    const readAs = (headers: Record<string, string>) => () => read(one, headers);
    const steps: [at: number, status: number, ask: () => Promise<{ status: number; headers: Headers }>][] = [
      [0, 200, () => read()],
      [1, 200, () => post('{ viewer { user { email } } }', { gateway: two })],
      [5_000, 400, () => one.rest('POST', DEFINITIONS, { key, body: '{' })],
      [5_000, 404, readAs({ 'X-Organization-Id': 'foreign' })],
      [6_000, 404, () => one.rest('GET', `${DEFINITIONS}/unknown`, { key })],
      [7_000, 400, () => post('{ unknown }', { accept: 'application/graphql-response+json' })],
      [19_001, 200, () => one.fetch(DEFINITIONS, { method: 'HEAD', headers: { Authorization: `Bearer ${key}` } })],
      [20_000, 200, () => read(two)],
    ];
    // Only a key that is bound to no organization may name one.
    await one.dependencies.sql.query('update api_key set organization_id = null where id = $1', [keyId]);
    const seen: unknown[] = [];
    for (const [at, status, ask] of steps) {
      setClocks(later(at));
      const answer = await ask();
      expect(answer.status).toBe(status);
      seen.push(limitHeaders(answer));
    }
    expect(seen).toEqual([
      ['20', '19', '20', null],
      ['20', '18', '20', null],
      ['20', '17', '15', null],
      ['20', '16', '15', null],
      ['20', '15', '14', null],
      ['20', '14', '13', null],
      ['20', '13', '1', null],
      ['20', '19', '60', null],
    ]);
  });

  test('a request over the limit gets 429 with Retry-After in the form of its API, before its body is read; other keys are not affected, and the next minute begins anew', async () => {
    await useUp();
    const message = 'rate limit exceeded: 20 requests per minute per API key; try again in 20 s';
    const headers = { 'X-Request-Id': 'r1' };
    const ofEvents = await one.rest('POST', DEFINITIONS, { key, body: '{', headers });
    const ofWorkspace = await two.rest('POST', '/v1/organizations', { key, body: '{', headers });
    const authorization = { Authorization: `Bearer ${key}`, ...headers };
    const ofGraphQL = await two.fetch('/graphql', { method: 'POST', headers: authorization, body: '{' });
    expect(ofEvents.body).toEqual({
      status: 'error',
      message,
      category: 'RATE_LIMITS',
      correlationId: 'r1',
      errors: [{ message, code: 'RATE_LIMITED', in: '' }],
    });
    expect(ofWorkspace.body).toEqual({ error: message });
    expect(await ofGraphQL.json()).toEqual({
      errors: [{ message, extensions: { code: 'RATE_LIMITED' } }],
      extensions: { requestId: 'r1' },
    });
    for (const refusal of [ofEvents, ofWorkspace, ofGraphQL]) {
      expect(refusal.status).toBe(429);
      expect(limitHeaders(refusal)).toEqual(['20', '0', '20', '20']);
    }
    const other = await one.createKey();
    expect(limitHeaders(await one.rest('GET', DEFINITIONS, { key: other.key }))).toEqual(['20', '19', '20', null]);
    setClocks(later(20_000));
    expect(limitHeaders(await read())).toEqual(['20', '19', '60', null]);
  });

  test('401 comes before 429; requests that need no key have no limit and no limit headers', async () => {
    await useUp();
    const unknown = await one.rest('GET', DEFINITIONS, { key: `${key.slice(0, -1)}!` });
    expect([unknown.status, limitHeaders(unknown)]).toEqual([401, [null, null, null, null]]);
    for (const path of ['/health/live', '/health/ready', '/metrics', '/docs', '/openapi.json']) {
      const response = await one.fetch(path, { headers: { Authorization: `Bearer ${key}` } });
      expect([path, response.status, limitHeaders(response)]).toEqual([path, 200, [null, null, null, null]]);
    }
    await one.dependencies.sql.query('update api_key set revoked_at = now() where id = $1', [keyId]);
    expect((await read()).status).toBe(401);
  });

  test('refused requests are not counted and write nothing', async () => {
    await useUp();
    const rows = () =>
      one.dependencies.sql.query('select xmin::text, requests, cost from rate_limit where key_id = $1', [keyId]);
    const before = await rows();
    expect((await read()).status).toBe(429);
    expect((await post('{ __typename }')).status).toBe(429);
    expect(await rows()).toEqual(before);
    expect(before).toEqual([{ xmin: expect.any(String), requests: LIMIT, cost: 0 }]);
  });
});

test('the log line of a request over a limit says who sent it and what the caller was told, on both APIs', async () => {
  const { userId, organizationId, ...limited } = await one.createKey();
  key = limited.key;
  await useUp();
  await read();
  setClocks(later(60_000));
  await post(events(100, 20));
  const { body } = await post(events(100, 20));
  const lines = one.logged
    .map((line) => JSON.parse(line) as { status?: number; keyId?: string; refused?: { message: string }[] })
    .filter((line) => line.status === 429 && line.keyId === limited.keyId);
  expect(lines).toEqual([
    expect.objectContaining({
      userId,
      refused: [
        { reason: 'rate_limited', operation: 'searchEventDefinitions', message: expect.stringMatching(/^rate limit/) },
      ],
    }),
    expect.objectContaining({
      userId,
      organizationId,
      refused: [{ reason: 'rate_limited', operation: 'graphql', message: body.errors?.[0]?.message }],
    }),
  ]);
});

describe('the cost of a GraphQL request', () => {
  test('is deducted from the budget of the minute and reported in extensions.cost', async () => {
    const [first, second] = [await post(events(100)), await post(events(100), { gateway: two })];
    const requested = costOfEvents(100);
    const cost = { requested, limit: COST_LIMIT, resetAt: RESET_AT };
    expect(first.body.extensions?.['cost']).toEqual({ ...cost, remaining: COST_LIMIT - requested });
    expect(second.body.extensions?.['cost']).toEqual({ ...cost, remaining: COST_LIMIT - 2 * requested });
    setClocks(later(20_000));
    const third = await post(events(100));
    expect(third.body.extensions?.['cost']).toEqual({
      ...cost,
      resetAt: '2026-03-01T10:22:00.000Z',
      remaining: COST_LIMIT - requested,
    });
  });

  test('at most the limit of one request always fits into the budget of a minute, whatever RATE_LIMIT_PER_MINUTE is', async () => {
    const small = await startTestGateway({ RATE_LIMIT_PER_MINUTE: '2' }, { beside: one });
    const large = await startTestGateway({ RATE_LIMIT_PER_MINUTE: '1000' }, { beside: one });
    const costly = events(100, 31);
    const requested = costOfEvents(100, 31);
    const budgets = [];
    for (const gateway of [small, large]) {
      gateway.setClock(AT);
      const { key: fresh } = await one.createKey();
      budgets.push((await post(costly, { gateway, with: fresh })).body.extensions?.['cost']);
    }
    expect(budgets).toEqual([
      { requested, limit: 20_000, remaining: 20_000 - requested, resetAt: RESET_AT },
      { requested, limit: 200_000, remaining: 200_000 - requested, resetAt: RESET_AT },
    ]);
    await small.close();
    await large.close();
  });

  test.each(['application/json', 'application/graphql-response+json', 'text/event-stream'])(
    'is refused with 429 as %s if it exceeds the budget; the message has the remaining points, the most expensive path and a page size that fits',
    async (accept) => {
      await one.dependencies.sql.query(
        'insert into rate_limit (window_start, key_id, requests, cost) values ($1, $2, 0, $3)',
        [new Date('2026-03-01T10:20:00Z'), keyId, COST_LIMIT - 100],
      );
      const requested = costOfEvents(50);
      const refusal = {
        errors: [
          {
            message: `The query costs ${requested}; 100 of the key's 20000 points per minute are left. Its most expensive path is viewer.organization.eventDefinitions.nodes.properties: ask for smaller pages or fewer fields there, or split the query. The next minute begins in 20 s.`,
            extensions: { code: 'RATE_LIMITED' },
          },
        ],
        extensions: {
          requestId: expect.any(String),
          cost: { requested, limit: COST_LIMIT, remaining: 100, resetAt: RESET_AT },
        },
      };
      // The second request has a known document, whose cost is looked up.
      for (const remaining of ['19', '18']) {
        const headers = { Authorization: `Bearer ${key}`, 'Content-Type': 'application/json', Accept: accept };
        const response = await one.fetch('/graphql', {
          method: 'POST',
          headers,
          body: JSON.stringify({ query: events(50) }),
        });
        const text = await response.text();
        const body: unknown = JSON.parse(/^data: (\{.*)$/m.exec(text)?.[1] ?? text);
        expect(body).toEqual(refusal);
        expect(response.status).toBe(429);
        expect(limitHeaders(response)).toEqual(['20', remaining, '20', '20']);
      }
      const passing = await post(events(11), { accept: 'application/json' });
      expect([passing.status, passing.body.extensions?.['cost']]).toEqual([
        200,
        { requested: 99, limit: COST_LIMIT, remaining: 1, resetAt: RESET_AT },
      ]);
    },
  );

  test('is deducted for a subscription when it begins', async () => {
    const begin = () =>
      post('subscription { sessionEvents(sessionId: "00000000-0000-4000-8000-000000000000") { databaseId } }', {
        accept: 'text/event-stream, application/json',
      });
    expect((await begin()).body.extensions?.['cost']).toMatchObject({ requested: 1, remaining: COST_LIMIT - 1 });
    await one.dependencies.sql.query('update rate_limit set cost = $2 where key_id = $1', [keyId, COST_LIMIT]);
    const refused = await begin();
    expect([refused.status, refused.body.errors?.[0]?.extensions]).toEqual([429, { code: 'RATE_LIMITED' }]);
  });

  test('is deducted for each event of a subscription, which waits for the next minute when none is left', async () => {
    const clock = (second: string) => one.setClock(new Date(`2026-03-01T10:${second}Z`));
    clock('20:59.500');
    const caller = await one.createKey();
    const sessionId = await createSession(one, caller.key);
    await append(one, caller.key, sessionId, eventsOf(30));
    const query = `subscription($id: ID!) { sessionEvents(sessionId: $id) {
      databaseId session { events(first: 1000) { nodes { databaseId } } } } }`;
    const used = async () => {
      const [row] = await one.dependencies.sql.query<{ cost: number }>(
        'select max(cost)::int as cost from rate_limit where key_id = $1',
        [caller.keyId],
      );
      return row?.cost ?? 0;
    };
    const before = await used();
    const requested = 1023;
    const stream = await subscribe(one, caller.key, query, { id: sessionId });
    const paid = Math.floor((COST_LIMIT - before) / requested);
    const seen = (await stream.take(paid + 1)).map(({ id }) => Number(id));
    expect(await used()).toBe(before + paid * requested);
    clock('21:00.000');
    seen.push(...(await stream.take(29 - paid)).map(({ id }) => Number(id)));
    expect(seen).toEqual(Array.from({ length: 30 }, (_, index) => index + 1));
    await stream.close();
  });

  test('never exceeds the budget in 20 concurrent requests to two gateways, and a refused mutation changes nothing', async () => {
    const requested = costOfEvents(100, 5);
    const answers = await Promise.all(
      Array.from({ length: LIMIT - 1 }, (_, index) => post(events(100, 5), { gateway: index % 2 ? one : two })),
    );
    const paid = answers.filter(({ status }) => status === 200);
    expect(paid).toHaveLength(Math.floor(COST_LIMIT / requested));
    expect(answers.filter(({ status }) => status === 429)).toHaveLength(answers.length - paid.length);
    const [row] = await one.dependencies.sql.query<{ cost: number }>('select cost from rate_limit where key_id = $1', [
      keyId,
    ]);
    expect(row?.cost).toBe(paid.length * requested);

    await one.dependencies.sql.query('update rate_limit set cost = $2 where key_id = $1', [keyId, COST_LIMIT]);
    const refused = await post(
      'mutation { createEventDefinition(input: { label: "Refused", name: "refused" }) { __typename } }',
    );
    expect(refused.body.errors?.[0]?.extensions).toEqual({ code: 'RATE_LIMITED' });
    expect(await one.dependencies.sql.query("select 1 from event_definition where name = 'refused'", [])).toEqual([]);
  });

  test('is not deducted if the operation exceeds the fixed limit; it only counts as a request', async () => {
    const huge = await post(events(100, 34));
    expect(huge.body.errors?.[0]?.extensions?.['code']).toBe('TOO_COSTLY');
    expect(huge.status).toBe(400);
    expect(limitHeaders(huge)).toEqual(['20', '19', '20', null]);
    expect((await post('{ __typename }')).body.extensions?.['cost']).toEqual({
      requested: 0,
      limit: COST_LIMIT,
      remaining: COST_LIMIT,
      resetAt: RESET_AT,
    });
  });
});

test('RATE_LIMIT_PER_MINUTE=0 means no limit, no limit headers and no SQL statement; the fixed limits still apply', async () => {
  const off = await startTestGateway({ RATE_LIMIT_PER_MINUTE: '0' }, { beside: one });
  const answers = await Promise.all(Array.from({ length: 120 }, () => read(off)));
  expect(new Set(answers.map(({ status }) => status))).toEqual(new Set([200]));
  expect(answers.flatMap(limitHeaders).filter((value) => value !== null)).toEqual([]);
  const { body, headers } = await post(events(3), { gateway: off });
  expect(limitHeaders({ headers })).toEqual([null, null, null, null]);
  expect(body.extensions?.['cost']).toEqual({ requested: costOfEvents(3), limit: 20_000 });
  expect(off.statements.filter((statement) => statement.includes('rate_limit'))).toEqual([]);
  const deep = await post(events(100, 34), { gateway: off });
  expect(deep.body.errors?.[0]?.extensions?.['code']).toBe('TOO_COSTLY');
  await off.close();
});

test('if the database fails while a request is counted, both APIs answer 503 with Retry-After, and nothing runs', async () => {
  const apart = await startTestGateway({ RATE_LIMIT_PER_MINUTE: '20' });
  const { key: good } = await apart.createKey();
  const run = (sql: string) => apart.dependencies.sql.query(sql, []);
  await run(
    `create function go_away() returns trigger language plpgsql as $$ begin raise exception 'terminating connection' using errcode = '57P01'; end $$`,
  );
  const mutation = 'mutation { createEventDefinition(input: { label: "Refused", name: "refused" }) { __typename } }';
  const refusedBy = async (event: string) => {
    await run(
      `create trigger away before insert or update on rate_limit for each row when (${event}) execute function go_away()`,
    );
    const ofRest = await apart.rest('GET', DEFINITIONS, { key: good });
    const ofGraphQL = await post(mutation, { gateway: apart, with: good });
    await run('drop trigger away on rate_limit');
    return [
      ofRest.status,
      ofRest.headers.get('Retry-After'),
      ofGraphQL.status,
      ofGraphQL.headers.get('Retry-After'),
      ofGraphQL.body.errors?.[0]?.extensions,
    ];
  };
  expect(await refusedBy('true')).toEqual([503, '1', 503, '1', { code: 'UNAVAILABLE' }]);
  expect(await refusedBy('new.cost > 0')).toEqual([200, null, 503, '1', { code: 'UNAVAILABLE' }]);
  expect(await run('select 1 from event_definition')).toEqual([]);
  await apart.close();
});

test('later requests delete counters that are older than an hour', async () => {
  const minutes = async () => {
    const rows = await one.dependencies.sql.query<{ at: string }>(
      `select to_char(window_start at time zone 'UTC', 'HH24:MI') as at from rate_limit where key_id = $1 order by 1`,
      [keyId],
    );
    return rows.map(({ at }) => at);
  };
  for (const hour of ['10:20', '10:21', '11:20']) {
    setClocks(new Date(`2026-03-02T${hour}:30Z`));
    await read();
  }
  await expect.poll(minutes).toEqual(['10:20', '10:21', '11:20']);
  setClocks(new Date('2026-03-02T11:31:00Z'));
  await read(one);
  await expect.poll(minutes).toEqual(['11:20', '11:31']);
});
