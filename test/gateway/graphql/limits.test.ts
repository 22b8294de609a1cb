import { getIntrospectionQuery } from 'graphql';
import { beforeAll, describe, expect, test } from 'vitest';
import { useTestGateway } from '../../support/fixtures/gateway.ts';
import { repeat } from '../../support/fixtures/graphql-limits.ts';
import { type GraphQLBody, JSON_TYPE, postGraphQL, errorsOf } from '../../support/fixtures/graphql-requests.ts';
import { send } from '../../support/fixtures/second-gateway.ts';

const gateway = useTestGateway();
let key: string;
beforeAll(async () => {
  ({ key } = await gateway.createKey());
});

const ask = (request: Record<string, unknown>, headers?: Record<string, string>) =>
  postGraphQL({ gateway, key }, request, headers);
const nested = (levels: number) => `${'a{'.repeat(levels)}b${'}'.repeat(levels)}`;

async function askByGet(query: string, headers: Record<string, string> = {}) {
  const { status, body } = await send(gateway, 'GET', `/graphql?${new URLSearchParams({ query })}`, { key, headers });
  return { status, body: body as GraphQLBody };
}

describe('G3, G8: the published limits are the same over POST, GET and SSE, and a refusal costs no SQL statement', () => {
  const page = 'organizations(first: 100) { nodes { members(first: 100) { nodes { user { id } } } } }';
  const cases: [string, string, object][] = [
    [
      'tokens',
      `{${'a '.repeat(4000)}}`,
      {
        message:
          'The query has more than 4000 tokens; at most 4000 are allowed. Select fewer fields, pass values as variables, or split the query.',
        code: 'TOO_MANY_TOKENS',
        limit: 4000,
      },
    ],
    [
      'depth',
      `{${nested(15)}}`,
      {
        message:
          'The query is 16 levels deep; at most 15 are allowed. Query the deeper objects by their ids in another request.',
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
          'The query has 101 aliases and repeated fields with expanded fragments; at most 100 are allowed. Query a list, select each field once, or split the query.',
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
          'The query has 101 aliases and repeated fields with expanded fragments; at most 100 are allowed. Query a list, select each field once, or split the query.',
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
          'The query has 51 directives with expanded fragments; at most 50 are allowed. Put one on an inline fragment around several fields, or split the query.',
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
          'The query costs 20222; at most 20000 are allowed. Its most expensive path is viewer.organizations.nodes.members.nodes.user: ask for smaller pages or fewer fields there, or split the query.',
        code: 'TOO_COSTLY',
        limit: 20_000,
        // 1 + 1 + 100 * (1 + 1 + 100 * 2), and two statements
        actual: 20_222,
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
      expect({ status: answer.status, errors: errorsOf(answer), data: answer.body.data }).toEqual({
        status: 400,
        errors: [expected],
        data: undefined,
      });
    const sse = await send(gateway, 'POST', '/graphql', {
      key,
      headers: { ...JSON_TYPE, Accept: 'text/event-stream' },
      body: JSON.stringify({ query }),
    });
    expect(sse.text).toContain(JSON.stringify(Reflect.get(expected, 'message')));
    // Only the caller's key is looked up.
    expect(gateway.statements.filter((statement) => !statement.includes('api_key'))).toEqual([]);
  });

  test('a query text of 64 KiB is accepted, and one byte more is refused before it is parsed, also over GET', async () => {
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
      expect([answer.status, errorsOf(answer)]).toEqual([400, expected]);
  });

  test('400: an array of requests is refused, because a request can have only one operation', async () => {
    for (const count of [0, 1, 100]) {
      const { status, body } = await send(gateway, 'POST', '/graphql', {
        key,
        headers: JSON_TYPE,
        body: JSON.stringify(Array.from({ length: count }, () => ({ query: '{__typename}' }))),
      });
      expect([status, errorsOf({ body: body as GraphQLBody })]).toEqual([
        400,
        [
          {
            message:
              'The body must be one request, and no array of any length: send a separate request for each operation.',
            code: 'TOO_MANY_OPERATIONS',
            limit: 1,
            actual: count,
          },
        ],
      ]);
    }
  });

  test('queries exactly at each limit are accepted', async () => {
    for (const query of [
      `{${repeat(100, (i) => `a${i}:__typename`)}}`,
      `{${repeat(101, () => 'viewer{role}')}}`,
      `{ viewer { ${page.replace('members(first: 100)', 'members(first: 98)')} } }`,
    ]) {
      expect(await ask({ query })).toMatchObject({ status: 200, body: { data: expect.anything() } });
    }
  });

  test('every answer has its cost and its request id in its extensions', async () => {
    const answer = await ask({ query: '{ viewer { user { id } } }' }, { 'X-Request-Id': 'r1' });
    // Two objects and a statement.
    expect(answer.body.extensions).toEqual({ requestId: 'r1', cost: { requested: 12, limit: 20_000 } });
    for (const request of [{ query: '{' }, { query: '{ nothing }' }, { query: 1 }, {}])
      expect((await ask(request, { 'X-Request-Id': 'r1' })).body.extensions).toEqual({ requestId: 'r1' });
  });

  test('the standard introspection query works only with a key', async () => {
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

  test('the answer to an invalid document has its first 20 errors, and one that says that there are more', async () => {
    const { errors } = (await ask({ query: `{${repeat(1000, (i) => `u${i}`)}}` })).body;
    expect(errors?.map(({ message }) => message)).toEqual([
      ...Array.from({ length: 20 }, (_, i) => `Cannot query field "u${i}" on type "Query".`),
      expect.stringContaining('Too many validation errors'),
    ]);
  });
});

test('as many repeated fields as the token limit allows are accepted, but too many comparisons of fields are refused with the limit', async () => {
  const fields = await gateway.graphql(key, `{${'__typename '.repeat(3990)}}`);
  expect(fields.data).toEqual({ __typename: 'Query' });
  const parts = Array.from({ length: 900 }, () => '... { __typename } ').join('');
  const { errors } = await gateway.graphql(key, `{ ${parts} }`);
  expect(errors).toMatchObject([{ extensions: { code: 'TOO_MANY_COMPARISONS', limit: 500_000 } }]);
});
