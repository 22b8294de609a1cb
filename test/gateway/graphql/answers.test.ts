import { randomUUID } from 'node:crypto';
import { beforeAll, expect, test } from 'vitest';
import { useTestGateway } from '../../support/fixtures/gateway.ts';
import { postGraphQL } from '../../support/fixtures/graphql-requests.ts';

const gateway = useTestGateway();
let key: string;
beforeAll(async () => {
  ({ key } = await gateway.createKey());
});

const ask = (request: Record<string, unknown>, headers?: Record<string, string>) =>
  postGraphQL({ gateway, key }, request, headers);

test('a violated rule is a ValidationError in the result of the mutation, with the message of REST, its code, its path and every fault', async () => {
  const input = { name: '', slug: 'No Slug' };
  const rest = await gateway.rest<{ error: string }>('POST', '/v1/organizations', { key, body: input });
  const query =
    'mutation($input: CreateOrganizationInput!) { createOrganization(input: $input) { __typename ... on ValidationError { message code path faults { path code message } } } }';
  expect((await ask({ query, variables: { input } })).body.data).toEqual({
    createOrganization: {
      __typename: 'ValidationError',
      message: rest.body.error,
      code: 'INVALID_INPUT',
      path: ['name'],
      faults: [
        { path: ['name'], code: 'TOO_SHORT', message: 'must not be empty' },
        {
          path: ['slug'],
          code: 'BAD_FORMAT',
          message: 'must be lowercase letters and digits in groups separated by single hyphens',
        },
      ],
    },
  });
});

test('an error has the path of its field in the answer, its location in the document, and the path of the input that caused it', async () => {
  const query = '{ viewer { organization { a: sessions { totalCount } b: sessions(first: 0) { totalCount } } } }';
  const { body } = await ask({ query });
  expect(body.errors).toEqual([
    {
      message: 'first: must be from 1 to 100',
      path: ['viewer', 'organization', 'b'],
      locations: [{ line: 1, column: 54 }],
      extensions: { code: 'INVALID_INPUT', path: ['first'] },
    },
  ]);
  const literal = await ask({ query: '{ eventDefinition(name: "a") { occurrencesPerDay(from: 1) { day } } }' });
  expect(literal.body.errors).toEqual([
    expect.objectContaining({
      message: expect.stringContaining('Date must be'),
      locations: [{ line: 1, column: 56 }],
    }),
  ]);
});

test('an operation that is sent again gets the same answer as the first time, including errors', async () => {
  const failed = (...messages: string[]) => ({ data: undefined, errors: messages });
  const cases: [string, Record<string, unknown>, { data: unknown; errors: string[] | undefined }][] = [
    [
      'query($ids: [ID!]!) { nodes(ids: $ids) { id } }',
      { ids: [null] },
      failed('Variable "$ids" has invalid value at [0]: Expected value of non-null type "ID!" not to be null.'),
    ],
    [
      'mutation($input: CreateMcpServerInput!) { createMcpServer(input: $input) { __typename } }',
      { input: { stdio: { name: 'a', command: 'a' }, remote: { name: 'a', serverUrl: 'https://a.example' } } },
      failed(
        'Variable "$input" has invalid value: Within OneOf Input Object type "CreateMcpServerInput", exactly one field must be specified, and the value for that field must be non-null.',
      ),
    ],
    [
      'mutation($input: RenameApiKeyInput!) { renameApiKey(input: $input) { __typename } }',
      { input: { name: 1 } },
      failed(
        'Variable "$input" has invalid value: Expected value of type "RenameApiKeyInput" to include required field "apiKeyId".',
        'Variable "$input" has invalid value at .name: String cannot represent a non string value.',
      ),
    ],
    [
      'mutation($input: RenameApiKeyInput!) { renameApiKey(input: $input) { __typename ... on NotFoundError { message } } }',
      { input: { apiKeyId: randomUUID(), name: 'Another' } },
      { data: { renameApiKey: { __typename: 'NotFoundError', message: 'API key not found' } }, errors: undefined },
    ],
    [
      'mutation($name: String!) { createOrganization(input: {name: $name, logoUrl: "no"}) { __typename } }',
      { name: 'A' },
      failed('Expected value of type "CreateOrganizationInput" not to include unknown field "logoUrl".'),
    ],
  ];
  for (const [query, variables, expected] of cases) {
    const answers: unknown[] = [];
    for (let run = 0; run < 5; run += 1) {
      const { status, body } = await ask({ query, variables });
      answers.push({ status, data: body.data, errors: body.errors?.map(({ message }) => message) });
    }
    expect(answers).toEqual(Array.from({ length: 5 }, () => ({ status: 200, ...expected })));
  }
});
