import { randomUUID } from 'node:crypto';
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest';
import { APIS, DEFINITIONS_PATH, define, send, stored, usage } from '../../support/fixtures/event-occurrences.ts';
import { type TestGateway, startTestGateway, useOwnGateway } from '../../support/fixtures/gateway.ts';

const gateway = useOwnGateway({ MONTHLY_OCCURRENCE_LIMIT: '1000' });
/** Like another process on the same database. */
let second: TestGateway;
beforeAll(async () => {
  second = await startTestGateway({ MONTHLY_OCCURRENCE_LIMIT: '1000' }, { beside: gateway });
});
afterEach(() => [gateway, second].forEach((each) => each.setClock(undefined)));
afterAll(() => second.close());

describe.each(APIS)('through %s', (api) => {
  test('of 20 concurrent sends with the same uuids through two processes, each uuid is stored and counted once for each definition', async () => {
    const { key } = await gateway.createKey();
    const [a, b] = [await define(gateway, key), await define(gateway, key)];
    const uuids = [randomUUID(), randomUUID()];
    const sent = Array.from({ length: 20 }, (_, index) => {
      const inputs = [a, b].flatMap((eventName) =>
        uuids.map((uuid) => ({ eventName, uuid, email: `${index}@example.com`, properties: {} })),
      );
      return send(index % 2 === 0 ? gateway : second, api, key, index % 4 < 2 ? inputs : inputs.toReversed());
    });
    expect(new Set(await Promise.all(sent))).toEqual(new Set([undefined]));
    expect([await stored(gateway, key, a), await stored(gateway, key, b)].map((list) => list.length)).toEqual([2, 2]);
    expect((await usage(gateway, key)).count).toBe('4');
  });

  test('429: concurrent sends do not exceed the monthly limit, and the next month starts at zero', async () => {
    const { key } = await gateway.createKey();
    const name = await define(gateway, key);
    const batch = (count: number) =>
      Array.from({ length: count }, () => ({ eventName: name, email: 'a@example.com', properties: {} }));
    gateway.setClock(new Date('2026-02-28T23:59:00.250Z'));
    second.setClock(new Date('2026-02-28T23:59:00.250Z'));
    const sent = Array.from({ length: 20 }, (_, index) =>
      send(index % 2 === 0 ? gateway : second, api, key, batch(60)),
    );
    const outcomes = await Promise.all(sent);
    const message =
      'the organization may send 1000 event occurrences a month, and these would be more; the next month begins at 2026-03-01T00:00:00.000Z';
    expect(outcomes.filter((outcome) => outcome !== undefined)).toEqual(
      Array.from({ length: 4 }, () => ({ status: 429, faults: [message] })),
    );
    expect(await send(gateway, api, key, batch(41))).toEqual({ status: 429, faults: [message] });
    expect(await send(gateway, api, key, batch(40))).toBeUndefined();
    expect(await usage(gateway, key)).toEqual({
      month: '2026-02',
      count: '1000',
      limit: '1000',
      resetsAt: '2026-03-01T00:00:00.000Z',
    });
    gateway.setClock(new Date('2026-03-01T00:00:00Z'));
    expect(await send(gateway, api, key, batch(1))).toBeUndefined();
    expect((await usage(gateway, key)).count).toBe('1');
  });
});

test('a deletion waits for a send that has checked the definition; later sends are 404', async () => {
  const { key, organizationId } = await gateway.createKey();
  const name = await define(gateway, key);
  const { body } = await gateway.rest<{ id: string }>('GET', `${DEFINITIONS_PATH}/${name}`, { key });
  const count = 'select count(*)::int as n from event_occurrence where definition_id = $1';
  const input = { eventName: name, email: 'a@example.com', properties: {} };
  expect(await send(gateway, 'REST', key, [input])).toBeUndefined();
  let deleted = false;
  const [sending, deleting] = await gateway.dependencies.database.em.fork().transactional(async (em) => {
    // Locks the monthly count, so that the send waits after it has checked the definition.
    await em.execute('select from monthly_occurrence_count where organization_id = ? for update', [organizationId]);
    const sent = send(second, 'REST', key, [input]);
    await untilWaitingForLock(1);
    const deletion = gateway.rest('DELETE', `${DEFINITIONS_PATH}/${name}`, { key }).finally(() => (deleted = true));
    await untilWaitingForLock(2, () => deleted);
    return [sent, deletion] as const;
  });
  const [outcome, { status }] = await Promise.all([sending, deleting]);
  expect([outcome, status]).toEqual([undefined, 204]);
  expect(await gateway.dependencies.sql.query(count, [body.id])).toEqual([{ n: 2 }]);
  expect(await send(gateway, 'REST', key, [input])).toMatchObject({ status: 404 });

  async function untilWaitingForLock(waiters: number, orElse = () => false): Promise<void> {
    const waiting = `select count(*)::int as n from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'`;
    for (let n = 0; n < waiters && !orElse();) {
      n = (await gateway.dependencies.sql.query<{ n: number }>(waiting, []))[0]?.n ?? 0;
    }
    expect(deleted).toBe(false);
  }
});
