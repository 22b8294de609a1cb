import { beforeAll, describe, expect, test } from 'vitest';
import { useTestGateway } from '../../support/fixtures/gateway.ts';
import { createSession } from '../../support/fixtures/sessions.ts';
import { sampled } from '../../support/sample.ts';

/** A document is compiled when it is sent for the third time. Before that, the executor of graphql-js runs it. */
const RUNS = 5;

const gateway = useTestGateway();
let key: string;
let sessionId: string;

beforeAll(async () => {
  ({ key } = await gateway.createKey());
  sessionId = await createSession(gateway, key);
});

/** The increase of `gateway_graphql_executions_total` and of the counter of reasons while `run` ran. */
async function executionsDuring(run: () => Promise<unknown>): Promise<Record<string, number>> {
  const before = await executions();
  await run();
  const grown = [...(await executions())].map(([label, count]) => [label, count - (before.get(label) ?? 0)] as const);
  return Object.fromEntries(grown.filter(([, count]) => count > 0));
}

async function executions(): Promise<Map<string, number>> {
  const text = await (await gateway.fetch('/metrics')).text();
  const series = text.matchAll(/^gateway_graphql_(?:executions|interpretations)_total\{\w+="(\w+)"\} (\d+)$/gm);
  return new Map(Array.from(series, ([, label = '', count]) => [label, Number(count)]));
}

/** The text of an answer without the request id. */
async function ask(query: string, variables: object = {}): Promise<string> {
  const response = await gateway.fetch('/graphql', {
    method: 'POST',
    headers: { Authorization: `Bearer ${key}`, 'Content-Type': 'application/json' },
    body: JSON.stringify({ query, variables }),
  });
  return (await response.text()).replace(/"extensions":\{"requestId".*$/, '');
}

describe('a document that is sent again gets the same bytes as the first time', () => {
  // The error makes the compiled code give up. After that, the document is interpreted twice.
  const GAVE_UP = { interpreted: 4, new: 2, gives_up: 2, gave_up: 1 };
  const COMPILED = { interpreted: 2, new: 2, compiled: 3 };
  const cases: [string, string, (() => Record<string, unknown>)?, Record<string, number>?][] = [
    [
      'aliases, fields that merge, and their order',
      '{ b: viewer { role } a: viewer { user { id ...U } user { email } } b: viewer { organization { slug } } __typename } fragment U on User { createdAt id }',
    ],
    [
      'fragments on interfaces and types of a node',
      `query($ids: [ID!]!) { nodes(ids: $ids) { __typename id ...S ... on Organization { name } ... on Node { again: id } } }
       fragment S on Session { title state { current isQueued } events(first: 2) { edges { cursor node { eventType } } pageInfo { hasNextPage } totalCount } }`,
      () => ({ ids: [btoa(`Session:${sessionId}`), btoa('Session:x'), 'nonsense'] }),
    ],
    [
      'response names that are keywords of JavaScript',
      '{ class: viewer { constructor: role this: __typename } toString: __typename }',
    ],
    [
      'an object that does not exist',
      'query($id: ID!) { session(id: $id) { id } viewer { role } }',
      () => ({ id: 'nobody' }),
    ],
    [
      'an error in a nested page',
      'query($first: Int) { viewer { organization { sessions(first: $first) { nodes { id } } } } }',
      () => ({ first: 0 }),
      GAVE_UP,
    ],
    [
      'invalid variables',
      'query($id: ID!) { session(id: $id) { id } }',
      () => ({ id: [1] }),
      { interpreted: 5, invalid_request: 5 },
    ],
    [
      'defaults of variables and arguments',
      'query($first: Int = 1) { viewer { organization { sessions(first: $first) { nodes { id } } } } }',
    ],
  ];
  sampled(test, 8).each(cases)('%s', async (_, query, variables, expected = COMPILED) => {
    const answers: string[] = [];
    const counted = await executionsDuring(async () => {
      for (let run = 0; run < RUNS; run += 1) answers.push(await ask(query, variables?.()));
    });
    expect(counted).toEqual(expected);
    expect(answers).toEqual(answers.map(() => answers[0]));
    expect(answers[0]).toMatch(/"(?:data|errors)"/);
  });

  test.each([{ b: null }, { b: null, c: false }, { b: false, c: null }])(
    'with conditions that are null: %j',
    async (variables) => {
      const query = `query($b: Boolean = true, $c: Boolean = true) {
        viewer { role @skip(if: $b) ... @include(if: $c) { user { id } } }
        session(id: "00000000-0000-4000-8000-000000000000") { title @skip(if: $b) }
      }`;
      const answers: string[] = [];
      for (let run = 0; run < RUNS; run += 1) answers.push(await ask(query, variables));
      expect(answers).toEqual(answers.map(() => answers[0]));
      expect(answers[0]).toContain('INVALID_INPUT');
    },
  );

  test('the metrics count how often it was compiled, interpreted, or interpreted after compiled code gave up', async () => {
    const often =
      (query: string, variables = {}) =>
      async () => {
        for (let run = 0; run < RUNS; run += 1) await ask(query, variables);
      };
    expect(await executionsDuring(often('{ viewer { role user { name } } }'))).toEqual(COMPILED);
    expect(await executionsDuring(often('{ __schema { description } }'))).toEqual({
      interpreted: 5,
      new: 2,
      introspection: 3,
    });
    const wrong = '{ viewer { organization { sessions(first: 0) { nodes { id } } } } }';
    expect(await executionsDuring(often(wrong))).toEqual(GAVE_UP);
    const create = 'createSession(input: $input) { __typename }';
    const input = { title: 'Counted' };
    const creating = (fields: string) => often(`mutation($input: CreateSessionInput!) { ${fields} }`, { input });
    expect(await executionsDuring(creating(create))).toEqual(COMPILED);
    expect(await executionsDuring(creating(`a: ${create} b: ${create}`))).toEqual({
      interpreted: 5,
      new: 2,
      mutation: 3,
    });
  });

  test('@skip and @include are answered correctly for more combinations of variables than are compiled', async () => {
    const email = expect.any(String);
    const names = ['a', 'b', 'c', 'd', 'e'];
    const query = `query(${names.map((name) => `$${name}: Boolean!`).join(', ')}) {
      ${names.map((name, index) => `f${index}: __typename @include(if: $${name})`).join(' ')}
      viewer @skip(if: $a) { ... @include(if: $b) { role } ...V @skip(if: $c) __typename }
    } fragment V on Viewer { user { id email @include(if: $d) } }`;
    for (let run = 0; run < 3; run += 1) {
      for (let bits = 0; bits < 32; bits += 1) {
        const on = Object.fromEntries(names.map((name, index) => [name, (bits & (1 << index)) !== 0]));
        const { data } = await gateway.graphql<Record<string, unknown>>(key, query, on);
        const user = { id: expect.any(String), ...(on['d'] && { email }) };
        const viewer = { ...(on['b'] && { role: 'ADMIN' }), ...(!on['c'] && { user }), __typename: 'Viewer' };
        expect(data).toEqual({
          ...Object.fromEntries(names.flatMap((name, index) => (on[name] ? [[`f${index}`, 'Query']] : []))),
          ...(!on['a'] && { viewer }),
        });
      }
    }
  });
});

describe('a mutation that is sent again', () => {
  const CREATE = `mutation($input: CreateSessionInput!, $first: Int) {
    one: createSession(input: $input) { ...P } two: createSession(input: $input) { ...P }
  } fragment P on CreateSessionPayload { session { title events(first: $first) { totalCount } } }`;
  const titled = async (title: string) => {
    const { data } = await gateway.graphql<{ viewer: { organization: { sessions: { totalCount: number } } } }>(
      key,
      'query($title: String!) { viewer { organization { sessions(filter: { title: $title }) { totalCount } } } }',
      { title },
    );
    return data?.viewer.organization.sessions.totalCount;
  };

  test('runs its fields once each time', async () => {
    const variables = { input: { title: 'Runs well' }, first: 1 };
    const answers: string[] = [];
    for (let run = 0; run < RUNS; run += 1) answers.push(await ask(CREATE, variables));
    expect(answers).toEqual(answers.map(() => answers[0]));
    expect(await titled('Runs well')).toBe(2 * RUNS);
  });

  test('runs its fields once each time, also if a field of the payload fails, with the same error each time', async () => {
    const variables = { input: { title: 'Answered badly' }, first: 0 };
    const answers: string[] = [];
    for (let run = 0; run < RUNS; run += 1) answers.push(await ask(CREATE, variables));
    expect(answers).toEqual(answers.map(() => answers[0]));
    expect(answers[0]).toContain('first: must be from 1 to 1000');
    expect(await titled('Answered badly')).toBe(2 * RUNS);
  });
});
