import { beforeAll, describe, expect, test } from 'vitest';
import { useTestGateway } from '../../support/fixtures/gateway.ts';
import { type GraphQLBody, JSON_TYPE, postGraphQL, errorsOf } from '../../support/fixtures/graphql-requests.ts';
import { send } from '../../support/fixtures/second-gateway.ts';

const gateway = useTestGateway();
let key: string;
beforeAll(async () => {
  ({ key } = await gateway.createKey());
});

const ask = (request: Record<string, unknown>, headers?: Record<string, string>) =>
  postGraphQL({ gateway, key }, request, headers);

describe('GraphQL over HTTP', () => {
  const RESPONSE = { Accept: 'application/graphql-response+json' };

  test('an invalid document gets 400 as graphql-response+json and 200 as json; a valid one gets 200', async () => {
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

  test('a client that accepts none of the media types gets 406 with a list of them, before anything runs', async () => {
    const query = 'mutation { createOrganization(input: {name: "Refused"}) { __typename } }';
    const count = () => gateway.dependencies.sql.query('select count(*) from organization', []);
    const before = await count();
    const message =
      'Answers can be application/json, application/graphql-response+json, text/event-stream; accept one of them.';
    expect(await ask({ query }, { Accept: 'text/html, application/json;q=0' })).toMatchObject({
      status: 406,
      body: {
        errors: [{ message, extensions: { code: 'NOT_ACCEPTABLE' } }],
        extensions: { requestId: expect.any(String) },
      },
    });
    expect(await count()).toEqual(before);
    const subscription = 'subscription { sessionEvents(sessionId: "x") { __typename } }';
    const refused = await ask({ query: subscription }, { Accept: 'application/json' });
    expect([refused.status, errorsOf(refused)?.[0]?.message]).toEqual([
      406,
      'Subscriptions are answered as text/event-stream; send the header Accept: text/event-stream.',
    ]);
  });

  test('a query can be answered as server-sent events', async () => {
    const { status, text, headers } = await send(gateway, 'POST', '/graphql', {
      key,
      headers: { ...JSON_TYPE, Accept: 'text/event-stream' },
      body: '{"query":"{__typename}"}',
    });
    expect([status, headers.get('content-type')]).toEqual([200, 'text/event-stream']);
    expect(text).toMatch(
      /^:\n\nevent: next\ndata: \{"data":\{"__typename":"Query"\},.*\}\n\nevent: complete\nid: end\ndata:\n\n$/,
    );
  });

  test('operationName selects one of several operations; an unknown name gets 400, or in application/json 200', async () => {
    const query = 'query A { a: __typename } query B { b: __typename }';
    expect((await ask({ query, operationName: 'B' })).body.data).toEqual({ b: 'Query' });
    for (const operationName of [undefined, 'C', '__proto__', 1, {}])
      expect((await ask({ query, operationName }, RESPONSE)).status).toBe(400);
    const { status, body } = await ask({ query, operationName: 'C' });
    expect([status, body.errors?.[0]?.extensions]).toEqual([200, { code: 'OPERATION_RESOLUTION_FAILURE' }]);
  });

  test('an error about the operation names what was asked for and what the document has, over POST and GET', async () => {
    const cases: [query: string, operationName: string | undefined, message: string][] = [
      [
        'query A { a: __typename } query B { b: __typename }',
        undefined,
        'The document has 2 operations; name one of them in operationName: "A", "B".',
      ],
      [
        'query A { a: __typename } mutation B { __typename }',
        'C',
        'operationName: the document has no operation named "C"; it has "A", "B".',
      ],
      ['{ __typename }', 'C', 'operationName: the document has no operation named "C"; it has none with a name.'],
      ['fragment F on Query { __typename }', undefined, 'The document has no operation, only fragments.'],
    ];
    for (const [query, operationName, message] of cases) {
      const posted = await ask({ query, operationName }, RESPONSE);
      const search = new URLSearchParams({ query, ...(operationName !== undefined && { operationName }) });
      const got = await send(gateway, 'GET', `/graphql?${search}`, { key });
      for (const { body } of [posted, got]) expect([query, body]).toMatchObject([query, { errors: [{ message }] }]);
    }
    const many = Array.from({ length: 12 }, (_, index) => `query Q${index} { __typename }`).join(' ');
    const { body } = await ask({ query: many, operationName: 'x'.repeat(5000) }, RESPONSE);
    expect(body.errors?.[0]?.message).toMatch(/^.{140,180} it has "Q0", .*"Q9" and 2 more\.$/);
  });

  test('an empty operationName is none, over POST and GET', async () => {
    expect((await ask({ query: '{ __typename }', operationName: '' })).body.data).toEqual({ __typename: 'Query' });
    const search = new URLSearchParams({ query: '{ __typename }', operationName: '', variables: '', extensions: '' });
    expect((await send(gateway, 'GET', `/graphql?${search}`, { key })).body).toMatchObject({
      data: { __typename: 'Query' },
    });
  });

  test('`id` and `doc_id` beside a query are ignored, and alone they are a documentId; others are ignored', async () => {
    const query = '{ __typename }';
    for (const beside of [{ id: 'Q' }, { doc_id: 'Q' }, { id: 'Q', doc_id: 'R' }, { id: null }, { documentId: null }])
      expect((await ask({ query, ...beside })).body.data).toEqual({ __typename: 'Query' });
    for (const alone of [
      { id: 'unknown' },
      { doc_id: 'unknown' },
      { id: 'unknown', query: '' },
      { doc_id: 'unknown', id: null, query: null },
    ])
      expect((await ask(alone)).body.errors?.[0]?.extensions?.['code']).toBe('PERSISTED_DOCUMENT_NOT_FOUND');
    expect((await ask({ query, bogus: 1 })).body.data).toEqual({ __typename: 'Query' });
  });

  test('without an Accept header the answer is application/graphql-response+json; who accepts everything gets JSON', async () => {
    const typeFor = async (headers: Record<string, string>) =>
      (await send(gateway, 'GET', '/graphql?query={__typename}', { key, headers })).headers
        .get('content-type')
        ?.split(';')[0];
    expect([await typeFor({}), await typeFor({ Accept: '*/*' })]).toEqual([RESPONSE.Accept, 'application/json']);
  });

  test('introspection has only locations of the published specification, which strict clients check', async () => {
    const { body } = await ask({ query: '{ __schema { directives { name locations } } }' });
    expect((body.data as { __schema: { directives: object[] } }).__schema.directives).toContainEqual({
      name: 'deprecated',
      locations: ['FIELD_DEFINITION', 'ARGUMENT_DEFINITION', 'INPUT_FIELD_DEFINITION', 'ENUM_VALUE'],
    });
  });

  test('no cache may store an answer, whose form and caller are in `Vary`; /graphql/ is the same address', async () => {
    for (const path of ['/graphql?query={__typename}', '/graphql/?query={__typename}', '/v1/users/me']) {
      const { status, headers } = await send(gateway, 'GET', path, { key, headers: { Accept: 'application/json' } });
      expect([status, headers.get('cache-control'), headers.get('vary')]).toEqual([
        200,
        'private, no-store',
        'Accept, Authorization, Cookie, X-Organization-Id',
      ]);
    }
  });

  test('G6: a mutation over GET gets 405 and changes nothing; forms, plain text and multipart get 415', async () => {
    const query = 'mutation { createOrganization(input: {name: "By GET"}) { __typename } }';
    const count = () => gateway.dependencies.sql.query('select count(*) from organization', []);
    const before = await count();
    const answer = await send(gateway, 'GET', `/graphql?${new URLSearchParams({ query })}`, { key });
    expect({ status: answer.status, allow: answer.headers.get('allow') }).toEqual({ status: 405, allow: 'POST' });
    expect(answer.text).toContain('METHOD_NOT_ALLOWED');
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

  test('400: parameters of a wrong type are refused by name, in a POST and in a GET', async () => {
    for (const request of [
      { query: 1 },
      { query: ['{__typename}'] },
      { query: { a: 1 } },
      { query: '{__typename}', variables: [] },
      { query: '{__typename}', variables: 'x' },
      { query: '{__typename}', extensions: 1 },
      { query: '{__typename}', onError: 1 },
    ]) {
      expect([request, (await ask(request)).status]).toEqual([request, 400]);
    }
    for (const [search, message] of [
      ['query={__typename}&variables=x', 'variables: is not well-formed JSON'],
      ['query={__typename}&query={a}', 'query: must be given only once'],
    ] as const) {
      const { status, body } = await send(gateway, 'GET', `/graphql?${search}`, { key });
      expect([status, errorsOf({ body: body as GraphQLBody })?.[0]?.message]).toEqual([400, message]);
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

  test('a request without a document gets 400 in every media type, over POST and GET', async () => {
    for (const accept of ['application/json', 'application/graphql-response+json', '*/*'])
      for (const request of [{}, { query: null }, { operationName: 'A', variables: {} }]) {
        const answer = await ask(request, { Accept: accept });
        expect([answer.status, answer.body.errors]).toMatchObject([
          400,
          [{ message: 'query: is required', extensions: { code: 'INVALID_INPUT' } }],
        ]);
      }
    expect((await send(gateway, 'GET', '/graphql', { key })).status).toBe(400);
  });

  test('variables of a wrong type are refused before any resolver runs', async () => {
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
    // Numbers are valid ids, and unknown variables are ignored.
    expect((await ask({ query, variables: { id: 1, bogus: { a: 1 }, __proto__: 1 } })).body.errors).toBeUndefined();
  });
});
