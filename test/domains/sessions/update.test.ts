import { randomUUID } from 'node:crypto';
import { beforeAll, describe, expect, test } from 'vitest';
import { useTestGateway } from '../../support/fixtures/gateway.ts';
import { createSession, mutate } from '../../support/fixtures/sessions.ts';
import { sampled } from '../../support/sample.ts';

const gateway = useTestGateway();
let key: string;
beforeAll(async () => {
  ({ key } = await gateway.createKey());
});

const FIELDS =
  'agent baseBranch branchName targetBranch description level projectId title mode sandboxSize visibility mcpServers { databaseId } richContent agentOptions { reasoningLevel goal { enabled objective } } updatedAt';
type State = Record<string, unknown>;

async function stateOf(id: string): Promise<State | undefined> {
  return (await gateway.graphql<{ session: State }>(key, `query($id: ID!) { session(id: $id) { ${FIELDS} } }`, { id }))
    .data?.session;
}

const ENUMERATED = new Set(['mode', 'sandboxSize', 'visibility']);

interface Outcome {
  readonly refused?: { readonly kind: string; readonly message: string };
}

/** Makes a change through either API. The values are those of REST; they are converted for GraphQL. */
const apis = {
  REST: async (id: string, changes: State): Promise<Outcome> => {
    const { status, body } = await gateway.rest<{ error: string }>('PATCH', `/v1/sessions/${id}`, {
      key,
      body: changes,
    });
    return status === 200 ? {} : { refused: { kind: String(status), message: body.error } };
  },
  GraphQL: async (id: string, changes: State): Promise<Outcome> => {
    const graphqlValues = Object.entries(changes).map(([name, value]) => [
      name,
      ENUMERATED.has(name) && typeof value === 'string' ? value.toUpperCase() : value,
    ]);
    const result = await mutate(gateway, key, 'updateSession', { sessionId: id, ...Object.fromEntries(graphqlValues) });
    return result.__typename === 'UpdateSessionPayload'
      ? {}
      : {
          refused: {
            kind: result.code === 'INVALID_INPUT' ? '400' : (result.code ?? ''),
            message: result.message ?? '',
          },
        };
  },
};
type Api = keyof typeof apis;
const APIS: Api[] = ['REST', 'GraphQL'];

const textOf = (length: number) => 'x'.repeat(length);
const doc = (...texts: string[]) => ({
  type: 'doc',
  content: texts.map((text) => ({ type: 'paragraph', content: [{ type: 'text', text }] })),
});
const deep = (levels: number): object =>
  levels === 0 ? { type: 'text', text: 'a' } : { type: 'paragraph', content: [deep(levels - 1)] };

const ACCEPTED: State[] = [
  ...['agent', 'baseBranch', 'branchName', 'targetBranch', 'projectId'].flatMap((name) => [
    { [name]: 'x' },
    { [name]: textOf(500) },
    { [name]: null },
  ]),
  { title: 'x' },
  { title: textOf(1000) },
  { description: textOf(1_000_000) },
  { description: null },
  { richContent: null },
  { level: 0 },
  { level: 100 },
  { mcpServers: [] },
  { agentOptions: {} },
  { agentOptions: { reasoningLevel: textOf(100), goal: { enabled: false, objective: textOf(100_000) } } },
  ...['normal', 'planning'].map((mode) => ({ mode })),
  ...['nano', 'micro', 'small', 'medium', 'large', 'xl', 'xxl', 'ultra', null].map((sandboxSize) => ({ sandboxSize })),
  ...['public', 'private'].map((visibility) => ({ visibility })),
];

const tooLong = (name: string, max: number) => `${name}: must be at most ${max} characters`;
const REFUSED: [State, string][] = [
  ...['agent', 'baseBranch', 'branchName', 'targetBranch', 'projectId'].flatMap((name): [State, string][] => [
    [{ [name]: '' }, `${name}: must not be empty`],
    [{ [name]: textOf(501) }, tooLong(name, 500)],
    [{ [name]: 'a\0' }, `${name}: must be well-formed text without NUL characters`],
  ]),
  [{ title: '' }, 'title: must not be empty'],
  [{ title: textOf(1001) }, tooLong('title', 1000)],
  [{ title: null }, 'title: must be a string'],
  [{ description: '' }, 'description: must not be empty'],
  [{ description: textOf(1_000_001) }, tooLong('description', 1_000_000)],
  [{ level: -1 }, 'level: must be at least 0'],
  [{ level: 101 }, 'level: must be at most 100'],
  [{ level: null }, 'level: must be a number'],
  [{ mcpServers: null }, 'mcpServers: must be an array'],
  [{ mcpServers: [''] }, 'mcpServers.0: must not be empty'],
  [{ mcpServers: [textOf(1001)] }, tooLong('mcpServers.0', 1000)],
  [{ mcpServers: Array<string>(101).fill('a') }, 'mcpServers: must have at most 100 items'],
  [
    { mcpServers: ['nowhere'] },
    'mcpServers.0: nowhere is neither the id nor the name of an MCP connection that you can see',
  ],
  [{ agentOptions: null }, 'agentOptions: must be an object'],
  [{ agentOptions: { reasoningLevel: textOf(101) } }, tooLong('agentOptions.reasoningLevel', 100)],
  [{ agentOptions: { goal: { objective: textOf(100_001) } } }, tooLong('agentOptions.goal.objective', 100_000)],
  [{ mode: null }, 'mode: must not be null'],
  [{ visibility: null }, 'visibility: must not be null'],
  [{ richContent: { type: 'paragraph', content: [] } }, 'richContent.type: must be one of "doc"'],
  [
    { richContent: { type: 'doc', content: [deep(50)] } },
    `richContent${'.content.0'.repeat(51)}: must not be nested deeper than 50 nodes below the document`,
  ],
  [{ level: 101, title: '' }, 'level: must be at most 100; title: must not be empty'],
];

describe.each(APIS)('an update over %s', (api) => {
  sampled(test, 4).each(ACCEPTED.map((changes) => [JSON.stringify(changes).slice(0, 60), changes] as const))(
    'accepts %s and changes nothing else',
    async (_, changes) => {
      const id = await createSession(gateway, key, {
        agent: 'a',
        description: 'd',
        sandboxSize: 'NANO',
        projectId: 'p',
      });
      const before = await stateOf(id);
      expect(await apis[api](id, changes)).toEqual({});
      const graphqlValues = Object.entries(changes).map(([name, value]) => [
        name,
        ENUMERATED.has(name) && typeof value === 'string' ? value.toUpperCase() : value,
      ]);
      const after = await stateOf(id);
      const options = changes['agentOptions'] as { reasoningLevel?: string; goal?: object } | undefined;
      const expected = {
        ...before,
        ...Object.fromEntries(graphqlValues),
        ...(options && {
          agentOptions: { reasoningLevel: options.reasoningLevel ?? null, goal: options.goal ?? null },
        }),
      };
      expect(after).toEqual({ ...expected, updatedAt: after?.['updatedAt'] });
    },
  );

  test('keeps absent fields of agentOptions and of its goal', async () => {
    const id = await createSession(gateway, key);
    for (const [given, kept] of [
      [{ reasoningLevel: 'high' }, { reasoningLevel: 'high', goal: null }],
      [{ goal: { enabled: true } }, { reasoningLevel: 'high', goal: { enabled: true, objective: null } }],
      [{ goal: { objective: 'o' } }, { reasoningLevel: 'high', goal: { enabled: true, objective: 'o' } }],
      [{ goal: {} }, { reasoningLevel: 'high', goal: { enabled: true, objective: 'o' } }],
      [{}, { reasoningLevel: 'high', goal: { enabled: true, objective: 'o' } }],
      [
        { reasoningLevel: 'low', goal: { enabled: false } },
        { reasoningLevel: 'low', goal: { enabled: false, objective: 'o' } },
      ],
    ]) {
      expect(await apis[api](id, { level: 1, agentOptions: given })).toEqual({});
      expect(await stateOf(id)).toMatchObject({ level: 1, agentOptions: kept });
    }
  });

  sampled(test, 5).each(REFUSED.map(([changes, message]) => [message.slice(0, 60), changes, message] as const))(
    'refuses: %s',
    async (_, changes, message) => {
      const id = await createSession(gateway, key, { agent: 'a' });
      const before = await stateOf(id);
      expect(await apis[api](id, { agent: 'changed', ...changes })).toEqual({ refused: { kind: '400', message } });
      expect(await stateOf(id)).toEqual(before);
    },
  );

  test('without fields changes nothing, not even updatedAt', async () => {
    const id = await createSession(gateway, key, { agent: 'a' });
    const before = await stateOf(id);
    expect(await apis[api](id, {})).toEqual({});
    expect(await stateOf(id)).toEqual(before);
  });

  test('with rich text sets the description to its plain text, or to null if that is empty, unless a description is given', async () => {
    const id = await createSession(gateway, key, { description: 'before' });
    expect(await apis[api](id, { richContent: doc('One', 'Two') })).toEqual({});
    expect(await stateOf(id)).toMatchObject({ description: 'One\nTwo', richContent: doc('One', 'Two') });
    expect(await apis[api](id, { richContent: doc('Three'), description: 'Mine' })).toEqual({});
    expect(await stateOf(id)).toMatchObject({ description: 'Mine', richContent: doc('Three') });
    expect(await apis[api](id, { richContent: null })).toEqual({});
    expect(await stateOf(id)).toMatchObject({ description: 'Mine', richContent: null });
    expect(await apis[api](id, { richContent: doc('  ') })).toEqual({});
    expect(await stateOf(id)).toMatchObject({ description: null });
    expect(await apis[api](id, { richContent: { type: 'doc', content: [deep(49)] } })).toEqual({});
    expect(await stateOf(id)).toMatchObject({ description: 'a' });
    expect(await apis[api](id, { richContent: doc('Four'), description: null })).toEqual({});
    expect(await stateOf(id)).toMatchObject({ description: null, richContent: doc('Four') });
  });
});

describe('requests that only one API can express', () => {
  sampled(test, 3).each([
    ['an unknown key', { nope: 1 }, 'nope: is not a known property'],
    ['a field that the contract does not change', { isPinned: true }, 'isPinned: is not a known property'],
    ['the id in the body', { sessionId: randomUUID() }, 'sessionId: is not a known property'],
    [
      'an unknown key within',
      { agentOptions: { goal: { nope: 1 } } },
      'agentOptions.goal.nope: is not a known property',
    ],
    ['a wrong type', { level: '3' }, 'level: must be a number'],
    ['half a level', { level: 1.5 }, 'level: must be an integer'],
    ['an unknown mode', { mode: 'fast' }, 'mode: must be one of "normal", "planning"'],
    [
      'an unknown size',
      { sandboxSize: 'huge' },
      'sandboxSize: must be one of "nano", "micro", "small", "medium", "large", "xl", "xxl", "ultra"',
    ],
  ])('REST refuses %s: 400', async (_, body, error) => {
    const id = await createSession(gateway, key);
    const answer = await gateway.rest('PATCH', `/v1/sessions/${id}`, { key, body });
    expect([answer.status, answer.body]).toEqual([400, { error }]);
  });

  test.each([
    ['no JSON', '{'],
    ['a list', '[]'],
    ['null', 'null'],
  ])('REST refuses %s as a body: 400', async (_, body) => {
    const id = await createSession(gateway, key);
    expect((await gateway.rest('PATCH', `/v1/sessions/${id}`, { key, body })).status).toBe(400);
  });

  test('a body cannot change a prototype', async () => {
    const id = await createSession(gateway, key);
    for (const body of [
      '{"__proto__":{"level":5}}',
      '{"constructor":{"level":5}}',
      '{"agentOptions":{"__proto__":{"reasoningLevel":"x"}}}',
    ]) {
      expect((await gateway.rest('PATCH', `/v1/sessions/${id}`, { key, body })).status).toBe(400);
    }
    expect(Object.hasOwn(Object.prototype, 'level')).toBe(false);
  });

  test('an id that is no UUID is 400, and a UUID in capitals is the same id', async () => {
    const answer = await gateway.rest('PATCH', '/v1/sessions/7', { key, body: {} });
    expect([answer.status, answer.body]).toEqual([400, { error: 'sessionId: must be a UUID' }]);
    const id = await createSession(gateway, key);
    expect(await gateway.rest('PATCH', `/v1/sessions/${id.toUpperCase()}`, { key, body: { level: 5 } })).toMatchObject({
      status: 200,
      body: { id, level: 5 },
    });
  });

  test('pinSession accepts the database id and the global id, and pins and unpins the session', async () => {
    const id = await createSession(gateway, key);
    const global = Buffer.from(`Session:${id}`).toString('base64');
    expect(
      await mutate(gateway, key, 'pinSession', { sessionId: global }, 'session { id databaseId isPinned }'),
    ).toEqual({ __typename: 'PinSessionPayload', session: { id: global, databaseId: id, isPinned: true } });
    expect(
      await mutate(gateway, key, 'pinSession', { sessionId: id, isPinned: false }, 'session { isPinned }'),
    ).toEqual({ __typename: 'PinSessionPayload', session: { isPinned: false } });
    expect(await mutate(gateway, key, 'pinSession', { sessionId: 'x' })).toMatchObject({
      __typename: 'ValidationError',
      path: ['sessionId'],
    });
    expect(
      (await gateway.graphql(key, 'query($id: ID!) { node(id: $id) { __typename id } }', { id: global })).data,
    ).toEqual({ node: { __typename: 'Session', id: global } });
  });
});

test('a PATCH without a body changes nothing', async () => {
  const id = await createSession(gateway, key);
  const [before, after] = [
    await gateway.rest<object>('PATCH', `/v1/sessions/${id}`, { key, body: {} }),
    await gateway.rest<object>('PATCH', `/v1/sessions/${id}`, { key }),
  ];
  expect([after.status, after.body]).toEqual([200, before.body]);
});
