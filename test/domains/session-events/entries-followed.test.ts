import fc from 'fast-check';
import { expect, test } from 'vitest';
import { createFolding, foldAppended } from '../../../src/domains/session-events/public.ts';
import { anyEventData } from '../../support/fixtures/any-event-data.ts';
import { type Entry, prune, restEntries } from '../../support/fixtures/entries.ts';
import { useTestGateway } from '../../support/fixtures/gateway.ts';
import {
  type EventStream,
  type Message,
  append,
  createSession,
  moveTo,
  tail,
} from '../../support/fixtures/sessions.ts';

const gateway = useTestGateway();

/** Follows from what pages have had, and keeps what it is told. Resumes where it was. */
function follow(key: string, id: string, read: readonly Entry[]) {
  const entries = new Map(read.map((entry) => [entry.id, entry]));
  const cursor = Math.max(0, ...read.map(({ lastEventId }) => lastEventId));
  let [lastId, isEnded] = ['', false];
  const connect = () => {
    const headers: Record<string, string> = lastId === '' ? {} : { 'Last-Event-ID': lastId };
    return tail(gateway, key, id, { of: 'entries', query: `?cursor=${cursor}`, headers });
  };
  const take = async (stream: EventStream) => {
    // The gateway stops who knows the end.
    isEnded = stream.response.status === 204;
    for (let message = await stream.nextData(); message; message = await stream.nextData()) {
      lastId = message.id ?? lastId;
      isEnded = message.event === 'end';
      const told = JSON.parse(message.data ?? '{}') as { entries?: Entry[]; removedIds?: number[] };
      for (const removed of told.removedIds ?? []) entries.delete(removed);
      for (const entry of told.entries ?? []) entries.set(entry.id, entry);
    }
  };
  let connected = connect();
  let running = connected.then(take);
  const leave = async () => {
    await (await connected).close();
    await running;
  };
  return {
    leave,
    resume: async () => {
      await leave();
      isEnded = false;
      connected = connect();
      running = connected.then(take);
    },
    hasEnded: () => isEnded,
    shown: () => [...entries.values()].toSorted((one, other) => one.id - other.id),
  };
}

test('an entry that fails leaves a stream of those that have not, and who comes back after the end is told what it has changed', async () => {
  const { key } = await gateway.createKey();
  const id = await createSession(gateway, key);
  await moveTo(gateway, key, id, 'IN_PROGRESS');
  const call = (status: string) => ({ type: 'x', itemId: 'c', toolName: 'Bash', toolResult: { status } });
  const said = {
    type: 'x',
    source: 'assistant',
    itemId: 'm',
    delivery: 'realtime',
    deltaType: 'text_delta',
    delta: 'Hm',
  };
  const add = (eventData: object) => append(gateway, key, id, [{ eventType: 'x', provider: 'p', eventData }]);
  const open = (lastEventId?: string) =>
    tail(gateway, key, id, {
      of: 'entries',
      query: '?isFailed=false',
      headers: lastEventId === undefined ? {} : { 'Last-Event-ID': lastEventId },
    });
  const told = ({ event, data, id: at }: Message = {}) => {
    const { entries, removedIds } = JSON.parse(data ?? '{}') as { entries?: Entry[]; removedIds?: number[] };
    return [event, at, entries?.map((entry) => [entry.id, entry.isOpen]), removedIds];
  };
  await add(call('running'));
  const stream = await open();
  expect(told(await stream.nextData())).toEqual([undefined, '1', [[1, true]], []]);
  await add(call('error'));
  expect(told(await stream.nextData())).toEqual([undefined, '2', [], [1]]);
  await add(said);
  expect(told(await stream.nextData())).toEqual([undefined, '3', [[3, true]], []]);
  await stream.close();
  await moveTo(gateway, key, id, 'COMPLETED');
  const resumed = await (await open('3')).take(9);
  expect(resumed.map(told)).toEqual([
    [undefined, '3', [[3, false]], []],
    ['end', '3.end', undefined, undefined],
  ]);
  expect((await open('3.end')).response.status).toBe(204);
  const headers = { Accept: 'text/event-stream', 'Last-Event-ID': 'x.end' };
  const refused = await gateway.rest<{ detail: string }>('GET', `/v1/sessions/${id}/entries`, { key, headers });
  expect([refused.status, JSON.stringify(refused.body)]).toEqual([
    400,
    expect.stringContaining('the id of a message of the stream'),
  ]);
  await moveTo(gateway, key, id, 'QUEUED', 'IN_PROGRESS');
  await add(call('completed'));
  const again = await open('3.end');
  expect(told(await again.nextData())).toEqual([undefined, '4', [], [1]]);
  await again.close();
});

const step = fc.oneof(
  { weight: 8, arbitrary: fc.array(anyEventData, { minLength: 1, maxLength: 6 }) },
  fc.constantFrom('follow', 'follow', 'resume', 'leave', 'fold', 'page', 'queue again', 'prune' as const),
);

test('who joins at any moment, and resumes, has in the end what pages of any size have', async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(step, { minLength: 3, maxLength: 14, size: 'max' }), async (steps) => {
      const { key } = await gateway.createKey();
      const id = await createSession(gateway, key);
      await moveTo(gateway, key, id, 'IN_PROGRESS');
      const { sql, unfolded } = gateway.dependencies;
      const readers: ReturnType<typeof follow>[] = [];
      const resume = async (some = readers) => void (await Promise.all(some.map((reader) => reader.resume())));
      const does = {
        follow: async () => void readers.push(follow(key, id, await restEntries(gateway, key, id, 500))),
        resume,
        leave: async () => void (await Promise.all(readers.map((reader) => reader.leave()))),
        fold: async () => void (await Promise.all([foldAppended(sql, unfolded), createFolding(sql)()])),
        page: async () => void (await restEntries(gateway, key, id, 500)),
        prune: async () => prune(gateway, id, Math.ceil((await restEntries(gateway, key, id, 500)).length / 2)),
        'queue again': async () => {
          await moveTo(gateway, key, id, 'COMPLETED', 'QUEUED', 'IN_PROGRESS');
        },
      };
      for (const each of steps)
        if (typeof each === 'string') await does[each]();
        else {
          const events = each.map((eventData) => ({ eventType: 'x', provider: 'p', eventData }));
          await append(gateway, key, id, events);
        }
      await resume(readers.filter((reader) => reader.hasEnded()));
      const [away, there] = [readers.filter((_, at) => at % 2 === 0), readers.filter((_, at) => at % 2 === 1)];
      await Promise.all(away.map((reader) => reader.leave()));
      await resume(there);
      await moveTo(gateway, key, id, 'COMPLETED');
      await resume(away);
      const pages = await restEntries(gateway, key, id, 500);
      expect(await restEntries(gateway, key, id, 2)).toEqual(pages);
      for (const reader of readers) {
        await expect.poll(reader.hasEnded).toBe(true);
        expect(reader.shown()).toEqual(pages);
      }
    }),
    { numRuns: 20 },
  );
});
