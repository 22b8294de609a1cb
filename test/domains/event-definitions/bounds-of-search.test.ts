import { afterAll, beforeAll, expect, test } from 'vitest';
import { type TestGateway, startTestGateway } from '../../support/fixtures/gateway.ts';

let gateway: TestGateway;
let key: string;
beforeAll(async () => {
  gateway = await startTestGateway();
  ({ key } = await gateway.createKey());
  await gateway.rest('POST', '/events/2026-03/event-definitions', { key, body: { label: 'Sold' } });
});
afterAll(() => gateway.close());

const QUERY = `query Search($filter: EventDefinitionFilter, $email: String) { viewer { organization {
  eventDefinitions(filter: $filter) { nodes { name occurrences(filter: { email: $email }) { totalCount } } } } } }`;

/** The names that are found or the messages of what is refused, and the statements that read definitions or occurrences. */
async function ask(variables: object) {
  gateway.statements.length = 0;
  const { data, errors = [] } = await gateway.graphql<{
    viewer: { organization: { eventDefinitions: { nodes: { name: string }[] } } | null };
  }>(key, QUERY, { ...variables });
  const { nodes = [] } = data?.viewer.organization?.eventDefinitions ?? {};
  return { told: [...nodes.map(({ name }) => name), ...errors.map(({ message }) => message)], read: reading() };
}

async function search(searchString: string) {
  gateway.statements.length = 0;
  const { body } = await gateway.rest<{ results?: { name: string }[]; errors?: { message: string }[] }>(
    'GET',
    `/events/2026-03/event-definitions?searchString=${searchString}`,
    { key },
  );
  return {
    told: [...(body.results ?? []).map(({ name }) => name), JSON.stringify(body.errors ?? '')],
    read: reading(),
  };
}

const reading = () =>
  gateway.statements.filter((statement) => /event_(?:definition|occurrence)/.test(statement)).length;

test('a search has at most 1000 characters on both APIs: one more is refused in the same words, and nothing is read', async () => {
  expect((await ask({ filter: { search: 'x'.repeat(1000) } })).told).toEqual([]);
  expect((await search('x'.repeat(1000))).told).toEqual(['""']);
  const refused = await ask({ filter: { search: 'x'.repeat(1001) } });
  expect(refused).toEqual({ told: ['filter.search: must be at most 1000 characters'], read: 0 });
  const { told, read } = await search('x'.repeat(1001));
  expect([read, told.join()]).toEqual([0, expect.stringContaining('must be at most 1000 characters')]);
});

test('a filter takes at most 100 primary objects, each of at most 100 characters; null and none are no condition', async () => {
  const objects = (count: number) => Array.from({ length: count }, (_, index) => `OBJECT_${index}`);
  expect((await ask({ filter: { primaryObjects: ['CONTACT'], customObjectNames: objects(100) } })).told).toEqual([
    'sold',
  ]);
  expect((await ask({ filter: { search: null, primaryObjects: null, hasCustomMatchingId: null } })).told).toEqual([
    'sold',
  ]);
  expect((await ask({ filter: { primaryObjects: [] } })).told).toEqual([]);
  expect(await ask({ filter: { customObjectNames: objects(101) } })).toEqual({
    told: [expect.stringMatching(/^filter\.customObjectNames: .*100/)],
    read: 0,
  });
  expect(await ask({ filter: { customObjectNames: ['x'.repeat(101)] } })).toEqual({
    told: [expect.stringMatching(/^filter\.customObjectNames\.0: .*100/)],
    read: 0,
  });
});

test('an e-mail address to look for has at most 254 characters', async () => {
  const { told } = await ask({ email: 'x'.repeat(255) });
  expect(told).toEqual([expect.stringMatching(/^filter\.email: must be at most 254 characters$/)]);
});
