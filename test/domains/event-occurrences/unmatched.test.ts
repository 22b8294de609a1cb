import { expect, test } from 'vitest';
import { DEFINITIONS_PATH } from '../../support/fixtures/event-definitions.ts';
import { useTestGateway } from '../../support/fixtures/gateway.ts';
import { mutate } from '../../support/fixtures/sessions.ts';

/** An occurrence that custom matching links to no record is stored, counted, and says why. */

const gateway = useTestGateway();

interface Occurrences {
  readonly totalCount: number;
  readonly nodes: readonly {
    readonly id: string;
    readonly objectId: string | null;
    readonly unmatchedReason: string | null;
  }[];
}

async function newEvent(primaryObject: string, more: object = {}) {
  const { key } = await gateway.createKey();
  const rule = { primaryObjectRule: { targetObjectPropertyName: 'serial', eventPropertyName: 'number' } };
  await gateway.rest('POST', DEFINITIONS_PATH, {
    key,
    body: {
      label: 'Started',
      primaryObject,
      customMatchingId: rule,
      propertyDefinitions: [{ label: 'Number', type: 'number' }],
      ...more,
    },
  });
  let minute = 0;
  const send = async (occurrence: object) => {
    minute += 1;
    const occurredAt = Date.UTC(2026, 2, 1, 10, minute);
    const body = { eventName: 'started', occurredAt, ...occurrence };
    expect((await gateway.rest('POST', '/events/2026-03/send', { key, body })).status).toBe(204);
  };
  const list = async (filter = '') => {
    const query = `{ eventDefinition(name: "started") { occurrences(filter: { ${filter} }, orderBy: { field: OCCURRED_AT, direction: ASC }) {
      totalCount nodes { id objectId unmatchedReason } } } }`;
    const { data } = await gateway.graphql<{ eventDefinition: { occurrences: Occurrences } }>(key, query);
    return data?.eventDefinition.occurrences;
  };
  const register = (objectType: string, value: string) =>
    mutate(gateway, key, 'registerObjectIdentifiers', {
      objectType,
      propertyName: 'serial',
      identifiers: [{ value, objectId: `machine-${value}` }],
    });
  return { key, send, list, register };
}

const shown = (occurrences: Occurrences | undefined) =>
  occurrences?.nodes.map(({ objectId, unmatchedReason }) => `${objectId} ${unmatchedReason}`);

test('each occurrence says why it has no record, and the reasons can be counted', async () => {
  const { send, list, register } = await newEvent('machine');
  await register('machine', '7');
  await send({ properties: { number: 7 } });
  await send({ properties: { number: 8 } });
  await send({ properties: { number: null } });
  await send({});
  await send({ objectId: 'given' });
  expect(shown(await list())).toEqual([
    'machine-7 null',
    'null NOT_REGISTERED',
    'null NO_VALUE',
    'null NO_VALUE',
    'given null',
  ]);
  const counts = async (filter: string) => (await list(filter))?.totalCount;
  expect(await counts('unmatchedReasons: [NOT_REGISTERED]')).toBe(1);
  expect(await counts('unmatchedReasons: [NO_VALUE]')).toBe(2);
  expect(await counts('unmatchedReasons: [NO_VALUE, NOT_REGISTERED]')).toBe(3);
  expect(await counts('unmatchedReasons: []')).toBe(0);
  expect(await counts('unmatchedReasons: [NO_VALUE], occurredFrom: "2026-03-01T10:04:00Z"')).toBe(1);
  expect(shown(await list('unmatchedReasons: [NOT_REGISTERED]'))).toEqual(['null NOT_REGISTERED']);
});

test('a value that is registered later links later occurrences, and changes nothing of those before', async () => {
  const { send, list, register } = await newEvent('machine');
  await send({ properties: { number: 7 } });
  await register('machine', '7');
  await send({ properties: { number: '7' } });
  expect(shown(await list())).toEqual(['null NOT_REGISTERED', 'machine-7 null']);
});

test('a contact with an address is unmatched only for a value that is registered for nobody', async () => {
  const { send, list } = await newEvent('CONTACT');
  await send({ email: 'ann@example.com' });
  await send({ utk: 'token' });
  await send({ email: 'ann@example.com', properties: { number: 8 } });
  await send({});
  expect(shown(await list())).toEqual(['null null', 'null null', 'null NOT_REGISTERED', 'null NO_VALUE']);
});

test('an event without custom matching has no unmatched occurrences, and a single one can be read by its id', async () => {
  const plain = await newEvent('CONTACT', { customMatchingId: null });
  await plain.send({ email: 'ann@example.com' });
  expect(shown(await plain.list())).toEqual(['null null']);
  expect((await plain.list('unmatchedReasons: [NO_VALUE, NOT_REGISTERED]'))?.totalCount).toBe(0);
  const { key, send, list } = await newEvent('machine');
  await send({ properties: { number: 8 } });
  const [one] = (await list())?.nodes ?? [];
  const query = `query($id: ID!) { node(id: $id) { ... on EventOccurrence { unmatchedReason } } }`;
  const { data } = await gateway.graphql<{ node: object }>(key, query, { id: one?.id });
  expect(data?.node).toEqual({ unmatchedReason: 'NOT_REGISTERED' });
});
