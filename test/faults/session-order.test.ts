import { afterAll, beforeAll, expect, test } from 'vitest';
import { full } from '../support/proof.ts';
import { type TestGateway, startTestGateway } from '../support/fixtures/gateway.ts';
import {
  type EventDocument,
  type EventPage,
  append,
  createSession,
  eventsOf,
  moveTo,
  tail,
} from '../support/fixtures/sessions.ts';

/** D3: eight writers in two gateways append batches of random sizes, some of them refused, rolled back or sent twice, while others read. */

const WRITERS = 8;
const BATCHES = full ? 60 : 15;

let one: TestGateway;
let two: TestGateway;
let key: string;
let id: string;
beforeAll(async () => {
  one = await startTestGateway({ RATE_LIMIT_PER_MINUTE: '0' });
  two = await startTestGateway({ RATE_LIMIT_PER_MINUTE: '0' }, { beside: one });
  ({ key } = await one.createKey());
  id = await createSession(one, key);
  await moveTo(one, key, id, 'IN_PROGRESS');
});
afterAll(async () => {
  await two.close();
  await one.close();
});

/** Pseudorandom numbers that are the same in every run. */
function* numbers(seed: number): Generator<number, never, undefined> {
  for (let state = seed; ;) {
    state = (state * 1_103_515_245 + 12_345) % 2_147_483_648;
    yield state >>> 8;
  }
}

/** Appends batches; returns the ids of the writer's events. */
async function write(writer: number): Promise<number[]> {
  const gateway = writer % 2 === 0 ? one : two;
  const random = numbers(writer + 1);
  const given: number[] = [];
  for (let batch = 0; batch < BATCHES; batch += 1) {
    const size = 1 + (random.next().value % 40);
    const events = eventsOf(size, { data: { writer, batch } });
    const kind = random.next().value % 5;
    if (kind === 0) await append(gateway, key, id, [...events, { ...events[0], eventData: { type: '' } }]);
    // Ids are reserved and then rolled back, as if PostgreSQL refused the commit.
    if (kind === 1) await rollBack(gateway, size);
    const batchId = `${writer}:${batch}`;
    const answer = await append(gateway, key, id, events, batchId);
    const again =
      kind === 2
        ? await append(writer % 2 === 0 ? two : one, key, id, events, batchId)
        : { ...answer, isReplayed: true };
    expect(again).toEqual({ ...answer, isReplayed: true });
    for (let event = Number(answer.firstId); event <= Number(answer.lastId); event += 1) given.push(event);
  }
  return given;
}

async function rollBack({ dependencies }: TestGateway, size: number): Promise<void> {
  const attempt = dependencies.database.em.fork().transactional(async (em) => {
    await em.execute('update session_stream set last_id = last_id + ? where session_id = ?', [size, id]);
    throw new Error('rolled back');
  });
  await expect(attempt).rejects.toThrow('rolled back');
}

async function followPages(gateway: TestGateway, limit: number, isDone: () => boolean): Promise<EventDocument[]> {
  const seen: EventDocument[] = [];
  for (let cursor = '0'; ;) {
    // Called before the page is read, so that an empty page is the last one.
    const last = isDone();
    const { body } = await gateway.rest<EventPage>('GET', `/v1/sessions/${id}/events?limit=${limit}&cursor=${cursor}`, {
      key,
    });
    seen.push(...body.items);
    cursor = body.nextCursor;
    if (last && body.items.length === 0) return seen;
  }
}

async function followTail(gateway: TestGateway): Promise<EventDocument[]> {
  const messages = await (await tail(gateway, key, id)).take(Number.MAX_SAFE_INTEGER);
  expect(messages.pop()).toMatchObject({ event: 'end', data: '{}' });
  return messages.map(({ data = '' }) => JSON.parse(data) as EventDocument);
}

test('D3: readers see each event exactly once, in order and without gaps, whatever is written meanwhile', async () => {
  let written = false;
  const readers = [
    followPages(one, 1000, () => written),
    followPages(two, 3, () => written),
    followTail(one),
    followTail(two),
  ];
  const given = (await Promise.all(Array.from({ length: WRITERS }, (_, writer) => write(writer)))).flat();
  written = true;
  await moveTo(two, key, id, 'COMPLETED');
  const [pages, smallPages, ...tails] = await Promise.all(readers);
  const wanted = Array.from({ length: given.length }, (_, index) => index + 1);
  expect(given.toSorted((a, b) => a - b)).toEqual(wanted);
  expect(pages?.map((event) => event.id)).toEqual(wanted);
  for (const other of [smallPages, ...tails]) expect(other).toEqual(pages);
  // The events of a batch are consecutive and in their order.
  const batches = Map.groupBy(pages ?? [], ({ eventData }) =>
    JSON.stringify([(eventData as { writer?: number }).writer, (eventData as { batch?: number }).batch]),
  );
  expect(batches.size).toBe(WRITERS * BATCHES);
  for (const events of batches.values()) {
    const first = events[0]?.id ?? 0;
    expect(events.map((event) => [event.id, event.eventData.index])).toEqual(
      events.map((_, index) => [first + index, index + 1]),
    );
  }
});
