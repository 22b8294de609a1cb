import { afterEach, describe, expect, test } from 'vitest';
import { DEFINITIONS_PATH, define, gql, send } from '../../support/fixtures/event-occurrences.ts';
import { useOwnGateway } from '../../support/fixtures/gateway.ts';

const gateway = useOwnGateway({ MONTHLY_OCCURRENCE_LIMIT: '1000' });
afterEach(() => gateway.setClock(undefined));

describe('reading', () => {
  const PAGE =
    'totalCount pageInfo { hasNextPage hasPreviousPage startCursor endCursor } nodes { objectId occurredAt }';
  type Page = {
    totalCount: number;
    pageInfo: Record<string, unknown>;
    nodes: { objectId: string; occurredAt: string }[];
  };
  async function page(key: string, name: string, given: string): Promise<Page> {
    const data = await gql<{ eventDefinition: { occurrences: Page } }>(
      gateway,
      key,
      `query($name: String!) { eventDefinition(name: $name) { occurrences(${given}) { ${PAGE} } } }`,
      { name },
    );
    return data.eventDefinition.occurrences;
  }

  async function defineWithOccurrencesOnSevenDays(): Promise<{ key: string; name: string }> {
    const { key } = await gateway.createKey();
    const name = await define(gateway, key);
    const inputs = Array.from({ length: 7 }, (_, day) => ({
      eventName: name,
      properties: {},
      objectId: String(day % 2),
      email: `${day}@example.com`,
      occurredAt: `2026-03-0${day + 1}T12:00:00+02:00`,
    }));
    expect(await send(gateway, 'GraphQL', key, [...inputs, ...inputs.slice(0, 1)])).toBeUndefined();
    return { key, name };
  }

  test('pages forward and backward, in both orders, return every occurrence once', async () => {
    const { key, name } = await defineWithOccurrencesOnSevenDays();
    for (const [size, from, cursor, more] of [
      ['first', 'after', 'endCursor', 'hasNextPage'],
      ['last', 'before', 'startCursor', 'hasPreviousPage'],
    ] as const) {
      for (const direction of ['ASC', 'DESC']) {
        const seen: string[][] = [];
        let position = '';
        for (let hasMore = true; hasMore;) {
          const { nodes, pageInfo, totalCount } = await page(
            key,
            name,
            `${size}: 3, orderBy: { direction: ${direction} }${position}`,
          );
          expect(totalCount).toBe(8);
          seen.push(nodes.map(({ occurredAt }) => occurredAt.slice(8, 10)));
          position = `, ${from}: "${String(pageInfo[cursor])}"`;
          hasMore = pageInfo[more] === true;
        }
        const days = (size === 'first' ? seen : seen.toReversed()).flat();
        const ascending = ['01', '01', '02', '03', '04', '05', '06', '07'];
        expect(days).toEqual(direction === 'ASC' ? ascending : ascending.toReversed());
      }
    }
  });

  test('all conditions of a filter must match', async () => {
    const { key, name } = await defineWithOccurrencesOnSevenDays();
    const days = async (filter: string) =>
      (await page(key, name, `orderBy: { direction: ASC }, filter: { ${filter} }`)).nodes.map(
        ({ occurredAt }) => occurredAt,
      );
    expect(await days('objectId: "1"')).toEqual([
      '2026-03-02T10:00:00.000Z',
      '2026-03-04T10:00:00.000Z',
      '2026-03-06T10:00:00.000Z',
    ]);
    expect(await days('occurredFrom: "2026-03-06T10:00:00Z", occurredBefore: "2026-03-07T10:00:00Z"')).toEqual([
      '2026-03-06T10:00:00.000Z',
    ]);
    expect(await days('email: "3@Example.com"')).toEqual(['2026-03-04T10:00:00.000Z']);
    expect(await days('email: "3@example.com", objectId: "0"')).toEqual([]);
    expect((await page(key, name, 'filter: { objectId: "0" }')).totalCount).toBe(5);
  });

  test('occurrences are found by the values of their properties, which are compared as text', async () => {
    const { key } = await gateway.createKey();
    const name = await define(gateway, key, {
      includeDefaultProperties: true,
      propertyDefinitions: [
        { label: 'Plan', type: 'string' },
        { label: 'Total', type: 'number' },
        { label: 'Renewed', type: 'bool' },
      ],
    });
    const inputs = [
      { plan: 'free', total: 0.5, renewed: true },
      { plan: 'free', total: 2, svc_city: 'Bonn' },
      { plan: 'Free', renewed: true },
    ].map((properties, index) => ({
      eventName: name,
      properties,
      objectId: String(index),
      email: `${index}@x.example`,
    }));
    expect(await send(gateway, 'GraphQL', key, inputs)).toBeUndefined();
    const found = async (...properties: readonly (readonly [string, string])[]) => {
      const conditions = properties.map(([of, value]) => `{ name: "${of}", value: "${value}" }`);
      const { nodes, totalCount } = await page(key, name, `filter: { properties: [${conditions.join()}] }`);
      return [totalCount, ...nodes.map(({ objectId }) => objectId).toSorted()];
    };
    expect([
      await found(['plan', 'free']),
      await found(['plan', 'free'], ['total', '0.5']),
      await found(['renewed', 'true']),
      await found(['hs_city', 'Bonn']),
      await found(['unknown', 'x']),
      await found(),
    ]).toEqual([[2, '0', '1'], [1, '0'], [2, '0', '2'], [1, '1'], [0], [3, '0', '1', '2']]);
  });

  test('occurrencesPerDay counts whole days, includes days without occurrences, and has at most 366 days', async () => {
    const { key, name } = await defineWithOccurrencesOnSevenDays();
    const perDay = async (given: string) => {
      const data = await gateway.graphql<{ eventDefinition: { occurrencesPerDay: { day: string; count: number }[] } }>(
        key,
        `{ eventDefinition(name: "${name}") { occurrencesPerDay${given} { day count } } }`,
      );
      return (
        data.errors?.map(({ message }) => message) ??
        data.data?.eventDefinition.occurrencesPerDay.map(({ day, count }) => `${day} ${count}`)
      );
    };
    expect(await perDay('(from: "2026-02-28", until: "2026-03-02")')).toEqual([
      '2026-02-28 0',
      '2026-03-01 2',
      '2026-03-02 1',
    ]);
    gateway.setClock(new Date('2026-03-08T12:00:00Z'));
    const recent = await perDay('');
    expect([recent?.length, recent?.[0], recent?.at(-1), recent?.at(-2)]).toEqual([
      30,
      '2026-02-07 0',
      '2026-03-08 0',
      '2026-03-07 1',
    ]);
    expect(await perDay('(from: "2026-03-02", until: "2026-03-01")')).toEqual(['from: must not be after until']);
    expect(await perDay('(from: "2025-01-01", until: "2026-01-02")')).toEqual([
      'from: must be less than 366 days before until',
    ]);
  });

  test('refused occurrences are counted once beside the stored ones, for as long as they are kept; those of unknown events by the organization', async () => {
    const { key } = await gateway.createKey();
    const body = { label: 'Paid', propertyDefinitions: [{ label: 'Price', type: 'number' }] };
    const { id } = (await gateway.rest<{ id: string }>('POST', DEFINITIONS_PATH, { key, body })).body;
    const good = { eventName: 'paid', email: 'ann@example.com', properties: { price: 1 } };
    const bad = { ...good, properties: { price: 'much', prize: 1, size: 2 } };
    const sendAll = (...inputs: object[]) =>
      gateway.rest('POST', '/events/2026-03/send/batch', { key, body: { inputs } });
    gateway.setClock(new Date('2026-03-01T23:59:59Z'));
    await sendAll(good, good);
    await sendAll(bad, good, bad, { ...good, eventName: 'pade' });
    gateway.setClock(new Date('2026-03-02T00:00:00Z'));
    await sendAll(bad);
    const query = `query($from: Date, $until: Date) {
      eventDefinition(id: "${id}") { days: occurrencesPerDay(from: $from, until: $until) { day count refusedCount } }
      viewer { organization { days: eventOccurrencesPerDay(from: $from, until: $until) { day count refusedCount } } }
    }`;
    type Day = Readonly<{ day: string; count: number; refusedCount: number | null }>;
    const ask = async (from: string, until: string) => {
      const { data } = await gateway.graphql<{
        eventDefinition: { days: Day[] };
        viewer: { organization: { days: Day[] } };
      }>(key, query, { from, until });
      const inWords = ({ day, count, refusedCount }: Day) => `${day} ${count} ${refusedCount}`;
      return [data?.eventDefinition.days.map(inWords), data?.viewer.organization.days.map(inWords)];
    };
    expect(await ask('2026-02-28', '2026-03-02')).toEqual([
      ['2026-02-28 0 0', '2026-03-01 2 2', '2026-03-02 0 1'],
      ['2026-02-28 0 0', '2026-03-01 2 3', '2026-03-02 0 1'],
    ]);
    gateway.setClock(new Date('2026-03-31T00:00:00Z'));
    expect(await ask('2026-03-01', '2026-03-02')).toEqual([
      ['2026-03-01 2 null', '2026-03-02 0 1'],
      ['2026-03-01 2 null', '2026-03-02 0 1'],
    ]);
    gateway.setClock(undefined);
  });

  test('an occurrence can be read by its global id, but only in its organization and while its definition exists', async () => {
    const { key, name } = await defineWithOccurrencesOnSevenDays();
    type Data = { eventDefinition: { occurrences: { nodes: { id: string; databaseId: string }[] } } };
    const { eventDefinition } = await gql<Data>(
      gateway,
      key,
      `{ eventDefinition(name: "${name}") { occurrences(first: 2) { nodes { id databaseId } } } }`,
    );
    const [first, second] = eventDefinition.occurrences.nodes;
    const ids = [first?.id, 'RXZlbnRPY2N1cnJlbmNlOng6MTp5', second?.id];
    const query = 'query($ids: [ID!]!) { nodes(ids: $ids) { ... on EventOccurrence { databaseId } } }';
    expect(await gql(gateway, key, query, { ids })).toEqual({
      nodes: [{ databaseId: first?.databaseId }, null, { databaseId: second?.databaseId }],
    });
    const stranger = await gateway.createKey();
    expect(await gql(gateway, stranger.key, query, { ids })).toEqual({ nodes: [null, null, null] });
    expect((await gateway.rest('DELETE', `${DEFINITIONS_PATH}/${name}`, { key })).status).toBe(204);
    expect(await gql(gateway, key, query, { ids })).toEqual({ nodes: [null, null, null] });
  });

  test('deletionPreview counts the occurrences that would be deleted', async () => {
    const { key, name } = await defineWithOccurrencesOnSevenDays();
    expect(
      await gql(gateway, key, `{ eventDefinition(name: "${name}") { deletionPreview { occurrenceCount } } }`),
    ).toEqual({
      eventDefinition: { deletionPreview: { occurrenceCount: 8 } },
    });
  });

  test('403 without the scope for event definitions', async () => {
    const { key } = await gateway.createKey({ scopes: ['analytics.behavioral_events.send'] });
    const { errors } = await gateway.graphql(key, '{ viewer { organization { monthlyOccurrenceUsage { count } } } }');
    expect(errors?.map(({ extensions }) => extensions?.['code'])).toEqual(['FORBIDDEN']);
  });
});
