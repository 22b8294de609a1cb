import { beforeAll, expect, test } from 'vitest';
import { useOwnGateway } from '../../support/fixtures/gateway.ts';

const gateway = useOwnGateway();
let key: string;
beforeAll(async () => {
  ({ key } = await gateway.createKey());
});

/** Creates the definitions with these numbers, each with a property and two occurrences. */
async function fill(from: number, to: number): Promise<void> {
  const inputs: object[] = [];
  for (let index = from; index < to; index += 1) {
    const { status } = await gateway.rest('POST', '/events/2026-03/event-definitions', {
      key,
      body: { label: `Event ${index}`, propertyDefinitions: [{ label: 'Note', type: 'string' }] },
    });
    expect(status).toBe(201);
    for (const email of ['ada@example.com', 'bob@example.com'])
      inputs.push({ eventName: `event_${index}`, email, properties: { note: `note ${index}` } });
  }
  expect((await gateway.rest('POST', '/events/2026-03/send/batch', { key, body: { inputs } })).status).toBe(204);
}

interface Counted {
  readonly statements: number;
  readonly nodes: readonly Readonly<Record<string, unknown>>[];
}

async function ask(selection: string): Promise<Counted> {
  const query = `{ viewer { organization { eventDefinitions(first: 50) { nodes { ${selection} } } } } }`;
  gateway.statements.length = 0;
  const { data, errors } = await gateway.graphql<{
    viewer: { organization: { eventDefinitions: { nodes: Counted['nodes'] } } };
  }>(key, query);
  expect(errors).toBeUndefined();
  return { statements: gateway.statements.length, nodes: data?.viewer.organization.eventDefinitions.nodes ?? [] };
}

const PAGE = 'nodes { email properties } pageInfo { hasNextPage }';
const FIELDS: Readonly<Record<string, string>> = {
  properties: 'properties { name label }',
  'properties, aliased': 'properties { name } again: properties { label options { value } }',
  occurrences: `occurrences(first: 1) { ${PAGE} }`,
  'occurrences, aliased': `occurrences(first: 1) { ${PAGE} } last: occurrences(last: 1, filter: { email: "ada@example.com" }) { ${PAGE} }`,
  totalCount: 'occurrences { totalCount }',
  'totalCount, aliased':
    'occurrences(first: 1) { totalCount } again: occurrences(last: 2) { totalCount } some: occurrences(filter: { email: "ada@example.com" }) { totalCount }',
  occurrencesPerDay: 'occurrencesPerDay { day count }',
  'occurrencesPerDay, aliased':
    'occurrencesPerDay { count } again: occurrencesPerDay { day } past: occurrencesPerDay(until: "2026-01-01") { count }',
};

test('fields below definitions send as many statements for 50 definitions as for 5', async () => {
  const measure = async () => {
    const found: Record<string, number> = {};
    for (const [name, selection] of Object.entries(FIELDS)) found[name] = (await ask(selection)).statements;
    return found;
  };
  await ask('name');
  const { statements: alone } = await ask('name');
  await fill(0, 5);
  const few = await measure();
  await fill(5, 50);
  expect(await measure()).toEqual(few);
  // In addition to the list: one statement for each field with different arguments or columns, and one for its count.
  expect(Object.fromEntries(Object.entries(few).map(([name, count]) => [name, count - alone]))).toEqual({
    properties: 1,
    'properties, aliased': 2,
    occurrences: 1,
    'occurrences, aliased': 2,
    totalCount: 2,
    'totalCount, aliased': 6,
    occurrencesPerDay: 1,
    'occurrencesPerDay, aliased': 2,
  });
  const { nodes } = await ask(
    `name properties { name } ${FIELDS['occurrences']} last: occurrences(last: 2) { totalCount nodes { email properties } }`,
  );
  expect(nodes).toHaveLength(50);
  for (const { name, properties, occurrences, last } of nodes) {
    const note = `note ${String(name).slice('event_'.length)}`;
    expect(properties).toHaveLength(33);
    expect(occurrences).toMatchObject({ nodes: [{ properties: { note } }], pageInfo: { hasNextPage: true } });
    expect(last).toMatchObject({ totalCount: 2, nodes: [{ properties: { note } }, { properties: { note } }] });
  }
});

test('occurrences and definitions are read by their global ids, with one statement for each type', async () => {
  const { nodes } = await ask('id occurrences { nodes { id email } }');
  const occurrences = nodes.flatMap((node) => (node['occurrences'] as { nodes: { id: string }[] }).nodes);
  const read = async (ids: readonly unknown[]) => {
    gateway.statements.length = 0;
    const query =
      'query Nodes($ids: [ID!]!) { nodes(ids: $ids) { id ... on EventOccurrence { email } ... on EventDefinition { name } } }';
    const { data } = await gateway.graphql<{ nodes: object[] }>(key, query, { ids });
    return { found: data?.nodes, statements: gateway.statements.length };
  };
  const few = await read([occurrences[0]?.id, nodes[0]?.['id']]);
  const many = await read([...occurrences.slice(0, 50).map(({ id }) => id), ...nodes.slice(0, 50).map(({ id }) => id)]);
  expect([few.statements, many.statements]).toEqual([3, 3]);
  expect(many.found?.slice(0, 50)).toEqual(occurrences.slice(0, 50));
  expect(many.found?.at(50)).toMatchObject({ id: nodes[0]?.['id'], name: 'event_0' });
});

test('a later mutation of a document returns its own changes, not data that an earlier mutation has read', async () => {
  const add = (label: string) =>
    `addEventProperty(input: { eventName: "event_0", label: "${label}", type: STRING }) {
      ... on AddEventPropertyPayload { eventDefinition { properties { name } occurrences { totalCount } } } }`;
  type Added = { eventDefinition: { properties: { name: string }[] } };
  const { data } = await gateway.graphql<Record<'first' | 'second', Added>>(
    key,
    `mutation { first: ${add('First')} second: ${add('Second')} }`,
  );
  const custom = (added: Added | undefined) =>
    added?.eventDefinition.properties.map(({ name }) => name).filter((name) => !name.startsWith('svc_'));
  expect([custom(data?.first), custom(data?.second)]).toEqual([
    ['note', 'first'],
    ['note', 'first', 'second'],
  ]);
});
