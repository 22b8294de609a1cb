import { randomUUID } from 'node:crypto';
import fc from 'fast-check';
import {
  type GraphQLObjectType,
  Kind,
  OperationTypeNode,
  getOperationAST,
  isObjectType,
  parse,
  validate,
} from 'graphql';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { schema } from '../../src/gateway/schema.ts';
import { explore, seed } from '../support/exploration.ts';
import { faultsOfData } from '../support/oracles/graphql-conformity.ts';
import { type GeneratedOperation, generateOperation } from '../support/oracles/graphql-operations.ts';
import type { GraphQLAnswer } from '../support/fixtures/gateway.ts';
import type { Pools } from '../support/oracles/graphql-values.ts';
import { rareOperations } from '../support/oracles/rare-operations.ts';
import { globalId } from '../support/operations/references.ts';
import { full, proof } from '../support/proof.ts';
import { EventStream, mutate, subscribe } from '../support/fixtures/sessions.ts';
import { type Caller, type Workspace, createWorkspace } from '../support/fixtures/workspace.ts';

/** The number of generated operations for each field of Query, Mutation and Subscription. */
const RUNS = { query: full ? 500 : 64, mutation: full ? 200 : 12, subscription: full ? 50 : 5 };

const reached = new Set<string>();
const codes = new Map<string, number>();
/** Ids and cursors from earlier answers. */
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

/** Values for arguments and input fields, by name: global ids and database ids of existing, deleted and unknown objects. */
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

/** Subscriptions that may send nothing, because nothing changes here that meets their filter. */
const QUIET = new Set(['feed', 'sessionChange', 'sessionChanged']);

function rootOf(query: string): string {
  const root = getOperationAST(parse(query))?.selectionSet.selections[0];
  return root?.kind === Kind.FIELD ? root.name.value : '';
}

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
  const isQuiet = QUIET.has(rootOf(query)) && response.ok;
  // Some subscriptions never end by themselves.
  for (
    let message = isQuiet ? undefined : await stream.nextData();
    message?.event === 'next';
    message = await stream.nextData()
  ) {
    messages.push(JSON.parse(message.data ?? '{}') as GraphQLAnswer);
    // No job runs here: it is sent once.
    if (/mcpServer|deletionJobChanged/.test(query) || messages.length === 3) break;
  }
  abort.abort();
  await stream.close().catch(() => undefined);
  return messages;
}

/** Subscriptions that are sent a changed and then a deleted session, with the types of what they send. */
const OF_SESSIONS: readonly (readonly [string, readonly string[]])[] = [
  [
    `subscription { sessionChange { __typename ... on SessionChanged { session { __typename id databaseId title } }
      ... on SessionLeft { sessionId left: session { __typename id } } } }`,
    ['SessionChanged', 'SessionLeft'],
  ],
  ['subscription { sessionChanged { __typename id databaseId title } }', ['Session']],
];

const OF_FEED = 'subscription { feed { __typename id databaseId type createdAt subjectType subjectId data } }';

type SentAnswer = GraphQLAnswer<Record<string, { __typename: string } | null>>;

async function nextAnswer(stream: EventStream): Promise<SentAnswer> {
  const message = await stream.nextData();
  return JSON.parse(message?.data ?? '{}') as SentAnswer;
}

const typeOf = ({ data }: SentAnswer) => Object.values(data ?? {})[0]?.__typename;

/** The faults of an answer: unexpected errors, missing data, and deviations from the schema. */
function faultsOf(
  { query, variables }: GeneratedOperation,
  { data, errors = [] }: GraphQLAnswer<Record<string, unknown>>,
): string[] {
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

/** The order of errors is undefined (GraphQL, section 7.1.2), because fields are executed in parallel. */
const comparable = (answers: readonly GraphQLAnswer[]) =>
  answers.map(({ data, errors }) => ({
    data,
    errors: errors?.toSorted((a, b) => (JSON.stringify(a.path) < JSON.stringify(b.path) ? -1 : 1)),
  }));

/** Fields whose values may change between two requests. */
const CHANGING = /lastUsedAt|lastCheckedAt|tools|status/;

/** Codes that top-level errors may have. Internal errors and errors of validation are not among them. */
const KNOWN_CODES = new Set([
  'INVALID_INPUT',
  'FORBIDDEN',
  'NOT_FOUND',
  'REMOTE_FAILED',
  'TOO_COSTLY',
  'ANSWER_TOO_LARGE',
  'BAD_USER_INPUT',
]);

/** After these mutations, the key of the caller may be invalid for the rest of the document. */
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

const roots = Object.values(OperationTypeNode).flatMap((kind) =>
  Object.keys(schema.getRootType(kind)?.getFields() ?? {}).map((name) => [kind, name] as const),
);

describe(`GraphQL as an oracle (SEED=${seed})`, () => {
  test.each(roots)(
    '%s %s: no operation causes an internal error, and every answer conforms to the schema',
    async (kind, name) => {
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
        if (kind !== OperationTypeNode.QUERY || CHANGING.test(operation.query) || g(fc.nat, { max: 2 }) < 2) return;
        // A document that is sent repeatedly is compiled.
        const again = [await answersOf(operation, caller), await answersOf(operation, caller)];
        again.push(await answersOf(operation, caller));
        expect(again.map(comparable), `again: ${request}`).toEqual(again.map(() => comparable(answers)));
        repeated += 1;
      });
    },
  );

  test('the answers of operations that are rarely generated conform to the schema', async () => {
    await workspace.restore();
    for (const operation of rareOperations(workspace.pool)) {
      const answers = await answersOf(operation, 'admin');
      expect(
        answers.flatMap((answer) => faultsOf(operation, answer)),
        `asked: ${operation.query}`,
      ).toEqual([]);
    }
  });

  test('what subscriptions send of a changed and a deleted session, and of the feed, conforms to the schema', async () => {
    await workspace.restore();
    const { gateway, pool } = workspace;
    const key = workspace.keyOf('admin') ?? '';
    const sessionId = pool['sessionId']?.[0];
    const follow = async (query: string) => ({ query, stream: await subscribe(gateway, key, query, {}) });
    const followed = await Promise.all(OF_SESSIONS.map(([query]) => follow(query)));
    const feed = await follow(OF_FEED);
    const sent: { query: string; answer: SentAnswer }[] = [];
    const read = async ({ query, stream }: (typeof followed)[number]) =>
      sent.push({ query, answer: await nextAnswer(stream) });
    await mutate(gateway, key, 'updateSession', { sessionId, title: 'Changed' });
    for (const each of [...followed, feed]) await read(each);
    await mutate(gateway, key, 'deleteSession', { sessionId }, '__typename');
    if (followed[0]) await read(followed[0]);
    for (const { stream } of [...followed, feed]) await stream.close();
    for (const [query, types] of [...OF_SESSIONS, [OF_FEED, ['FeedEntry']] as const])
      expect(sent.flatMap((each) => (each.query === query ? [typeOf(each.answer)] : []))).toEqual(types);
    const faults = sent.map(({ query, answer }) =>
      faultsOf({ kind: OperationTypeNode.SUBSCRIPTION, query, variables: {} }, answer),
    );
    expect(faults.flat()).toEqual([]);
  });

  test('nearly all fields of the schema were answered; the others need a token or a second step, or are rarely generated', () => {
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
