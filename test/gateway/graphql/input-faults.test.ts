import { beforeAll, expect, test } from 'vitest';
import { useTestGateway } from '../../support/fixtures/gateway.ts';
import { sampled } from '../../support/sample.ts';

const gateway = useTestGateway();
let key: string;
beforeAll(async () => {
  ({ key } = await gateway.createKey());
});

interface Refusal {
  readonly __typename: string;
  readonly message: string;
  readonly path: string[] | null;
  readonly faults?: { path: string[]; code: string; limit: number | null; message: string }[];
  readonly reason?: string;
}

async function refusal(mutation: string, input: unknown): Promise<Refusal> {
  const type = `${mutation.charAt(0).toUpperCase()}${mutation.slice(1)}Input`;
  const query = `mutation($input: ${type}!) { ${mutation}(input: $input) { __typename ... on Error { message path ... on ValidationError { faults { path code limit message } } ... on ConflictError { reason } } } }`;
  const { data } = await gateway.graphql<Record<string, Refusal>>(key, query, { input });
  const refused = data?.[mutation];
  if (!refused) throw new Error(`${mutation} was not answered`);
  return refused;
}

const REMOTE = { name: 'n', serverUrl: 'https://mcp.example.com', authType: 'STATIC_HEADERS' };
const header = (name: string, value = 'v') => ({ name, value });

sampled(test, 5).for<[string, unknown, [string, string, number | null][]]>([
  ['createMcpServer', { remote: { ...REMOTE, name: '', headers: [header('a')] } }, [['remote.name', 'TOO_SHORT', 1]]],
  [
    'createMcpServer',
    { remote: { ...REMOTE, headers: [header('a'), header('A')] } },
    [['remote.headers.1.name', 'DUPLICATE', null]],
  ],
  [
    'createMcpServer',
    { remote: { ...REMOTE, headers: [header('a'), header('a')] } },
    [['remote.headers.1.name', 'DUPLICATE', null]],
  ],
  [
    'createMcpServer',
    { remote: { ...REMOTE, headers: [header('a'), header('b', 'x'.repeat(16_385))] } },
    [['remote.headers.1.value', 'TOO_LONG', 16_384]],
  ],
  [
    'createMcpServer',
    { remote: { ...REMOTE, headers: [header('a'), header('x'.repeat(257))] } },
    [['remote.headers.1.name', 'TOO_LONG', 256]],
  ],
  ['createMcpServer', { remote: REMOTE }, [['remote.headers', 'REQUIRED', null]]],
  ['createMcpServer', { remote: { ...REMOTE, headers: [] } }, [['remote.headers', 'TOO_FEW', 1]]],
  [
    'createMcpServer',
    { stdio: { name: 'n', command: 'c', args: ['a', 'x'.repeat(8193)], env: [header('E', 'x'.repeat(16_385))] } },
    [
      ['stdio.args.1', 'TOO_LONG', 8192],
      ['stdio.env.0.value', 'TOO_LONG', 16_384],
    ],
  ],
  ['authorizeMcpServer', { mcpServerId: 'x' }, [['mcpServerId', 'BAD_FORMAT', null]]],
  [
    'updateMcpServer',
    { mcpServerId: 'x', env: [header(''), header('b')] },
    [
      ['mcpServerId', 'BAD_FORMAT', null],
      ['env.0.name', 'TOO_SHORT', 1],
    ],
  ],
  [
    'updateSession',
    { sessionId: 'x', level: 101 },
    [
      ['sessionId', 'BAD_FORMAT', null],
      ['level', 'TOO_LARGE', 100],
    ],
  ],
  [
    'createSession',
    { title: 't', richContent: { type: 'doc', content: [{ type: 'text' }, { type: 'heading', attrs: { level: 7 } }] } },
    [
      ['richContent.content.0.text', 'REQUIRED', null],
      ['richContent.content.1.attrs.level', 'TOO_LARGE', 6],
    ],
  ],
  [
    'createEventDefinition',
    {
      label: 'L',
      name: '1',
      propertyDefinitions: [
        { label: 'a', name: 'a', type: 'STRING', options: [{ label: 'x', value: 'x' }] },
        { label: 'b', name: 'a', type: 'ENUMERATION' },
      ],
    },
    [
      ['name', 'BAD_FORMAT', null],
      ['propertyDefinitions.0.options', 'CONFLICTING', null],
      ['propertyDefinitions.1.options', 'REQUIRED', null],
      ['propertyDefinitions.1.name', 'DUPLICATE', null],
    ],
  ],
])('case %#, %s: each fault has its path in the input, its code and its bound', async ([mutation, input, expected]) => {
  const { __typename, path, faults } = await refusal(mutation, input);
  expect(faults?.map((fault) => [fault.path.join('.'), fault.code, fault.limit])).toEqual(expected);
  expect({ __typename, path }).toEqual({ __typename: 'ValidationError', path: expected[0]?.[0].split('.') });
});

test('a conflict has a reason and a path, so that a client need not parse the message', async () => {
  const create = { stdio: { name: 'taken', command: 'c' } };
  await refusal('createMcpServer', create);
  expect(await refusal('createMcpServer', create)).toEqual({
    __typename: 'ConflictError',
    message: 'stdio.name: taken already exists as the name of another MCP connection; choose another name',
    path: ['stdio', 'name'],
    reason: 'NAME_TAKEN',
  });
});

test('messages contain the enum values of the GraphQL schema', async () => {
  const messageOf = async (input: object) =>
    (await refusal('createMcpServer', { remote: { ...REMOTE, ...input } })).message;
  expect(await messageOf({ authType: 'CLIENT_CREDENTIALS', clientId: 'c' })).toBe(
    'remote.clientSecret: is required for authType CLIENT_CREDENTIALS',
  );
  expect(await messageOf({ authType: 'OAUTH', oauthRegistration: 'PRE_REGISTERED' })).toBe(
    'remote.clientId: is required for oauthRegistration PRE_REGISTERED',
  );
});

test('a value that is no id is refused with the type whose ids are accepted, in filters and in mutations', async () => {
  const messageOf = async (list: string) =>
    (await gateway.graphql(key, `{ viewer { organization { ${list} { totalCount } } } }`)).errors?.[0]?.message;
  expect([
    await messageOf('sessions(filter: { creatorIds: ["x"] })'),
    await messageOf('auditLog(filter: { targetIds: ["x"] })'),
    await messageOf('auditLog(filter: { actorIds: ["x"], operations: [""] })'),
    await messageOf('eventViolations(filter: { eventDefinitionIds: ["x"] })'),
  ]).toEqual([
    'filter.creatorIds.0: must be an id of the type User or ServiceAccount',
    'filter.targetIds.0: must be an id',
    'filter.actorIds.0: must be an id of the type User or ServiceAccount',
    'filter.eventDefinitionIds.0: must be an id of the type EventDefinition',
  ]);
  expect(await refusal('pinSession', { sessionId: 'x' })).toMatchObject({
    message: 'sessionId: must be an id of the type Session',
  });
  expect(await refusal('removeObjectIdentifiers', { ids: ['x'] })).toMatchObject({
    message: 'ids.0: must be an id of the type ObjectIdentifier',
  });
});
