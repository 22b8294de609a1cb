import { randomUUID } from 'node:crypto';
import fc from 'fast-check';
import { type GraphQLObjectType, OperationTypeNode, isObjectType, parse, validate } from 'graphql';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { schema } from '../../src/gateway/schema.ts';
import { explore, seed } from '../support/exploration.ts';
import { faultsOfData } from '../support/oracles/graphql-conformity.ts';
import { type GeneratedOperation, generateOperation } from '../support/oracles/graphql-operations.ts';
import type { GraphQLAnswer } from '../support/fixtures/gateway.ts';
import type { Pools } from '../support/oracles/graphql-values.ts';
import { full, proof } from '../support/proof.ts';
import { EventStream } from '../support/fixtures/sessions.ts';
import { type Caller, type Workspace, createWorkspace } from '../support/fixtures/workspace.ts';

/** Operations that begin at each field of Query, Mutation and Subscription. */
const RUNS = { query: full ? 500 : 40, mutation: full ? 200 : 12, subscription: full ? 50 : 5 };

const globalId = (type: string, id: string) => Buffer.from(`${type}:${id}`).toString('base64');
const reached = new Set<string>();
const codes = new Map<string, number>();
/** Ids and cursors that answers have given. */
const given = { id: new Set<string>(), cursor: new Set<string>() };
let operations = 0;
let repeated = 0;
let workspace: Workspace;
let deletionJobId = '';

beforeAll(async () => {
  workspace = await createWorkspace();
  const { gateway } = workspace;
  const answer = await gateway.rest<{ deletionJobId: string }>(
    'DELETE',
    `/v1/users/${workspace.pool['memberId']?.[0]}`,
    {
      key: workspace.keyOf('admin') ?? '',
      body: {},
    },
  );
  ({ deletionJobId } = answer.body);
});
afterAll(() => workspace.close());

/** What arguments and input fields can be given, by their names: ids of either kind, of what is there, was there, or never was. */
function pools(kind: GeneratedOperation['kind']): Pools {
  const { pool } = workspace;
  const either = (type: string, ids: readonly string[] = []) => [
    ...ids,
    ...ids.map((id) => globalId(type, id)),
    randomUUID(),
    globalId(type, randomUUID()),
  ];
  const sessions = either('Session', kind === 'subscription' ? pool['finishedSessionId'] : pool['sessionId']);
  const servers = either('McpServer', pool['mcpConnectionId']);
  const jobs = either('DeletionJob', [deletionJobId]);
  const nodes = [
    ...[...given.id].slice(-50),
    ...sessions,
    ...servers,
    ...jobs,
    globalId('Session', 'x'),
    globalId('SessionEvent', `${pool['sessionId']?.[0]}:1`),
    globalId('EventOccurrence', '::'),
    globalId('Nothing', randomUUID()),
  ];
  const names = [...(pool['eventName'] ?? []), 'absent'];
  const properties = [...(pool['propertyName'] ?? []), 'amount', 'plan', 'absent'];
  const cursors = [...[...given.cursor].slice(-20), 'bm9uZQ=='];
  return {
    ...pool,
    id: nodes,
    ids: nodes,
    'node.id': nodes,
    'session.id': sessions,
    'deletionJob.id': jobs,
    deletionJobId: jobs,
    sessionId: sessions,
    mcpServerId: servers,
    mcpServers: [...servers, 'Local'],
    userId: either('User', pool['memberId']),
    apiKeyId: either('ApiKey', pool['apiKeyId']),
    organizationId: either('Organization', pool['organizationId']),
    eventName: names,
    'eventDefinition.name': names,
    'UpdateEventPropertyInput.name': properties,
    'DeleteEventPropertyInput.name': properties,
    'ReplaceEventPropertyTypeInput.name': properties,
    eventPropertyName: properties,
    after: cursors,
    before: cursors,
    email: [`${randomUUID()}@example.com`, 'nobody@example.com'],
    eventType: ['text', 'message'],
    provider: ['anthropic', 'openai'],
    expiresAt: ['2040-01-01T00:00:00.000Z'],
    logoUrl: ['https://example.com/logo.png'],
    uuid: [randomUUID(), '00000000-0000-0000-0000-000000000000'],
  };
}

const collect = (value: unknown): void => {
  if (typeof value !== 'object' || value === null) return;
  for (const [name, inner] of Object.entries(value)) {
    if (name === 'id' && typeof inner === 'string') given.id.add(inner);
    if (/[cC]ursor$/.test(name) && typeof inner === 'string') given.cursor.add(inner);
    collect(inner);
  }
};

async function answersOf(operation: GeneratedOperation, caller: Caller): Promise<GraphQLAnswer[]> {
  const key = workspace.keyOf(caller) ?? '';
  const { kind, query, variables } = operation;
  if (kind !== 'subscription') return [await workspace.gateway.graphql(key, query, variables)];
  const abort = new AbortController();
  const response = await workspace.gateway.fetch('/graphql', {
    method: 'POST',
    headers: { Authorization: `Bearer ${key}`, 'Content-Type': 'application/json', Accept: 'text/event-stream' },
    body: JSON.stringify({ query, variables }),
    signal: abort.signal,
  });
  const stream = new EventStream(response);
  const messages: GraphQLAnswer[] = [];
  // Nothing changes here, so this one says nothing.
  const isQuiet = query.includes('sessionChanged') && response.ok;
  // What follows something that goes on never ends by itself.
  for (
    let message = isQuiet ? undefined : await stream.nextData();
    message?.event === 'next';
    message = await stream.nextData()
  ) {
    messages.push(JSON.parse(message.data ?? '{}') as GraphQLAnswer);
    if (query.includes('mcpServer') || messages.length === 3) break;
  }
  abort.abort();
  await stream.close().catch(() => undefined);
  return messages;
}

/** What an answer has that no answer may have. */
function faultsOf({ query, variables }: GeneratedOperation, { data, errors = [] }: GraphQLAnswer): string[] {
  for (const { extensions } of errors) {
    const code = String(extensions?.['code']);
    codes.set(code, (codes.get(code) ?? 0) + 1);
  }
  const isKnown = (code: string) => KNOWN_CODES.has(code) || (code === 'UNAUTHENTICATED' && ENDS_ACCESS.test(query));
  const faults = errors.flatMap(({ message, extensions }) =>
    isKnown(String(extensions?.['code'])) ? [] : [`${String(extensions?.['code'])}: ${message}`],
  );
  if (faults.length > 0) faults.push(...workspace.failures());
  if (data === undefined && errors.length === 0) faults.push('there is neither data nor an error');
  if (!data) return faults;
  collect(data);
  return [...faults, ...faultsOfData(schema, parse(query), variables, data, reached)];
}

/** The order of errors says nothing (GraphQL, section 7.1.2): fields are executed beside each other. */
const saidIn = (answers: readonly GraphQLAnswer[]) =>
  answers.map(({ data, errors }) => ({
    data,
    errors: errors?.toSorted((a, b) => (JSON.stringify(a.path) < JSON.stringify(b.path) ? -1 : 1)),
  }));

/** What another request may change. */
const PASSING = /lastUsedAt|lastCheckedAt|tools|status/;

/** What the API may refuse at the top: never its own failure, never what it finds wrong with a valid document. */
const KNOWN_CODES = new Set([
  'INVALID_INPUT',
  'FORBIDDEN',
  'NOT_FOUND',
  'REMOTE_FAILED',
  'TOO_COSTLY',
  'BAD_USER_INPUT',
]);

/** After these the rest of a document may find that the key acts no more. */
const ENDS_ACCESS = /leaveOrganization|removeOrganizationMember/;

const CALLERS: readonly Caller[] = [
  'admin',
  'admin',
  'admin',
  'admin',
  'admin',
  'admin',
  'member',
  'unbound',
  'foreign',
  'scopeless',
];

/** What takes several values that fit each other, or a remote server that answers. */
function rareOperations(): GeneratedOperation[] {
  const { pool } = workspace;
  const ask = (kind: OperationTypeNode, query: string, variables: object): GeneratedOperation => ({
    kind,
    query,
    variables: { ...variables },
  });
  const mcpServerId = globalId('McpServer', pool['mcpConnectionId']?.[0] ?? '');
  return [
    ask(
      OperationTypeNode.QUERY,
      `query ($id: ID!) { node(id: $id) { __typename ... on McpServer { __typename tools { __typename name description inputSchema } } } }`,
      { id: mcpServerId },
    ),
    ask(
      OperationTypeNode.QUERY,
      `query ($id: ID!) { node(id: $id) { __typename ... on Session { __typename artifacts { __typename
        pullRequests { __typename author { __typename login avatarUrl } } } } } }`,
      { id: globalId('Session', pool['sessionId']?.[0] ?? '') },
    ),
    ask(
      OperationTypeNode.MUTATION,
      `mutation ($input: TestMcpServerInput!) { testMcpServer(input: $input) { __typename
        ... on TestMcpServerPayload { __typename info { __typename name version protocolVersion } } } }`,
      { input: { mcpServerId } },
    ),
    ask(
      OperationTypeNode.MUTATION,
      `mutation ($input: SendEventOccurrencesInput!) { sendEventOccurrences(input: $input) { __typename
        ... on SendEventOccurrencesPayload { __typename acceptedCount } } }`,
      { input: { inputs: [{ eventName: pool['eventName']?.[0], email: 'ann@example.com', properties: {} }] } },
    ),
  ];
}

const roots = Object.values(OperationTypeNode).flatMap((kind) =>
  Object.keys(schema.getRootType(kind)?.getFields() ?? {}).map((name) => [kind, name] as const),
);

describe(`GraphQL as an oracle (SEED=${seed})`, () => {
  test.each(roots)('%s %s: no internal error, and every answer is what the schema says', async (kind, name) => {
    await explore(RUNS[kind], fc.gen(), async (g) => {
      await workspace.restore();
      const caller = CALLERS[g(fc.nat, { max: CALLERS.length - 1 })] ?? 'admin';
      const operation = generateOperation(g, schema, kind, name, pools(kind), reached);
      const request = `${operation.query}\n${JSON.stringify(operation.variables)}`;
      expect(validate(schema, parse(operation.query)), `is valid: ${request}`).toEqual([]);
      operations += 1;
      const answers = await answersOf(operation, caller);
      const faults = answers.flatMap((answer) => faultsOf(operation, answer));
      expect(faults, `of ${caller}: ${request}`).toEqual([]);
      if (kind !== OperationTypeNode.QUERY || PASSING.test(operation.query) || g(fc.nat, { max: 2 }) < 2) return;
      // A document that comes again and again is compiled.
      const again = [await answersOf(operation, caller), await answersOf(operation, caller)];
      again.push(await answersOf(operation, caller));
      expect(again.map(saidIn), `again: ${request}`).toEqual(again.map(() => saidIn(answers)));
      repeated += 1;
    });
  });

  test('what generated operations rarely reach answers what the schema says', async () => {
    await workspace.restore();
    for (const operation of rareOperations()) {
      const answers = await answersOf(operation, 'admin');
      expect(
        answers.flatMap((answer) => faultsOf(operation, answer)),
        `asked: ${operation.query}`,
      ).toEqual([]);
    }
  });

  test('the fields of the schema were reached, but for the few that need a token, a second step or luck', () => {
    const types = Object.values(schema.getTypeMap()).filter(
      (type): type is GraphQLObjectType => isObjectType(type) && !type.name.startsWith('__'),
    );
    const fields = types.flatMap((type) => Object.keys(type.getFields()).map((field) => `${type.name}.${field}`));
    const missed = fields.filter((field) => !reached.has(field));
    expect(missed.slice(fields.length / (full ? 50 : 10)), `missed in all: ${missed.join(', ')}`).toEqual([]);
    proof('GraphQL as an oracle', {
      figures: {
        operations,
        'queries sent four times, compiled from the third on, with equal answers': repeated,
        'fields of the schema': fields.length,
        'not reached': missed.length,
        'internal errors': 0,
        'answers that break the schema': 0,
        'refused as too costly': codes.get('TOO_COSTLY') ?? 0,
        seed,
      },
    });
  });
});
