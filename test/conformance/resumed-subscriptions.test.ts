import { createClient } from 'graphql-sse';
import { afterEach, beforeAll, expect, test } from 'vitest';
import { type LiveSession, startLiveSession } from '../support/fixtures/live-session.ts';
import { EventStream } from '../support/fixtures/sessions.ts';
import { endProcesses } from '../support/processes/process.ts';
import { full, proof } from '../support/proof.ts';
import { generateClientExamples, openExample } from './helpers/client-examples.ts';

/** The documented ways to follow a session, while the gateway is killed and restarted: each event arrives once. */

let folder: string;
beforeAll(async () => {
  folder = await generateClientExamples('resumed-clients');
});
afterEach(endProcesses);

/** Number of events before, and during, each restart. */
const EVENTS = 100;
const RESTARTS = full ? 5 : 1;

type OnEvent = (id: number) => void;
const FOLLOW = `subscription($id: ID!) { sessionEvents(sessionId: $id) { __typename } }`;

/** A client that sends the last id of the stream, like `fetch-event-source`. */
async function followByLastEventId({ url, key, id, whenReadable }: LiveSession, onEvent: OnEvent): Promise<void> {
  for (let lastEventId = ''; ;) {
    const headers = {
      Authorization: `Bearer ${key}`,
      Accept: 'text/event-stream',
      'Content-Type': 'application/json',
      ...(lastEventId !== '' && { 'Last-Event-ID': lastEventId }),
    };
    const body = JSON.stringify({ query: FOLLOW, variables: { id } });
    try {
      const stream = new EventStream(await fetch(`${url}/graphql`, { method: 'POST', headers, body }));
      for (let message = await stream.nextData(); message; message = await stream.nextData()) {
        if (message.event === 'complete') return;
        lastEventId = message.id ?? lastEventId;
        onEvent(Number(message.id));
      }
    } catch {
      // The gateway is not running.
    }
    await whenReadable();
  }
}

/** A client that also closes the connection itself five times, and continues with `after`. */
async function followInParts({ url, key, id, whenReadable }: LiveSession, onEvent: OnEvent): Promise<void> {
  const query = `subscription($id: ID!, $after: ID) { sessionEvents(sessionId: $id, after: $after) { databaseId eventData { index } } }`;
  let after: string | undefined;
  for (let round = 1, isComplete = false; !isComplete; round += 1) {
    const headers = { Authorization: `Bearer ${key}` };
    const client = createClient({ url: `${url}/graphql`, headers, retryAttempts: 0 });
    let count = 0;
    try {
      for await (const { data } of client.iterate<Followed>({ query, variables: { id, after } })) {
        const { databaseId = 0, eventData } = data?.sessionEvents ?? {};
        after = String(databaseId);
        onEvent(eventData?.index === databaseId ? databaseId : NaN);
        count += 1;
        if (round <= 5 && count === 37) break;
      }
      isComplete = round > 5 || count < 37;
    } catch {
      await whenReadable();
    } finally {
      client.dispose();
    }
  }
}

interface Followed extends Record<string, unknown> {
  readonly sessionEvents: { readonly databaseId: number; readonly eventData: { readonly index: number } };
}

const FOLLOWERS: Readonly<Record<string, (live: LiveSession, onEvent: OnEvent) => Promise<void>>> = {
  'graphql-sse': async ({ url, key, id }, onEvent) =>
    (await openExample(folder, 'graphql-sse.ts')).followSession(`${url}/graphql`, key, id, onEvent),
  'graphql-sse in parts': followInParts,
  urql: async ({ url, key, id }, onEvent) => {
    const { createUrqlClient, followSession } = await openExample(folder, 'urql.ts');
    await followSession(createUrqlClient(`${url}/graphql`, key), id, onEvent);
  },
  Apollo: async ({ url, key, id }, onEvent) => {
    const { createApolloClient, followSession } = await openExample(folder, 'apollo.ts');
    await followSession(createApolloClient(`${url}/graphql`, key, {}), id, onEvent);
  },
  'urql over WebSocket': async ({ url, key, id }, onEvent) => {
    const { createUrqlSocketClient } = await openExample(folder, 'urql-websocket.ts');
    const { followSession } = await openExample(folder, 'urql.ts');
    await followSession(createUrqlSocketClient(`${url}/graphql`, key), id, onEvent);
  },
  'Apollo over WebSocket': async ({ url, key, id }, onEvent) => {
    const { createApolloSocketClient } = await openExample(folder, 'apollo-websocket.ts');
    const { followSession } = await openExample(folder, 'apollo.ts');
    await followSession(createApolloSocketClient(`${url}/graphql`, key), id, onEvent);
  },
  'Last-Event-ID over GraphQL': followByLastEventId,
  'Last-Event-ID over REST': async ({ url, key, id }, onEvent) => {
    for await (const event of (await openExample(folder, 'live-tail.ts')).liveTail(url, key, id)) onEvent(event.id);
  },
};

test('each event arrives once despite restarts of the gateway, with every way to follow a session', async () => {
  const live = await startLiveSession();
  const followers = Object.entries(FOLLOWERS).map(([name, follow]) => {
    const seen: number[] = [];
    return { name, seen, following: follow(live, (id) => seen.push(id)) };
  });
  const expectAll = async (count: number) => {
    const expected = Array.from({ length: count }, (_, index) => index + 1);
    const all = Object.fromEntries(followers.map(({ name }) => [name, expected]));
    await expect.poll(() => Object.fromEntries(followers.map(({ name, seen }) => [name, seen]))).toEqual(all);
  };
  for (let round = 0; round < RESTARTS; round += 1) {
    await live.write(EVENTS);
    await expectAll(EVENTS * (2 * round + 1));
    await live.restartReader(() => live.write(EVENTS));
    await expectAll(EVENTS * (2 * round + 2));
  }
  await live.finish();
  await Promise.all(followers.map(({ following }) => following));
  await expectAll(EVENTS * 2 * RESTARTS);
  const clients = Object.keys(FOLLOWERS).join(', ');
  proof('Resumed subscriptions', {
    figures: { clients, events: EVENTS * 2 * RESTARTS, restarts: RESTARTS, missed: 0, duplicates: 0 },
  });
});
