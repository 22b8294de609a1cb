import { beforeAll, expect, test } from 'vitest';
import { useTestGateway } from '../../support/fixtures/gateway.ts';

const gateway = useTestGateway();
let key: string;
beforeAll(async () => {
  ({ key } = await gateway.createKey());
  await gateway.rest('POST', '/events/2026-03/event-definitions', { key, body: { label: 'Sold' } });
});

const QUERY = `query Search($filter: EventDefinitionFilter, $email: String) { viewer { organization {
  eventDefinitions(filter: $filter) { nodes { name occurrences(filter: { email: $email }) { totalCount } } } } } }`;

/** The names in the answer with the messages of its errors, and the number of statements that read definitions or occurrences. */
async function ask(variables: object) {
  gateway.statements.length = 0;
  const { data, errors = [] } = await gateway.graphql<{
    viewer: { organization: { eventDefinitions: { nodes: { name: string }[] } } | null };
  }>(key, QUERY, { ...variables });
  const { nodes = [] } = data?.viewer.organization?.eventDefinitions ?? {};
  return {
    namesAndErrors: [...nodes.map(({ name }) => name), ...errors.map(({ message }) => message)],
    read: countReads(),
  };
}

async function search(searchString: string) {
  gateway.statements.length = 0;
  const { body } = await gateway.rest<{ results?: { name: string }[]; errors?: { message: string }[] }>(
    'GET',
    `/events/2026-03/event-definitions?searchString=${searchString}`,
    { key },
  );
  return {
    namesAndErrors: [...(body.results ?? []).map(({ name }) => name), JSON.stringify(body.errors ?? '')],
    read: countReads(),
  };
}

const countReads = () =>
  gateway.statements.filter((statement) => /event_(?:definition|occurrence)/.test(statement)).length;

test('a search text has at most 1000 characters on both APIs; a longer one is refused before anything is read', async () => {
  expect((await ask({ filter: { search: 'x'.repeat(1000) } })).namesAndErrors).toEqual([]);
  expect((await search('x'.repeat(1000))).namesAndErrors).toEqual(['""']);
  const refused = await ask({ filter: { search: 'x'.repeat(1001) } });
  expect(refused).toEqual({ namesAndErrors: ['filter.search: must be at most 1000 characters'], read: 0 });
  const { namesAndErrors, read } = await search('x'.repeat(1001));
  expect([read, namesAndErrors.join()]).toEqual([0, expect.stringContaining('must be at most 1000 characters')]);
});

test('a filter has at most 100 custom object names, each of at most 100 characters; a null filter is no condition', async () => {
  const objects = (count: number) => Array.from({ length: count }, (_, index) => `OBJECT_${index}`);
  expect(
    (await ask({ filter: { primaryObjects: ['CONTACT'], customObjectNames: objects(100) } })).namesAndErrors,
  ).toEqual(['sold']);
  expect(
    (await ask({ filter: { search: null, primaryObjects: null, hasCustomMatchingId: null } })).namesAndErrors,
  ).toEqual(['sold']);
  expect((await ask({ filter: { primaryObjects: [] } })).namesAndErrors).toEqual([]);
  expect(await ask({ filter: { customObjectNames: objects(101) } })).toEqual({
    namesAndErrors: [expect.stringMatching(/^filter\.customObjectNames: .*100/)],
    read: 0,
  });
  expect(await ask({ filter: { customObjectNames: ['x'.repeat(101)] } })).toEqual({
    namesAndErrors: [expect.stringMatching(/^filter\.customObjectNames\.0: .*100/)],
    read: 0,
  });
});

test('an e-mail address in a filter has at most 254 characters', async () => {
  const { namesAndErrors } = await ask({ email: 'x'.repeat(255) });
  expect(namesAndErrors).toEqual([expect.stringMatching(/^filter\.email: must be at most 254 characters$/)]);
});
