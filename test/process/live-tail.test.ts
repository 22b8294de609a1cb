import { Readable } from 'node:stream';
import { randomBytes } from 'node:crypto';
import { afterEach, expect, test } from 'vitest';
import { startTestGateway } from '../support/fixtures/gateway.ts';
import { NOTIFICATIONS_ONLY } from '../support/fixtures/notifications.ts';
import { type LiveSession, startLiveSession } from '../support/fixtures/live-session.ts';
import { cli, endProcesses, graphqlApi, start, startGateway } from '../support/processes/process.ts';
import {
  EventStream,
  type Message,
  append,
  createSession,
  eventsOf,
  tail as follow,
} from '../support/fixtures/sessions.ts';

afterEach(endProcesses);

const range = (from: number, to: number) => Array.from({ length: to - from + 1 }, (_, index) => from + index);

/** Runs `curl -N` like a user. */
function curl({ key }: LiveSession, ...args: string[]) {
  const { child, exited } = start(
    ['curl', '-sSN', '-H', `Authorization: Bearer ${key}`, '-H', 'Accept: text/event-stream', ...args],
    {},
  );
  if (!child.stdout) throw new Error('curl has no output');
  const body = Readable.toWeb(child.stdout) as ReadableStream<Uint8Array>;
  return { stream: new EventStream(new Response(body)), exited };
}

const rest = (live: LiveSession, lastId?: number) =>
  curl(
    live,
    `${live.url}/v1/sessions/${live.id}/events`,
    ...(lastId === undefined ? [] : ['-H', `Last-Event-ID: ${lastId}`]),
  );

const FOLLOW =
  'subscription($id: ID!, $after: ID) { sessionEvents(sessionId: $id, after: $after) { databaseId eventDataJson } }';

const graphql = (live: LiveSession, lastId?: number) =>
  curl(
    live,
    `${live.url}/graphql`,
    '-H',
    'Content-Type: application/json',
    '-d',
    JSON.stringify({ query: FOLLOW, variables: { id: live.id, after: lastId?.toString() } }),
  );

/** The id of an event and the number from its writer. */
type Seen = readonly [id: number, index: number];

const fromRest = ({ id, data = '' }: Message): Seen => [
  Number(id),
  (JSON.parse(data) as { eventData: { index: number } }).eventData.index,
];

function fromGraphql({ data = '' }: Message): Seen {
  const { sessionEvents } = (
    JSON.parse(data) as { data: { sessionEvents: { databaseId: number; eventDataJson: { index: number } } } }
  ).data;
  return [sessionEvents.databaseId, sessionEvents.eventDataJson.index];
}

test('curl -N on both APIs receives every event of another process once and in order, although its gateway is killed meanwhile', async () => {
  const live = await startLiveSession();
  const apis = [
    { open: rest, read: fromRest, end: { event: 'end', data: '{}' } },
    { open: graphql, read: fromGraphql, end: { event: 'complete' } },
  ];
  await live.write(100);
  const tails = apis.map((api) => ({ ...api, ...api.open(live), seen: [] as Seen[] }));
  // After the stored events, the tails receive events while they are being written.
  const writing = live.write(300);
  const upTo = async ({ stream, seen, read }: (typeof tails)[number], count: number) => {
    while (seen.length < count) {
      const message = await stream.nextData();
      if (!message) return;
      seen.push(read(message));
    }
  };
  await Promise.all(tails.map((tail) => upTo(tail, 150)));
  const restarted = live.restartReader();
  // Events that were sent before the kill are still read.
  await Promise.all(tails.map((tail) => upTo(tail, Infinity)));
  expect(await Promise.all(tails.map(({ exited }) => exited))).not.toContain(0);
  await Promise.all([restarted, writing]);
  const again = tails.map((tail) => ({ ...tail, ...tail.open(live, tail.seen.at(-1)?.[0]) }));
  await Promise.all(again.map((tail) => upTo(tail, 400)));
  const late = live.write(200);
  await Promise.all(again.map((tail) => upTo(tail, 600)));
  await late;
  await live.finish();
  for (const { stream, seen, end, exited } of again) {
    expect(await stream.nextData()).toMatchObject(end);
    expect(await exited).toBe(0);
    expect(seen).toEqual(range(1, 600).map((number) => [number, number]));
  }
});

test('notifications of a gateway process and of the command line reach a tail without polling', async () => {
  const reader = await startTestGateway({}, { timing: NOTIFICATIONS_ONLY });
  try {
    const { key, keyId } = await reader.createKey();
    const id = await createSession(reader, key);
    const stream = await follow(reader, key, id);
    const env = {
      DATABASE_URL: reader.databaseUrl,
      ENCRYPTION_KEYS: `k1:${randomBytes(32).toString('base64')}`,
      RUN_JOBS: 'false',
    };
    const writer = await startGateway(env);
    for (const number of range(1, 5)) {
      await append(graphqlApi(writer.url), key, id, eventsOf(1));
      expect((await stream.nextData())?.id).toBe(String(number));
    }
    expect(await cli(['keys', 'revoke', keyId], env)).toMatchObject({ code: 0, stderr: '' });
    expect(await stream.nextData()).toEqual({ event: 'error', data: '{"error":"missing or invalid API key"}' });
    expect(await stream.nextData()).toBeUndefined();
    expect(await writer.end('SIGTERM')).toBe(0);
  } finally {
    await reader.close();
  }
});
