import { randomUUID } from 'node:crypto';
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest';
import { APIS, E, define, send, stored, usage } from '../../support/fixtures/event-occurrences.ts';
import { type TestGateway, startTestGateway } from '../../support/fixtures/gateway.ts';

let gateway: TestGateway;
/** Another process on the same database. */
let beside: TestGateway;
beforeAll(async () => {
  gateway = await startTestGateway({ MONTHLY_OCCURRENCE_LIMIT: '1000' });
  beside = await startTestGateway({ MONTHLY_OCCURRENCE_LIMIT: '1000' }, { beside: gateway });
});
afterEach(() => [gateway, beside].forEach((each) => each.setClock(undefined)));
afterAll(async () => {
  await beside.close();
  await gateway.close();
});

describe.each(APIS)('through %s', (api) => {
  test('of 20 at once with one uuid, over two processes, one is stored and counted', async () => {
    const { key } = await gateway.createKey();
    const [a, b] = [await define(gateway, key), await define(gateway, key)];
    const uuids = [randomUUID(), randomUUID()];
    const sent = Array.from({ length: 20 }, (_, index) => {
      const inputs = [a, b].flatMap((eventName) =>
        uuids.map((uuid) => ({ eventName, uuid, email: `${index}@example.com`, properties: {} })),
      );
      return send(index % 2 === 0 ? gateway : beside, api, key, index % 4 < 2 ? inputs : inputs.toReversed());
    });
    expect(new Set(await Promise.all(sent))).toEqual(new Set([undefined]));
    expect([await stored(gateway, key, a), await stored(gateway, key, b)].map((list) => list.length)).toEqual([2, 2]);
    expect((await usage(gateway, key)).count).toBe('4');
  });

  test('429: the month’s limit is exact under parallel sends, and the next month begins anew', async () => {
    const { key } = await gateway.createKey();
    const name = await define(gateway, key);
    const batch = (count: number) =>
      Array.from({ length: count }, () => ({ eventName: name, email: 'a@example.com', properties: {} }));
    gateway.setClock(new Date('2026-02-28T23:59:00.250Z'));
    beside.setClock(new Date('2026-02-28T23:59:00.250Z'));
    const sent = Array.from({ length: 20 }, (_, index) =>
      send(index % 2 === 0 ? gateway : beside, api, key, batch(60)),
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

test('a send beside a deletion is stored before it or refused after it: nothing comes after the deletion', async () => {
  const { key, organizationId } = await gateway.createKey();
  const name = await define(gateway, key);
  const { body } = await gateway.rest<{ id: string }>('GET', `${E}/${name}`, { key });
  const count = 'select count(*)::int as n from event_occurrence where definition_id = $1';
  const input = { eventName: name, email: 'a@example.com', properties: {} };
  expect(await send(gateway, 'REST', key, [input])).toBeUndefined();
  let deleted = false;
  const [sending, deleting] = await gateway.dependencies.database.em.fork().transactional(async (em) => {
    // The month's count is held here, so that the send stands still after it has checked the definition.
    await em.execute('select from monthly_occurrence_count where organization_id = ? for update', [organizationId]);
    const sent = send(beside, 'REST', key, [input]);
    await untilWaiting(1);
    const deletion = gateway.rest('DELETE', `${E}/${name}`, { key }).finally(() => (deleted = true));
    await untilWaiting(2, () => deleted);
    return [sent, deletion] as const;
  });
  const [outcome, { status }] = await Promise.all([sending, deleting]);
  expect([outcome, status]).toEqual([undefined, 204]);
  expect(await gateway.dependencies.sql.query(count, [body.id])).toEqual([{ n: 2 }]);
  expect(await send(gateway, 'REST', key, [input])).toMatchObject({ status: 404 });

  async function untilWaiting(waiters: number, orElse = () => false): Promise<void> {
    const waiting = `select count(*)::int as n from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'`;
    for (let n = 0; n < waiters && !orElse();) {
      n = (await gateway.dependencies.sql.query<{ n: number }>(waiting, []))[0]?.n ?? 0;
    }
    expect(deleted).toBe(false);
  }
});
