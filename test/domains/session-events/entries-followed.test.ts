import fc from 'fast-check';
import { expect, test } from 'vitest';
import { createFolding, foldAppended } from '../../../src/domains/session-events/public.ts';
import { anyEventData } from '../../support/fixtures/any-event-data.ts';
import { type Entry, prune, restEntries } from '../../support/fixtures/entries.ts';
import { useTestGateway } from '../../support/fixtures/gateway.ts';
import { type EventStream, append, createSession, moveTo, tail } from '../../support/fixtures/sessions.ts';

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
  return {
    resume: async () => {
      await (await connected).close();
      await running;
      isEnded = false;
      connected = connect();
      running = connected.then(take);
    },
    hasEnded: () => isEnded,
    shown: () => [...entries.values()].toSorted((one, other) => one.id - other.id),
  };
}

const step = fc.oneof(
  { weight: 8, arbitrary: fc.array(anyEventData, { minLength: 1, maxLength: 6 }) },
  fc.constantFrom('follow', 'follow', 'resume', 'fold', 'page', 'queue again', 'prune' as const),
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
      await moveTo(gateway, key, id, 'COMPLETED');
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
