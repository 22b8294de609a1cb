import { afterAll, beforeAll, expect, test } from 'vitest';
import { type Api, type Outcome, done, apisOf } from '../../support/fixtures/event-definitions.ts';
import { type TestGateway, startTestGateway } from '../../support/fixtures/gateway.ts';

/** Two gateways on one database, which share no memory, like two processes. */
let gateways: readonly [TestGateway, TestGateway];
beforeAll(async () => {
  const first = await startTestGateway();
  gateways = [first, await startTestGateway({}, { beside: first })];
});
afterAll(async () => {
  await gateways[1].close();
  await gateways[0].close();
});

const BARE = { includeDefaultProperties: false };
const TIMES = Array.from({ length: 20 }, (_, index) => index);

/** Clients of a new organization: both APIs of both gateways. */
async function createApis(): Promise<readonly [Api, Api, Api, Api]> {
  const { key } = await gateways[0].createKey();
  const [a, b] = apisOf(gateways[0], key);
  const [c, d] = apisOf(gateways[1], key);
  return [a, d, c, b];
}

function at<Item>(items: readonly Item[], index: number): Item {
  const item = items[index % items.length];
  if (item === undefined) throw new Error('no items');
  return item;
}

function statusesOf(outcomes: readonly Outcome<unknown>[]): Record<string, number> {
  const counts: Record<string, number> = {};
  for (const outcome of outcomes) {
    const status = 'refused' in outcome ? `${outcome.refused.status} ${outcome.refused.message}` : 'done';
    counts[status] = (counts[status] ?? 0) + 1;
  }
  return counts;
}

test('of 20 concurrent creations with one name, one succeeds and 19 are 409', async () => {
  const apis = await createApis();
  const outcomes = await Promise.all(
    TIMES.map((index) => at(apis, index).create({ label: 'One', name: 'one', ...BARE })),
  );
  expect(statusesOf(outcomes)).toEqual({
    done: 1,
    '409 name: one already exists as the name of another event definition; choose another name': 19,
  });
  expect(done(await apis[0].search({}))).toEqual({ names: ['one'], total: 1 });
});

test('20 concurrent creations with one label all succeed, with different names', async () => {
  const apis = await createApis();
  const outcomes = await Promise.all(TIMES.map((index) => at(apis, index).create({ label: 'Same', ...BARE })));
  const names = outcomes.map((outcome) => done(outcome).name);
  expect(names.toSorted()).toEqual(['same', ...TIMES.slice(1).map((index) => `same_${index + 1}`)].toSorted());
});

test('concurrent creations whose given and generated names collide: each generated name is free, and a given name is 409 only if it is taken', async () => {
  const apis = await createApis();
  const outcomes = await Promise.all(
    TIMES.map((index) =>
      at(apis, index).create({ label: 'Both', ...(index % 3 === 0 && { name: `both_${index}` }), ...BARE }),
    ),
  );
  const generated = outcomes.filter((_, index) => index % 3 !== 0).map((outcome) => done(outcome).name);
  const given = outcomes.flatMap((outcome, index) => (index % 3 === 0 ? [{ name: `both_${index}`, outcome }] : []));
  const expected = ({ name }: { name: string }) =>
    generated.includes(name)
      ? `409 name: ${name} already exists as the name of another event definition; choose another name`
      : 'done';
  expect(given.map(({ outcome }) => Object.keys(statusesOf([outcome])))).toEqual(given.map((one) => [expected(one)]));
  const names = [...generated, ...given.map(({ name }) => name)];
  const found = done(await apis[0].search({}));
  expect(found.names.toSorted()).toEqual([...new Set(names)].toSorted());
  expect(new Set(generated).size).toBe(generated.length);
});

test('of 20 concurrent additions to 45 properties, exactly 5 succeed, because 50 is the maximum', async () => {
  const apis = await createApis();
  const propertyDefinitions = Array.from({ length: 45 }, (_, index) => ({ label: `P${index}`, type: 'bool' }));
  done(await apis[0].create({ label: 'Full', ...BARE, propertyDefinitions }));
  const outcomes = await Promise.all(
    TIMES.map((index) => at(apis, index).addProperty('full', { label: `Q${index}`, type: 'bool' })),
  );
  expect(statusesOf(outcomes)).toEqual({
    done: 5,
    '400 an event definition has at most 50 custom properties; delete one first': 15,
  });
  const { properties } = done(await apis[1].read('full'));
  expect(properties.map(({ displayOrder }) => displayOrder)).toEqual(
    Array.from({ length: 50 }, (_, index) => 32 + index),
  );
});

test('of 20 concurrent additions of one property name, one succeeds; without a given name all succeed, with different names', async () => {
  const apis = await createApis();
  done(await apis[0].create({ label: 'Event', ...BARE }));
  const given = await Promise.all(
    TIMES.map((index) => at(apis, index).addProperty('event', { label: 'P', name: 'p', type: 'bool' })),
  );
  expect(statusesOf(given)).toEqual({
    done: 1,
    '409 name: p already exists as the name of another property of this event definition; choose another name': 19,
  });
  const generated = await Promise.all(
    TIMES.map((index) => at(apis, index).addProperty('event', { label: 'P', type: 'bool' })),
  );
  expect(new Set(generated.map((outcome) => done(outcome).name)).size).toBe(20);
});

test('while a definition is deleted, its name is never available for a concurrent creation', async () => {
  const apis = await createApis();
  done(await apis[0].create({ label: 'Worn', name: 'worn', ...BARE }));
  const [deletions, creations] = await Promise.all([
    Promise.all(TIMES.slice(0, 5).map((index) => at(apis, index).delete('worn'))),
    Promise.all(TIMES.map((index) => at(apis, index + 1).create({ label: 'Worn', name: 'worn', ...BARE }))),
  ]);
  expect(statusesOf(deletions)).toEqual({ done: 1, '404 event definition not found': 4 });
  const usedBefore =
    '409 name: worn was used by a deleted event definition and can never be used again; choose another name';
  const taken = '409 name: worn already exists as the name of another event definition; choose another name';
  const counts = statusesOf(creations);
  expect((counts[usedBefore] ?? 0) + (counts[taken] ?? 0)).toBe(20);
  expect(done(await apis[2].search({}))).toEqual({ names: [], total: 0 });
});

test('a change that is concurrent with a deletion succeeds before it or is 404; none is made after it', async () => {
  const apis = await createApis();
  done(await apis[0].create({ label: 'Going', name: 'going', ...BARE }));
  const outcomes = await Promise.all([
    ...TIMES.slice(0, 8).map((index) => at(apis, index).addProperty('going', { label: 'P', type: 'bool' })),
    apis[3].delete('going'),
    ...TIMES.slice(0, 8).map((index) => at(apis, index).update('going', { label: 'X' })),
  ]);
  const refusals = Object.keys(statusesOf(outcomes)).filter((status) => status !== 'done');
  expect(refusals.filter((status) => status !== '404 event definition not found')).toEqual([]);
  const added = outcomes.slice(0, 8).filter((outcome) => 'value' in outcome).length;
  const [row] = await gateways[0].dependencies.sql.query<{ count: number }>(
    `select count(*)::int as count from event_property p join event_definition d on d.id = p.definition_id where d.name = 'going'`,
    [],
  );
  expect(row?.count).toBe(added);
});

test('20 concurrent deletions of the property that the custom matching uses are all refused', async () => {
  const apis = await createApis();
  const customMatchingId = { primaryObjectRule: { targetObjectPropertyName: 'key', eventPropertyName: 'key' } };
  done(
    await apis[0].create({
      label: 'Matched',
      ...BARE,
      propertyDefinitions: [{ label: 'Key', type: 'string' }],
      customMatchingId,
    }),
  );
  const outcomes = await Promise.all(TIMES.map((index) => at(apis, index).deleteProperty('matched', 'key')));
  expect(Object.values(statusesOf(outcomes))).toEqual([20]);
  expect(done(await apis[1].read('matched')).properties.map(({ name }) => name)).toEqual(['key']);
});
