import { type Client, createClient } from 'graphql-sse';
import { afterEach, expect, test } from 'vitest';
import { startLiveSession } from '../support/fixtures/live-session.ts';
import { endProcesses } from '../support/processes/process.ts';
import { proof } from '../support/proof.ts';

const clients: Client[] = [];
afterEach(async () => {
  for (const client of clients.splice(0)) client.dispose();
  await endProcesses();
});

const FOLLOW =
  'subscription($id: ID!, $after: ID) { sessionEvents(sessionId: $id, after: $after) { databaseId eventData { index } } }';

interface Followed extends Record<string, unknown> {
  readonly sessionEvents: { readonly databaseId: number; readonly eventData: { readonly index: number } };
}

const RECONNECTIONS = 5;
const EVENTS = 1000;

test('graphql-sse follows a session that another process records, each event once and in order, across reconnections', async () => {
  const live = await startLiveSession();
  const seen: (readonly [number, number])[] = [];
  let complete = false;

  /** One connection; breaks off behind `count` events, if they come. */
  async function follow(count: number): Promise<void> {
    const client = createClient({
      url: `${live.url}/graphql`,
      headers: { Authorization: `Bearer ${live.key}` },
      retryAttempts: 0,
    });
    clients.push(client);
    const after = seen.at(-1)?.[0].toString();
    const results = client.iterate<Followed>({ query: FOLLOW, variables: { id: live.id, after } });
    for await (const { data, errors } of results) {
      if (!data) throw new Error(JSON.stringify(errors));
      seen.push([data.sessionEvents.databaseId, data.sessionEvents.eventData.index]);
      if (--count === 0) return;
    }
    complete = true;
  }

  const writing = live.write(EVENTS - 300);
  for (let round = 0; round < RECONNECTIONS; round += 1) await follow(37);
  // The last connection breaks with its gateway; the next gateway takes over where it was.
  const broken = follow(Infinity).catch((error: unknown) => error);
  await live.restartReader();
  expect(await broken).toBeInstanceOf(Error);
  await writing;
  const rest = follow(Infinity);
  await live.write(300);
  await live.finish();
  await rest;
  expect(complete).toBe(true);
  expect(seen).toEqual(Array.from({ length: EVENTS }, (_, index) => [index + 1, index + 1]));
  proof('graphql-sse', { figures: { events: seen.length, reconnections: RECONNECTIONS + 1, missed: 0, doubled: 0 } });
});
