import { randomUUID } from 'node:crypto';
import {
  getIntrospectionQuery,
  isEnumType,
  isInputObjectType,
  isInterfaceType,
  isObjectType,
  isSpecifiedDirective,
  isSpecifiedScalarType,
} from 'graphql';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { openApiDocument } from '../../../src/gateway/openapi.ts';
import { routes } from '../../../src/gateway/routes.ts';
import { schema } from '../../../src/gateway/schema.ts';
import { type TestGateway, startTestGateway } from '../../support/fixtures/gateway.ts';
import { repeat } from '../../support/fixtures/graphql-limits.ts';
import { send } from '../../support/fixtures/second-gateway.ts';

let gateway: TestGateway;
let key: string;
beforeAll(async () => {
  gateway = await startTestGateway();
  ({ key } = await gateway.createKey());
});
afterAll(() => gateway.close());

const JSON_TYPE = { 'Content-Type': 'application/json' };
type Body = {
  data?: unknown;
  errors?: { message: string; extensions?: Record<string, unknown> }[];
  extensions?: Record<string, unknown>;
};

async function ask(request: Record<string, unknown>, headers: Record<string, string> = {}) {
  const { status, body } = await send(gateway, 'POST', '/graphql', {
    key,
    headers: { ...JSON_TYPE, ...headers },
    body: JSON.stringify(request),
  });
  return { status, body: body as Body };
}
async function askByGet(query: string, headers: Record<string, string> = {}) {
  const { status, body } = await send(gateway, 'GET', `/graphql?${new URLSearchParams({ query })}`, { key, headers });
  return { status, body: body as Body };
}
const told = ({ body }: { body: Body }) => body.errors?.map(({ message, extensions }) => ({ message, ...extensions }));
const nested = (levels: number) => `${'a{'.repeat(levels)}b${'}'.repeat(levels)}`;

describe('G3, G8: published limits, the same over POST, GET and SSE, and none costs a statement', () => {
  const page = 'organizations(first: 100) { nodes { members(first: 100) { nodes { user { id } } } } }';
  const cases: [string, string, object][] = [
    [
      'tokens',
      `{${'a '.repeat(4000)}}`,
      {
        message:
          'The query has more than the 4000 tokens that are allowed. Select fewer fields, pass values as variables, or split the query.',
        code: 'TOO_MANY_TOKENS',
        limit: 4000,
      },
    ],
    [
      'depth',
      `{${nested(15)}}`,
      {
        message:
          'The query is 16 levels deep; at most 15 are allowed. Ask for the deeper objects by their ids in another query.',
        code: 'TOO_DEEP',
        limit: 15,
        actual: 16,
      },
    ],
    [
      'aliases',
      `{${repeat(101, (i) => `a${i}:__typename`)}}`,
      {
        message:
          'The query has 101 aliases and repeated fields, fragments expanded; at most 100 are allowed. Ask for a list, select each field once, or split the query.',
        code: 'TOO_MANY_ALIASES',
        limit: 100,
        actual: 101,
      },
    ],
    [
      'repeated fields',
      `{${repeat(102, () => 'viewer{role}')}}`,
      {
        message:
          'The query has 101 aliases and repeated fields, fragments expanded; at most 100 are allowed. Ask for a list, select each field once, or split the query.',
        code: 'TOO_MANY_ALIASES',
        limit: 100,
        actual: 101,
      },
    ],
    [
      'directives',
      `{__typename ${'@skip(if:false) '.repeat(51)}}`,
      {
        message:
          'The query has 51 directives, fragments expanded; at most 50 are allowed. Put one on an inline fragment around several fields, or split the query.',
        code: 'TOO_MANY_DIRECTIVES',
        limit: 50,
        actual: 51,
      },
    ],
    [
      'cost',
      `{ viewer { ${page} } }`,
      {
        message:
          'The query costs 20202; at most 20000 are allowed. viewer.organizations.nodes.members costs most, 20100 of it: a page of at most 98 there, instead of 100, would pass.',
        code: 'TOO_COSTLY',
        limit: 20_000,
        actual: 20_202,
      },
    ],
  ];

  test.each(cases)('%s', async (_, query, expected) => {
    gateway.statements.length = 0;
    const asked = [
      await ask({ query }),
      await ask({ query }, { Accept: 'application/json' }),
      await askByGet(query),
      await askByGet(query, { Accept: 'application/graphql-response+json' }),
    ];
    for (const answer of asked)
      expect({ status: answer.status, told: told(answer), data: answer.body.data }).toEqual({
        status: 400,
        told: [expected],
        data: undefined,
      });
    const sse = await send(gateway, 'POST', '/graphql', {
      key,
      headers: { ...JSON_TYPE, Accept: 'text/event-stream' },
      body: JSON.stringify({ query }),
    });
    expect(sse.text).toContain(JSON.stringify(Reflect.get(expected, 'message')));
    // The caller's key is all that was looked up.
    expect(gateway.statements.filter((statement) => !statement.includes('api_key'))).toEqual([]);
  });

  test('query text of 64 KiB passes, a byte more is refused before it is read; over GET too', async () => {
    const text = (bytes: number) => `{__typename #${'x'.repeat(bytes - 15)}\n}`;
    expect((await ask({ query: text(65_536) })).body.data).toEqual({ __typename: 'Query' });
    const expected = [
      {
        message:
          'The query text has 65537 bytes; at most 65536 (64 KiB) are allowed. Pass values as variables, or split the query.',
        code: 'QUERY_TOO_LARGE',
        limit: 65_536,
        actual: 65_537,
      },
    ];
    for (const answer of [await ask({ query: text(65_537) }), await askByGet(text(65_537))])
      expect([answer.status, told(answer)]).toEqual([400, expected]);
  });

  test('one operation a request: an array is 400 and says so', async () => {
    for (const count of [0, 1, 100]) {
      const { status, body } = await send(gateway, 'POST', '/graphql', {
        key,
        headers: JSON_TYPE,
        body: JSON.stringify(Array.from({ length: count }, () => ({ query: '{__typename}' }))),
      });
      expect([status, told({ body: body as Body })]).toEqual([
        400,
        [
          {
            message:
              'The body is an array of requests; at most 1 operation a request is allowed. Send each in a request of its own.',
            code: 'TOO_MANY_OPERATIONS',
            limit: 1,
            actual: count,
          },
        ],
      ]);
    }
  });

  test('just within each bound passes', async () => {
    for (const query of [
      `{${repeat(100, (i) => `a${i}:__typename`)}}`,
      `{${repeat(101, () => 'viewer{role}')}}`,
      `{ viewer { ${page.replace('members(first: 100)', 'members(first: 98)')} } }`,
    ]) {
      expect(await ask({ query })).toMatchObject({ status: 200, body: { data: expect.anything() } });
    }
  });

  test('the cost of every answer stands in its extensions, beside the request id', async () => {
    const answer = await ask({ query: '{ viewer { user { id } } }' }, { 'X-Request-Id': 'r1' });
    expect(answer.body.extensions).toEqual({ requestId: 'r1', cost: { requested: 2, limit: 20_000 } });
    for (const request of [{ query: '{' }, { query: '{ nothing }' }, { query: 1 }, {}])
      expect((await ask(request, { 'X-Request-Id': 'r1' })).body.extensions).toEqual({ requestId: 'r1' });
  });

  test('the standard introspection query works with a key, and not without', async () => {
    const query = getIntrospectionQuery({
      inputValueDeprecation: true,
      schemaDescription: true,
      oneOf: true,
      specifiedByUrl: true,
    });
    const answer = await ask({ query });
    expect([answer.status, answer.body.errors, answer.body.data]).toEqual([
      200,
      undefined,
      expect.objectContaining({ __schema: expect.anything() }),
    ]);
    expect(
      (await send(gateway, 'POST', '/graphql', { headers: JSON_TYPE, body: JSON.stringify({ query }) })).status,
    ).toBe(401);
  });

  test('a wrong document is told of at most 20 errors', async () => {
    expect((await ask({ query: `{${repeat(1000, (i) => `u${i}`)}}` })).body.errors?.length).toBeLessThanOrEqual(21);
  });
});

describe('GraphQL over HTTP', () => {
  const RESPONSE = { Accept: 'application/graphql-response+json' };

  test('a document that fails is 400 as graphql-response+json and 200 as json; one that runs is 200', async () => {
    for (const [query, status] of [
      ['{', 400],
      ['{ nothing }', 400],
      ['{ viewer }', 400],
      ['{ __typename }', 200],
      ['subscription { __typename }', 400],
    ] as const) {
      expect([
        query,
        (await ask({ query }, RESPONSE)).status,
        (await ask({ query }, { Accept: 'application/json' })).status,
      ]).toEqual([query, status, 200]);
    }
    const { headers } = await send(gateway, 'POST', '/graphql', {
      key,
      headers: { ...JSON_TYPE, ...RESPONSE },
      body: '{"query":"{__typename}"}',
    });
    expect(headers.get('content-type')).toBe('application/graphql-response+json; charset=utf-8');
  });

  test('one of several operations is picked by name; a name that fits none is 400', async () => {
    const query = 'query A { a: __typename } query B { b: __typename }';
    expect((await ask({ query, operationName: 'B' })).body.data).toEqual({ b: 'Query' });
    for (const operationName of [undefined, 'C', '__proto__', 1, {}])
      expect((await ask({ query, operationName }, RESPONSE)).status).toBe(400);
  });

  test('G6: a mutation over GET is 405 and changes nothing; forms, plain text and multipart are 415', async () => {
    const query = 'mutation { createOrganization(input: {name: "By GET"}) { __typename } }';
    const count = () => gateway.dependencies.sql.query('select count(*) from organization', []);
    const before = await count();
    const answer = await send(gateway, 'GET', `/graphql?${new URLSearchParams({ query })}`, { key });
    expect({ status: answer.status, allow: answer.headers.get('allow') }).toEqual({ status: 405, allow: 'POST' });
    const form = new FormData();
    form.set('operations', JSON.stringify({ query }));
    form.set('query', query);
    for (const body of [
      new URLSearchParams({ query }),
      form,
      JSON.stringify({ query }),
      new Blob([JSON.stringify({ query })]),
    ]) {
      expect((await send(gateway, 'POST', '/graphql', { key, body })).status).toBe(415);
    }
    expect(
      (
        await send(gateway, 'POST', '/graphql', {
          key,
          body: query,
          headers: { 'Content-Type': 'application/graphql' },
        })
      ).status,
    ).toBe(415);
    expect(await count()).toEqual(before);
  });

  test('parameters of another type are 400 and name it; those of a GET are read as strictly', async () => {
    for (const request of [
      { query: 1 },
      { query: ['{__typename}'] },
      { query: { a: 1 } },
      { query: '{__typename}', variables: [] },
      { query: '{__typename}', variables: 'x' },
      { query: '{__typename}', extensions: 1 },
      { query: '{__typename}', bogus: 1 },
    ]) {
      expect([request, (await ask(request)).status]).toEqual([request, 400]);
    }
    for (const [search, message] of [
      ['query={__typename}&variables=x', 'variables: is not well-formed JSON'],
      ['query={__typename}&query={a}', 'query: must be given only once'],
    ] as const) {
      const { status, body } = await send(gateway, 'GET', `/graphql?${search}`, { key });
      expect([status, told({ body: body as Body })?.[0]?.message]).toEqual([400, message]);
    }
    expect(
      (
        await send(
          gateway,
          'GET',
          `/graphql?${new URLSearchParams({ query: 'query($id: ID!) { node(id: $id) { id } }', variables: '{"id":"x"}' })}`,
          { key },
        )
      ).body,
    ).toMatchObject({ data: { node: null } });
  });

  test('variables of another type are refused by the language, and reach no resolver', async () => {
    const query =
      'query($first: Int, $id: ID!) { viewer { organizations(first: $first) { nodes { id } } } node(id: $id) { id } }';
    gateway.statements.length = 0;
    for (const variables of [
      {},
      { id: null },
      { id: {} },
      { id: ['a'] },
      { id: true },
      { id: 'a', first: '1' },
      { id: 'a', first: 1.5 },
      { id: 'a', first: 2 ** 40 },
      { id: 'a', first: { $gt: 1 } },
    ]) {
      const answer = await ask({ query, variables });
      expect([variables, answer.body.data, answer.body.errors?.length]).toEqual([variables, undefined, 1]);
    }
    expect(gateway.statements.filter((statement) => !statement.includes('api_key'))).toEqual([]);
    // Numbers are ids, too, and what is not asked for does no harm.
    expect((await ask({ query, variables: { id: 1, bogus: { a: 1 }, __proto__: 1 } })).body.errors).toBeUndefined();
  });
});

describe('node and nodes', () => {
  const encode = (text: string) => Buffer.from(text).toString('base64');
  const NODES = 'query($ids: [ID!]!) { nodes(ids: $ids) { id __typename } }';

  test('A2: malformed, unknown, foreign and missing ids are null alike, and their neighbours are answered', async () => {
    const own = await gateway.createKey();
    const foreign = await gateway.createKey();
    const ids = {
      Organization: encode(`Organization:${own.organizationId}`),
      User: encode(`User:${own.userId}`),
      ApiKey: encode(`ApiKey:${own.keyId}`),
    };
    const bad = [
      '',
      ' ',
      'x',
      '=',
      '\0',
      '\ud800',
      own.organizationId,
      encode('Organization'),
      encode('Organization:'),
      encode(`Organization:${own.organizationId}'`),
      encode('Organization:\0'),
      encode(':x'),
      encode(`Nothing:${randomUUID()}`),
      encode(`__proto__:${randomUUID()}`),
      encode(`constructor:x`),
      encode(`toString:x`),
      encode(`Query:x`),
      encode(`Organization:${randomUUID()}`),
      encode(`ApiKey:${own.userId}`),
      encode(`Organization:${foreign.organizationId}`),
      encode(`User:${foreign.userId}`),
      encode(`ApiKey:${foreign.keyId}`),
      'A'.repeat(100_000),
    ];
    const mixed = bad.flatMap((id, index) => [id, Object.values(ids)[index % 3] ?? '']);
    const answer = await gateway.graphql<{ nodes: (null | { id: string })[] }>(own.key, NODES, { ids: mixed });
    expect(answer.errors).toBeUndefined();
    expect(answer.data?.nodes).toEqual(
      mixed.map(
        (id) =>
          Object.entries(ids).flatMap(([__typename, known]) => (known === id ? [{ id, __typename }] : []))[0] ?? null,
      ),
    );
    const single = await Promise.all(
      bad.map(async (id) =>
        JSON.stringify({
          ...(await gateway.graphql(own.key, 'query($id: ID!) { node(id: $id) { id } }', { id })),
          extensions: 0,
        }),
      ),
    );
    expect([...new Set(single)]).toEqual([JSON.stringify({ data: { node: null }, extensions: 0 })]);
  });

  test('a key without the scope of a type gets null for it', async () => {
    const admin = await gateway.createKey();
    const bare = await gateway.createKey({ organization: admin.organization, scopes: ['social'] });
    const ids = [encode(`ApiKey:${admin.keyId}`), encode(`User:${admin.userId}`)];
    expect((await gateway.graphql(bare.key, NODES, { ids })).data).toEqual({
      nodes: [null, { id: ids[1], __typename: 'User' }],
    });
  });

  test('100 ids pass, 101 are refused naming the bound', async () => {
    expect((await ask({ query: NODES, variables: { ids: Array(100).fill('x') } })).body.data).toEqual({
      nodes: Array(100).fill(null),
    });
    const answer = await ask({ query: NODES, variables: { ids: Array(101).fill('x') } });
    expect([answer.body.data, told(answer)]).toEqual([
      null,
      [{ message: 'ids: must have at most 100 items', code: 'INVALID_INPUT', path: ['ids'] }],
    ]);
  });
});

test('a broken rule is a member of the mutation’s union, with the message that REST gives, its code, path and every fault', async () => {
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
        { path: ['name'], code: 'too_small', message: 'must not be empty' },
        {
          path: ['slug'],
          code: 'invalid_format',
          message: 'must be lowercase letters and digits in groups joined by single hyphens',
        },
      ],
    },
  });
});

test('an error tells where in the answer and in the document its field is, beside the input that caused it', async () => {
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
      message: expect.stringContaining('DateTime must be'),
      locations: [{ line: 1, column: 56 }],
    }),
  ]);
});

test('an operation that comes again, and is compiled, answers as it did the first time, with its refusals', async () => {
  const cases: [string, Record<string, unknown>][] = [
    ['query($ids: [ID!]!) { nodes(ids: $ids) { id } }', { ids: [null] }],
    [
      'mutation($input: CreateMcpServerInput!) { createMcpServer(input: $input) { __typename } }',
      { input: { stdio: { name: 'a', command: 'a' }, remote: { name: 'a', serverUrl: 'https://a.example' } } },
    ],
    ['mutation($input: RenameApiKeyInput!) { renameApiKey(input: $input) { __typename } }', { input: { name: 1 } }],
    [
      'mutation($input: RenameApiKeyInput!) { renameApiKey(input: $input) { __typename ... on NotFoundError { message } } }',
      { input: { apiKeyId: randomUUID(), name: 'Another' } },
    ],
    [
      'mutation($name: String!) { createOrganization(input: {name: $name, logoUrl: "no"}) { __typename } }',
      { name: 'A' },
    ],
  ];
  for (const [query, variables] of cases) {
    const answers: unknown[] = [];
    for (let run = 0; run < 5; run += 1) {
      const { status, body } = await ask({ query, variables });
      answers.push({ status, data: body.data, errors: body.errors });
    }
    expect(answers).toEqual(Array(5).fill(answers[0]));
  }
});

describe('documentation', () => {
  test('every type, field, argument, input field, enum value and directive of the schema has a description', () => {
    const bare: string[] = [];
    const check = (name: string, { description }: { description?: string | null | undefined }) =>
      void (description?.trim() || bare.push(name));
    for (const type of Object.values(schema.getTypeMap())) {
      if (type.name.startsWith('__') || isSpecifiedScalarType(type)) continue;
      check(type.name, type);
      if (isEnumType(type)) for (const value of type.getValues()) check(`${type.name}.${value.name}`, value);
      if (!isObjectType(type) && !isInterfaceType(type) && !isInputObjectType(type)) continue;
      for (const field of Object.values(type.getFields())) {
        check(`${type.name}.${field.name}`, field);
        if ('args' in field) for (const arg of field.args) check(`${type.name}.${field.name}(${arg.name})`, arg);
      }
    }
    for (const directive of schema.getDirectives().filter((known) => !isSpecifiedDirective(known)))
      check(`@${directive.name}`, directive);
    expect(bare).toEqual([]);
  });

  test('every REST operation tells its summary and errors, and shows an example of its body', () => {
    const { paths } = openApiDocument(routes) as {
      paths: Record<
        string,
        Record<
          string,
          {
            summary?: string;
            responses: object;
            requestBody?: { required: boolean; content: Record<string, { example?: object }> };
          }
        >
      >;
    };
    for (const [path, operations] of Object.entries(paths)) {
      for (const [method, { summary, responses, requestBody }] of Object.entries(operations)) {
        const body = requestBody?.required ? [requestBody.content['application/json']?.example] : [{}];
        expect([method, path, summary, Object.keys(responses), body]).toEqual([
          method,
          path,
          expect.stringMatching(/^[A-Z].+\.$/),
          expect.arrayContaining(['401', '403', '429', '500', '503']),
          [expect.any(Object)],
        ]);
      }
    }
  });
});
