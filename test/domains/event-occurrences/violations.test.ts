import { expect, test } from 'vitest';
import { deleteOldViolations } from '../../../src/domains/event-occurrences/violation-queries.ts';
import { DEFINITIONS_PATH } from '../../support/fixtures/event-definitions.ts';
import { useOwnGateway } from '../../support/fixtures/gateway.ts';

const gateway = useOwnGateway();

interface Counted {
  readonly hour: string;
  readonly reason: string;
  readonly property: string | null;
  readonly unknownEventName: string | null;
  readonly count: string;
  readonly eventDefinition: { readonly name: string } | null;
  readonly apiKey: { readonly databaseId: string } | null;
}
interface Listed {
  viewer: { organization: { eventViolations: { totalCount: number; nodes: Counted[] } | null } };
}

const SENT = '/events/2026-03/send';
const color = {
  label: 'Color',
  type: 'enumeration',
  options: ['red', 'blue'].map((value) => ({ value, label: value })),
};

async function newWorkspace() {
  const admin = await gateway.createKey();
  const { key } = admin;
  const body = { label: 'Seen', propertyDefinitions: [{ label: 'Price', type: 'number' }, color] };
  const { id } = (await gateway.rest<{ id: string }>('POST', DEFINITIONS_PATH, { key, body })).body;
  const send = (occurrence: object, by = key) => gateway.rest('POST', SENT, { key: by, body: occurrence });
  const list = async (filter = '', by = key) => {
    const query = `{ viewer { organization { eventViolations(first: 100, filter: { ${filter} }) { totalCount
      nodes { hour reason property unknownEventName count eventDefinition { name } apiKey { databaseId } } } } } }`;
    const { data } = await gateway.graphql<Listed>(by, query);
    return data?.viewer.organization.eventViolations;
  };
  const summary = async (filter = '') =>
    (await list(filter))?.nodes
      .map(({ eventDefinition, unknownEventName, reason, property, count }) => {
        const event = eventDefinition ? eventDefinition.name : `unknown "${unknownEventName}"`;
        return `${event} ${reason} ${property} ${count}`;
      })
      .toSorted();
  return { ...admin, definitionId: id, send, list, summary };
}

const ann = { email: 'ann@example.com' };

test('refused occurrences are counted by definition, reason, property, key and hour', async () => {
  const { keyId, definitionId, email, organization, send, list, summary } = await newWorkspace();
  const other = await gateway.createKey({ email, organization });
  gateway.setClock(new Date('2026-03-01T10:59:59.999Z'));
  await send({ eventName: 'seen', ...ann, properties: { price: 'much', prize: 1 } });
  await send({ eventName: 'seen', ...ann, properties: { price: 'more' } });
  gateway.setClock(new Date('2026-03-01T11:00:00.000Z'));
  const inputs = [
    { eventName: 'seen', ...ann, properties: { color: 'green' } },
    { eventName: 'seen', ...ann, properties: { color: 'black', price: 1 } },
    { eventName: 'seen', properties: {} },
    { eventName: 'missing', ...ann, properties: {} },
    { eventName: 'seen', ...ann, properties: { price: 1 } },
  ];
  await gateway.rest('POST', `${SENT}/batch`, { key: other.key, body: { inputs } });
  const listed = await list('hourFrom: "2026-03-01T11:00:00Z"');
  gateway.setClock(undefined);

  expect(await summary()).toEqual([
    'seen BAD_FORMAT price 2',
    'seen NOT_ALLOWED color 2',
    'seen REQUIRED null 1',
    'seen UNKNOWN_FIELD prize 1',
    'unknown "missing" NOT_FOUND null 1',
  ]);
  expect(await summary(`eventDefinitionIds: ["${definitionId}"], reasons: [BAD_FORMAT]`)).toEqual([
    'seen BAD_FORMAT price 2',
  ]);
  expect(listed?.totalCount).toBe(3);
  for (const { hour, apiKey } of listed?.nodes ?? [])
    expect([hour, apiKey?.databaseId]).toEqual(['2026-03-01T11:00:00.000Z', other.keyId]);
  const before = await list('hourBefore: "2026-03-01T11:00:00Z"');
  expect(before?.nodes.map(({ hour, apiKey }) => [hour, apiKey?.databaseId])).toEqual(
    Array.from({ length: 2 }, () => ['2026-03-01T10:00:00.000Z', keyId]),
  );
});

test('GraphQL counts what it refuses in the same way', async () => {
  const { key, summary } = await newWorkspace();
  const mutation = `mutation($input: SendEventOccurrencesInput!) { sendEventOccurrences(input: $input) { __typename } }`;
  const inputs = [{ eventName: 'seen', ...ann, properties: { color: 'green' } }];
  for (let time = 0; time < 3; time += 1) await gateway.graphql(key, mutation, { input: { inputs } });
  expect(await summary()).toEqual(['seen NOT_ALLOWED color 3']);
});

test('an accepted occurrence costs no statement, and a refused one exactly one', async () => {
  const { send } = await newWorkspace();
  const statementsOf = async (properties: object) => {
    gateway.statements.length = 0;
    await send({ eventName: 'seen', ...ann, properties });
    return gateway.statements.filter((statement) => statement.includes('event_violation')).length;
  };
  expect(await statementsOf({ price: 1 })).toBe(0);
  expect(await statementsOf({ price: 'x', color: 'x', other: 'x', another: 'x' })).toBe(1);
});

test('no value is stored, and no text that cannot be the name of a property', async () => {
  const { send, summary } = await newWorkspace();
  // No id has such letters.
  const secret = 'Secret-xyz';
  await send({ eventName: 'seen', ...ann, properties: { price: secret, [secret]: secret, ['x'.repeat(51)]: 1 } });
  await send({ eventName: 'missing', ...ann, properties: { [secret]: secret } });
  const rows = await gateway.dependencies.sql.query('select v::text as row from event_violation v', []);
  expect(JSON.stringify(rows)).not.toContain('xyz');
  expect(await summary()).toEqual([
    'seen BAD_FORMAT price 1',
    'seen UNKNOWN_FIELD null 1',
    'unknown "missing" NOT_FOUND null 1',
  ]);
});

test('sends with a name that no event has are counted by that name, whatever it is', async () => {
  const { send, summary, list, definitionId, key } = await newWorkspace();
  await send({ eventName: 'sene', ...ann, properties: { price: 'much' } });
  await send({ eventName: 'Checkout <b>Started</b> – 1', ...ann });
  await send({ eventName: 'x'.repeat(255), ...ann });
  await send({ eventName: 'nul\0nul', ...ann });
  const inputs = ['sene', 'seen', 'sene', 'pe0_seen'].map((eventName) => ({ eventName, ...ann }));
  await gateway.rest('POST', `${SENT}/batch`, { key, body: { inputs } });
  await send({ eventName: 'seen', ...ann, properties: { price: 'much' } });
  const unknown = [
    'unknown "Checkout <b>Started</b> – 1" NOT_FOUND null 1',
    'unknown "null" NOT_FOUND null 1',
    'unknown "pe0_seen" NOT_FOUND null 1',
    'unknown "sene" NOT_FOUND null 3',
    `unknown "${'x'.repeat(100)}" NOT_FOUND null 1`,
  ];
  expect(await summary('isUnknownEvent: true')).toEqual(unknown);
  expect(await summary('isUnknownEvent: false')).toEqual(['seen BAD_FORMAT price 1']);
  expect((await list())?.totalCount).toBe(6);
  expect(await summary(`isUnknownEvent: true, eventDefinitionIds: ["${definitionId}"]`)).toEqual([]);
});

test('names of unknown events use bounded space, and every refused occurrence is still counted', async () => {
  const { key, organizationId } = await newWorkspace();
  for (let request = 0; request < 25; request += 1) {
    const inputs = Array.from({ length: 100 }, (_, index) => ({ eventName: `x_${request}_${index}`, ...ann }));
    await gateway.rest('POST', `${SENT}/batch`, { key, body: { inputs } });
  }
  const [row] = await gateway.dependencies.sql.query<{ rows: number; total: number }>(
    `select count(*)::int as rows, sum(count)::int as total from event_violation where organization_id = $1`,
    [organizationId],
  );
  expect(row?.rows).toBeLessThanOrEqual(1_051);
  expect(row?.total).toBe(2_500);
});

test('unknown names use bounded space, and every refused occurrence is still counted', async () => {
  const { send, organizationId } = await newWorkspace();
  for (let request = 0; request < 40; request += 1) {
    const names = Array.from({ length: 100 }, (_, index) => [`x_${request}_${index}`, 1]);
    await send({ eventName: 'seen', ...ann, properties: Object.fromEntries(names) });
  }
  const [row] = await gateway.dependencies.sql.query<{ rows: number; others: number }>(
    `select count(*)::int as rows, (sum(count) filter (where property = ''))::int as others
     from event_violation where organization_id = $1`,
    [organizationId],
  );
  // 19 requests name 50 properties each, the 20th one more; the rest has no name.
  expect(row?.rows).toBeLessThanOrEqual(1_051);
  expect(row?.others).toBeGreaterThan(2_000);
});

test('only members of the organization with the scope see the counts', async () => {
  const mine = await newWorkspace();
  const foreign = await newWorkspace();
  await foreign.send({ eventName: 'seen', ...ann, properties: { price: 'x' } });
  expect(await mine.list()).toEqual({ totalCount: 0, nodes: [] });
  expect(await mine.list(`eventDefinitionIds: ["${foreign.definitionId}"]`)).toEqual({ totalCount: 0, nodes: [] });
  const { email, organization } = foreign;
  const { key } = await gateway.createKey({ email, organization, scopes: ['analytics.behavioral_events.send'] });
  expect(await foreign.list('', key)).toBeNull();
});

test('counts are deleted after 30 days', async () => {
  const { send, summary } = await newWorkspace();
  gateway.setClock(new Date('2026-01-01T00:30:00Z'));
  await send({ eventName: 'seen', ...ann, properties: { price: 'old' } });
  gateway.setClock(undefined);
  await send({ eventName: 'seen', ...ann, properties: { color: 'new' } });
  const clean = (at: string) => deleteOldViolations(gateway.dependencies.database.em.fork(), new Date(at), 1_000);
  await clean('2026-01-31T00:00:00Z');
  expect(await summary()).toHaveLength(2);
  await clean('2026-01-31T00:00:00.001Z');
  expect(await summary()).toEqual(['seen NOT_ALLOWED color 1']);
});

test('the answer is the same if the counts cannot be stored', async () => {
  const { send } = await newWorkspace();
  const refused = { eventName: 'seen', ...ann, properties: { price: 'x' } };
  const before = await send(refused);
  await gateway.dependencies.sql.query('alter table event_violation rename to event_violation_away', []);
  try {
    const during = await send(refused);
    expect(during.status).toBe(before.status);
    expect(gateway.logged.at(-1)).toBeDefined();
    expect(gateway.logged.some((line) => line.includes('event_violation') && line.includes('"level":50'))).toBe(true);
  } finally {
    await gateway.dependencies.sql.query('alter table event_violation_away rename to event_violation', []);
  }
});
