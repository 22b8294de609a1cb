import { beforeAll, expect, test } from 'vitest';
import { useTestGateway } from '../../support/fixtures/gateway.ts';
import { append, createSession } from '../../support/fixtures/sessions.ts';

/** The orders of sessions by what was reported, and the condition on their cost. */

const gateway = useTestGateway();
let key: string;
const titles = ['none', 'cheap', 'dear'];
beforeAll(async () => {
  ({ key } = await gateway.createKey());
  for (const [index, title] of titles.entries()) {
    const id = await createSession(gateway, key, { title });
    const usage = { inputTokens: index * 10, outputTokens: 100 - index, costUsd: index * 1.5, durationMs: index };
    const eventData = { type: 'usage', usage, ...(index === 2 && { toolName: 'x', toolResult: { status: 'error' } }) };
    if (index > 0) await append(gateway, key, id, [{ eventType: 'usage', provider: 'p', eventData }]);
  }
});

const ORDERED = `query($orderBy: SessionOrder, $filter: SessionFilter, $first: Int, $after: String) { viewer { organization {
  sessions(orderBy: $orderBy, filter: $filter, first: $first, after: $after) { nodes { title } pageInfo { endCursor } totalCount } } } }`;
interface Answered {
  readonly viewer: {
    readonly organization: {
      readonly sessions: {
        readonly nodes: readonly { readonly title: string }[];
        readonly pageInfo: { readonly endCursor: string };
        readonly totalCount: number;
      } | null;
    };
  };
}
const sessionsOf = async (variables: Record<string, unknown>) =>
  (await gateway.graphql<Answered>(key, ORDERED, variables)).data?.viewer.organization.sessions;

test.each([
  ['COST', 'cost'],
  ['INPUT_TOKENS', 'inputTokens'],
  ['TOKENS', 'tokens'],
  ['DURATION', 'duration'],
])('%s: what nobody reported is last in both directions, on each page and in REST', async (field, orderBy) => {
  for (const direction of ['ASC', 'DESC']) {
    const wanted = direction === 'ASC' ? ['cheap', 'dear', 'none'] : ['dear', 'cheap', 'none'];
    const read: string[] = [];
    let after: string | undefined;
    for (const _ of wanted) {
      const page = await sessionsOf({ orderBy: { field, direction }, first: 1, after });
      read.push(...(page?.nodes.map(({ title }) => title) ?? []));
      after = page?.pageInfo.endCursor;
    }
    const path = `/v1/sessions?orderBy=${orderBy}&sortOrder=${direction}`;
    const { body } = await gateway.rest<{ items: { title: string }[] }>('GET', path, { key });
    expect([direction, read, body.items.map(({ title }) => title)]).toEqual([direction, wanted, wanted]);
  }
});

test('costFrom', async () => {
  expect(await sessionsOf({ filter: { costFrom: 1.6 } })).toMatchObject({ nodes: [{ title: 'dear' }], totalCount: 1 });
  const { body } = await gateway.rest<{ items: object[] }>('GET', '/v1/sessions?costFrom=1.5', { key });
  expect(body.items).toHaveLength(2);
});

test('sessions of a project, a person and a service account, each sorted by itself', async () => {
  const query = `{ viewer { user { sessions(orderBy: { field: COST, direction: DESC }) { totalCount nodes { title project {
    sessions(first: 1) { totalCount } } } } } } }`;
  const { data } = await gateway.graphql<{ viewer: { user: { sessions: object } } }>(key, query);
  expect(data?.viewer.user.sessions).toMatchObject({
    totalCount: 3,
    nodes: [{ title: 'dear' }, { title: 'cheap' }, { title: 'none' }],
  });
});
