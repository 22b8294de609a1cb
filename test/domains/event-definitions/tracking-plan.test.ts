import { expect, test } from 'vitest';
import { DEFINITIONS_PATH } from '../../support/fixtures/event-definitions.ts';
import { useOwnGateway } from '../../support/fixtures/gateway.ts';

const gateway = useOwnGateway();

const PATH = '/v1/tracking-plan';

interface Property {
  name: string;
  type: string;
  label: string;
  description: string;
  options: object[];
  createdAt: string;
  displayOrder: number;
  isDefault: boolean;
}
interface Definition {
  id: string;
  name: string;
  label: string;
  description: string;
  updatedAt: string;
  properties: Property[];
}

async function newWorkspace() {
  const { key } = await gateway.createKey();
  const apply = async (plan: object) => {
    const { status, body } = await gateway.rest<Record<string, unknown>>('POST', PATH, { key, body: plan });
    return { status, body };
  };
  const readAll = async () =>
    (await gateway.rest<{ results: Definition[] }>('GET', `${DEFINITIONS_PATH}?includeProperties=true`, { key })).body
      .results;
  const read = async (name: string) =>
    (await gateway.rest<Definition>('GET', `${DEFINITIONS_PATH}/${name}`, { key })).body;
  return { key, apply, read, readAll };
}

const event = (name: string, propertyDefinitions: object[] = [], rest: object = {}) => ({
  name,
  label: `Event ${name}`,
  includeDefaultProperties: false,
  propertyDefinitions,
  ...rest,
});
const price = { name: 'price', label: 'Price', type: 'number' };
const color = {
  name: 'color',
  label: 'Color',
  type: 'enumeration',
  options: ['red', 'blue'].map((value) => ({ value, label: value })),
};
const nothing = { isDryRun: false, created: [], changed: [], deleted: [], unchanged: [] };

test('one plan creates, changes and deletes events; what does not differ keeps its times', async () => {
  const { apply, read, readAll } = await newWorkspace();
  const created = await apply({ definitions: [event('b', [color]), event('a', [price]), event('c')] });
  expect(created).toEqual({ status: 200, body: { ...nothing, created: ['a', 'b', 'c'] } });
  const [a, b, c] = await readAll();

  gateway.setClock(new Date(Date.now() + 60_000));
  const plan = {
    definitions: [
      event('a', [{ ...price, label: 'Net price' }, color], { expectedUpdatedAt: a?.updatedAt }),
      event('b', [color], { expectedUpdatedAt: b?.updatedAt }),
    ],
    deletions: [{ name: 'c', expectedUpdatedAt: c?.updatedAt }],
  };
  const checked = await apply({ ...plan, isDryRun: true });
  const outcome = { changed: ['a'], deleted: ['c'], unchanged: ['b'] };
  expect(checked.body).toEqual({ ...nothing, ...outcome, isDryRun: true });
  expect(await readAll()).toEqual([a, b, c]);
  expect((await apply(plan)).body).toEqual({ ...nothing, ...outcome });
  gateway.setClock(undefined);

  const after = await readAll();
  expect(after.map(({ name }) => name)).toEqual(['a', 'b']);
  expect(after[1]).toEqual(b);
  expect((await read('a')).properties).toMatchObject([
    { name: 'price', label: 'Net price', createdAt: a?.properties[0]?.createdAt, displayOrder: 32 },
    { name: 'color', options: [{ value: 'red' }, { value: 'blue' }], displayOrder: 33 },
  ]);
});

test('a property that is not in the plan is deleted, and one with another type is replaced in its place', async () => {
  const { apply, read } = await newWorkspace();
  await apply({ definitions: [event('a', [price, color, { name: 'note', label: 'Note', type: 'string' }])] });
  const { updatedAt } = await read('a');
  const planned = event('a', [{ ...price, type: 'string' }, color], { expectedUpdatedAt: updatedAt });
  expect((await apply({ definitions: [planned] })).body).toEqual({ ...nothing, changed: ['a'] });
  expect((await read('a')).properties.map(({ name, type }) => [name, type])).toEqual([
    ['price', 'string'],
    ['color', 'enumeration'],
  ]);
});

test('an event that was changed or created meanwhile, a used name and a missing event are conflicts, which change nothing', async () => {
  const { key, apply, read, readAll } = await newWorkspace();
  await apply({ definitions: [event('a'), event('b'), event('gone')] });
  await gateway.rest('DELETE', `${DEFINITIONS_PATH}/gone`, { key });
  const [a, b] = await readAll();
  // A property is added, which the reader of the old state does not know.
  gateway.setClock(new Date(Date.now() + 60_000));
  await gateway.rest('POST', `${DEFINITIONS_PATH}/b/property`, { key, body: price });
  gateway.setClock(undefined);
  const before = await readAll();
  const changed = event('a', [price], { label: 'Changed', expectedUpdatedAt: a?.updatedAt });
  const conflicts: [object, string][] = [
    [
      event('b', [], { expectedUpdatedAt: b?.updatedAt }),
      `definitions.1.expectedUpdatedAt: the event b was changed at ${(await read('b')).updatedAt}`,
    ],
    [event('b'), 'definitions.1.name: b already exists as the name of another event definition'],
    [event('gone'), 'definitions.1.name: gone was used by a deleted event definition'],
    [
      event('new', [], { expectedUpdatedAt: a?.updatedAt }),
      'definitions.1.expectedUpdatedAt: the event new does not exist',
    ],
  ];
  for (const [conflict, message] of conflicts) {
    const { status, body } = await apply({ definitions: [changed, conflict, event('last')] });
    expect({ status, body }).toEqual({ status: 409, body: { error: expect.stringContaining(message) } });
  }
  const deletion = { name: 'gone', expectedUpdatedAt: a?.updatedAt };
  expect(await apply({ definitions: [changed], deletions: [deletion] })).toMatchObject({ status: 409 });
  expect(await readAll()).toEqual(before);
});

test('all faults are reported together, with their positions; the identity of an event never changes', async () => {
  const { apply, readAll } = await newWorkspace();
  await apply({ definitions: [event('a')] });
  const before = await readAll();
  const matching = { primaryObjectRule: { targetObjectPropertyName: 'sku', eventPropertyName: 'missing' } };
  const expected = { expectedUpdatedAt: before[0]?.updatedAt };
  const { status, body } = await apply({
    definitions: [
      event('a', [], { primaryObject: 'ORDER', ...expected }),
      event('n', [], { customMatchingId: matching }),
    ],
  });
  expect({ status, body }).toEqual({
    status: 400,
    body: {
      error:
        'definitions.0.primaryObject: never changes; the primary object of a is CONTACT; definitions.1.customMatchingId.primaryObjectRule.eventPropertyName: must be the name of a property of this definition; there is no property missing',
    },
  });
  const twice = await apply({
    definitions: [event('x', [price, price]), event('x'), event('y')],
    deletions: [{ name: 'y', ...expected }],
  });
  expect(twice).toMatchObject({
    status: 400,
    body: {
      error:
        'definitions.0.propertyDefinitions.1.name: price occurs twice; definitions.1.name: x occurs twice; deletions.0.name: y is also one of the definitions',
    },
  });
  const many = await apply({ definitions: Array.from({ length: 251 }, (_, index) => event(`e${index}`)) });
  expect(many).toMatchObject({ status: 400, body: { error: 'definitions: must have at most 250 items' } });
  expect(await readAll()).toEqual(before);
});

test('GraphQL applies the same plan, and its errors name the position in the input', async () => {
  const { key, readAll } = await newWorkspace();
  const mutation = `mutation($input: ApplyTrackingPlanInput!) { applyTrackingPlan(input: $input) {
    __typename ... on ApplyTrackingPlanPayload { isDryRun created changed deleted unchanged }
    ... on Error { code path } ... on ConflictError { reason } } }`;
  const apply = async (definitions: object[]) =>
    (await gateway.graphql<{ applyTrackingPlan: object }>(key, mutation, { input: { definitions } })).data
      ?.applyTrackingPlan;
  const planned = event('a', [{ ...color, type: 'ENUMERATION' }]);
  expect(await apply([planned])).toEqual({
    __typename: 'ApplyTrackingPlanPayload',
    ...nothing,
    created: ['a'],
  });
  const path = ['definitions', '0', 'name'];
  expect(await apply([planned])).toEqual({ __typename: 'ConflictError', code: 'CONFLICT', reason: 'NAME_TAKEN', path });
  expect(await readAll()).toHaveLength(1);
});

test('each changed event has one audit log entry; a plan without effect and a dry run have none', async () => {
  const { key, apply, readAll } = await newWorkspace();
  await apply({ definitions: [event('a'), event('b')] });
  const [a, b] = await readAll();
  await apply({ definitions: [event('a', [], { expectedUpdatedAt: a?.updatedAt })] });
  await apply({ definitions: [event('c')], isDryRun: true });
  const entries = await gateway.dependencies.sql.query<{ id: string }>(
    `select target_id as id from audit_entry where operation = 'applyTrackingPlan' and target_id = any($1)`,
    [[a?.id, b?.id]],
  );
  const { body } = await gateway.rest<{ id: string }>('GET', `${DEFINITIONS_PATH}/a`, { key });
  expect(new Set(entries.map(({ id }) => id))).toEqual(new Set([body.id, b?.id]));
});

test('a name of another organization is free, and its event stays as it is', async () => {
  const [mine, foreign] = [await newWorkspace(), await newWorkspace()];
  await foreign.apply({ definitions: [event('a', [price])] });
  const before = await foreign.readAll();
  const expectedUpdatedAt = before[0]?.updatedAt;
  const guess = await mine.apply({ deletions: [{ name: 'a', expectedUpdatedAt }] });
  const missing = await mine.apply({ deletions: [{ name: 'b', expectedUpdatedAt }] });
  expect(guess).toEqual(JSON.parse(JSON.stringify(missing).replaceAll('event b', 'event a')));
  expect((await mine.apply({ definitions: [event('a')] })).body).toEqual({ ...nothing, created: ['a'] });
  expect(await foreign.readAll()).toEqual(before);
});

test('of two plans for the same new event one wins, and the other changes nothing', async () => {
  const { apply, readAll } = await newWorkspace();
  const outcomes = await Promise.all(
    ['x', 'y', 'z'].map((name) => apply({ definitions: [event(name), event('shared')] })),
  );
  expect(outcomes.filter(({ status }) => status === 200)).toHaveLength(1);
  expect(outcomes.filter(({ status }) => status === 409)).toHaveLength(2);
  expect(await readAll()).toHaveLength(2);
});

test('every change of a property changes the `updatedAt` of its event', async () => {
  const { key, apply, read } = await newWorkspace();
  await apply({ definitions: [event('a', [color])] });
  const base = `${DEFINITIONS_PATH}/a/property`;
  const changes: [string, string, object?][] = [
    ['POST', base, price],
    ['PATCH', `${base}/price`, { label: 'Net price' }],
    ['DELETE', `${base}/price`],
  ];
  let minute = 1;
  for (const [method, path, body] of changes) {
    const at = new Date(Date.now() + 60_000 * (minute += 1));
    gateway.setClock(at);
    await gateway.rest(method, path, { key, body });
    expect([method, (await read('a')).updatedAt]).toEqual([method, at.toISOString()]);
  }
  gateway.setClock(undefined);
});

test('`properties(isDefault:)` lists only the custom or only the default properties', async () => {
  const { key, apply } = await newWorkspace();
  await apply({ definitions: [event('a', [price], { includeDefaultProperties: true })] });
  const query = `{ eventDefinition(name: "a") { custom: properties(isDefault: false) { name }
    defaults: properties(isDefault: true) { name isDefault } all: properties { name } } }`;
  const { data } = await gateway.graphql<{ eventDefinition: Record<string, { name: string }[]> }>(key, query);
  const { custom, defaults = [], all = [] } = data?.eventDefinition ?? {};
  expect(custom).toEqual([{ name: 'price' }]);
  expect([defaults.length, all.length]).toEqual([32, 33]);
});
