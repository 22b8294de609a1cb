import { beforeAll, expect, test } from 'vitest';
import { useOwnGateway } from '../../support/fixtures/gateway.ts';

const gateway = useOwnGateway({ MONTHLY_OCCURRENCE_LIMIT: '1' });
let key: string;
beforeAll(async () => {
  ({ key } = await gateway.createKey());
});

const RESPONSE = 'application/graphql-response+json';

async function ask(query: string, variables: object, headers: Record<string, string> = {}) {
  const response = await gateway.fetch('/graphql', {
    method: 'POST',
    headers: {
      Authorization: `Bearer ${key}`,
      'Content-Type': 'application/json',
      Accept: 'application/json',
      ...headers,
    },
    body: JSON.stringify({ query, variables }),
  });
  const body = (await response.json()) as {
    data?: object | null;
    errors?: { message: string; path?: string[]; extensions?: { code?: string } }[];
  };
  const errors = body.errors?.map(({ message, path, extensions }) => ({ message, path, code: extensions?.code }));
  return { status: response.status, retryAfter: response.headers.get('retry-after'), data: body.data, errors };
}

const CREATE = 'mutation($input: CreateSessionInput!) { createSession(input: $input) { __typename } }';
const READ = 'query($id: ID!) { session(id: $id) { id } }';
const OF = 'Variable "$input" has invalid value';

test.for([
  [CREATE, {}, [`${OF}: Expected a value of non-null type "CreateSessionInput!" to be provided.`]],
  [CREATE, { input: { title: 3 } }, [`${OF} at .title: String cannot represent a non string value.`]],
  [
    CREATE,
    { input: { title: 'x', project: { id: 'x', name: 'y' }, mode: 'FAST' } },
    [`${OF} at .mode: The value does not exist in "SessionMode" enum.`, `${OF} at .project.id: UUID must be a UUID`],
  ],
  [READ, { id: {} }, ['Variable "$id" has invalid value: ID cannot represent value.']],
] as const)(
  'the error for an invalid variable contains its path and has a code: %s %j',
  async ([query, variables, messages]) => {
    const errors = messages.map((message) => ({ message, code: 'INVALID_INPUT' }));
    // From the second time on, the document is known, and later compiled.
    for (let time = 1; time <= 4; time += 1) {
      const answer = await ask(query, variables);
      expect(answer).toMatchObject({ status: 200, data: undefined });
      expect(answer.errors).toHaveLength(errors.length);
      expect(answer.errors).toEqual(expect.arrayContaining(errors.map((error) => expect.objectContaining(error))));
    }
    expect(await ask(query, variables, { Accept: RESPONSE })).toMatchObject({ status: 400, data: undefined });
    expect(await ask(query, variables, { 'Idempotency-Key': JSON.stringify(variables) })).toMatchObject({
      errors: answersWith('INVALID_INPUT', messages.length),
    });
  },
);

const answersWith = (code: string, count: number) => Array.from({ length: count }, () => ({ code }));

test('the error for a required argument that a variable sets to null has a code and the path of the field', async () => {
  expect(await ask('query($id: ID = "x") { session(id: $id) { id } }', { id: null })).toMatchObject({
    status: 200,
    data: { session: null },
    errors: [
      {
        message:
          'Argument "Query.session(id:)" has invalid value: Expected variable "$id" provided to non-null type "ID!" not to be null.',
        path: ['session'],
        code: 'INVALID_INPUT',
      },
    ],
  });
});

test('over the monthly limit of occurrences, GraphQL answers 429 with the Retry-After and the message of REST', async () => {
  await ask(
    'mutation { createEventDefinition(input: { label: "Paid", primaryObject: NO_OBJECT }) { __typename } }',
    {},
  );
  const send =
    'mutation { sendEventOccurrences(input: { inputs: [{ eventName: "paid", properties: {} }] }) { __typename } }';
  gateway.setClock(new Date('2026-03-30T12:00:00Z'));
  expect(await ask(send, {})).toMatchObject({ status: 200, errors: undefined });
  const rest = await gateway.rest<{ message: string }>('POST', '/events/2026-03/send', {
    key,
    body: { eventName: 'paid', properties: {} },
  });
  expect([rest.status, rest.headers.get('retry-after')]).toEqual([429, String(36 * 3600)]);
  for (const Accept of ['application/json', RESPONSE]) {
    expect(await ask(send, {}, { Accept })).toMatchObject({
      status: 429,
      retryAfter: rest.headers.get('retry-after'),
      errors: [{ message: rest.body.message, code: 'RATE_LIMITED' }],
    });
  }
  gateway.setClock(undefined);
});
