// Live tails are limited for each key and organization, cost almost nothing while nothing happens, and leave nothing behind when they end.
import { setImmediate } from 'node:timers/promises';
import { afterAll, afterEach, beforeAll, describe, expect, test, vi } from 'vitest';
import { sessionTopic } from '../../../src/domains/sessions/topics.ts';
import { type TestGateway, startTestGateway } from '../../support/fixtures/gateway.ts';
import { NOTIFICATIONS_ONLY, POLLING_ONLY, startListening } from '../../support/fixtures/notifications.ts';
import { type EventStream, append, createSession, eventsOf, subscribe, tail } from '../../support/fixtures/sessions.ts';

let gateway: TestGateway;
/** The open streams. Aborting the controller of one ends it like a client that disconnects. */
const open = new Map<EventStream, AbortController>();
beforeAll(async () => {
  gateway = await startTestGateway({}, { timing: NOTIFICATIONS_ONLY, bounds: { tailsOfOrganization: 25 } });
  await startListening(gateway);
});
afterEach(() => {
  vi.useRealTimers();
  vi.restoreAllMocks();
  closeAll();
});
afterAll(() => gateway.close());

function closeAll(): void {
  for (const closing of open.values()) closing.abort();
  open.clear();
}

const FOLLOW = 'subscription($id: ID!) { sessionEvents(sessionId: $id) { id } }';

const APIS = {
  REST: (key: string, id: string, signal: AbortSignal, at = gateway) => tail(at, key, id, { signal }),
  GraphQL: (key: string, id: string, signal: AbortSignal, at = gateway) => subscribe(at, key, FOLLOW, { id }, signal),
};
type Api = keyof typeof APIS;

async function follow(api: Api, key: string, id: string, at?: TestGateway): Promise<EventStream> {
  const closing = new AbortController();
  const stream = await APIS[api](key, id, closing.signal, at);
  if (stream.response.status === 200) open.set(stream, closing);
  return stream;
}

/** Follows the session, and returns the answer, which must be an error. */
async function refusalOf(api: Api, key: string, id: string): Promise<object> {
  const headers = { Authorization: `Bearer ${key}`, Accept: 'text/event-stream', 'Content-Type': 'application/json' };
  const body = JSON.stringify({ query: FOLLOW, variables: { id } });
  const response = await (api === 'REST'
    ? gateway.fetch(`/v1/sessions/${id}/events`, { headers })
    : gateway.fetch('/graphql', {
        method: 'POST',
        headers: { ...headers, Accept: 'application/json, text/event-stream' },
        body,
      }));
  const answer = (await response.json()) as object;
  return { status: response.status, retryAfter: response.headers.get('retry-after'), body: answer };
}

/** The answer above the limit of a key or organization. */
const refusalIn = (api: Api, message: string) => {
  const body = { REST: { error: message }, GraphQL: { errors: [{ message, extensions: { code: 'RATE_LIMITED' } }] } };
  return { status: 429, retryAfter: '10', body: body[api] };
};

const OTHER = { REST: 'GraphQL', GraphQL: 'REST' } as const;

describe.each(['REST', 'GraphQL'] as const)('by %s', (api) => {
  test('the 21st live tail of a key is 429 on both APIs, until another one ends; other keys are served', async () => {
    const { key, organization } = await gateway.createKey();
    const other = await gateway.createKey({ organization });
    const id = await createSession(gateway, key, { visibility: 'PUBLIC' });
    for (let count = 0; count < 20; count += 1)
      expect((await follow(count % 2 ? api : OTHER[api], key, id)).response.status).toBe(200);
    const message = 'at most 20 live streams of an API key at once; end one first';
    expect(await refusalOf(api, key, id)).toMatchObject(refusalIn(api, message));
    expect((await follow(api, other.key, id)).response.status).toBe(200);
    const [first] = open.values();
    first?.abort();
    await expect.poll(async () => (await follow(api, key, id)).response.status).toBe(200);
  });

  test('all keys of an organization together have at most the number of live tails that is configured', async () => {
    const { key, organization } = await gateway.createKey();
    const other = await gateway.createKey({ organization });
    const id = await createSession(gateway, key, { visibility: 'PUBLIC' });
    for (let count = 0; count < 25; count += 1) await follow(api, count < 20 ? key : other.key, id);
    expect(open.size).toBe(25);
    const message = 'at most 25 live streams of an organization at once; end one first';
    expect(await refusalOf(api, other.key, id)).toMatchObject(refusalIn(api, message));
    closeAll();
    await expect.poll(async () => (await follow(api, other.key, id)).response.status).toBe(200);
  });
});

describe('no live tail remains counted', () => {
  /** Opens the maximum number of live tails. An ended tail is counted until a moment after its end, so this retries. */
  async function takeAll(key: string, id: string): Promise<void> {
    for (let count = 0; count < 20; count += 1)
      await expect.poll(async () => (await follow(count % 2 ? 'REST' : 'GraphQL', key, id)).response.status).toBe(200);
  }

  test('after HEAD requests', async () => {
    const { key } = await gateway.createKey();
    const id = await createSession(gateway, key);
    vi.useFakeTimers({ toFake: ['setInterval', 'clearInterval'] });
    const subscribed = vi.spyOn(gateway.dependencies.notifier, 'subscribe');
    const headers = { Authorization: `Bearer ${key}`, Accept: 'text/event-stream' };
    for (let count = 0; count < 25; count += 1) {
      const response = await gateway.fetch(`/v1/sessions/${id}/events`, { method: 'HEAD', headers });
      expect([response.status, response.headers.get('content-type')]).toEqual([
        200,
        'text/event-stream; charset=utf-8',
      ]);
    }
    expect(vi.getTimerCount()).toBe(0);
    expect(subscribed).toHaveBeenCalled();
    vi.useRealTimers();
    await takeAll(key, id);
  });

  test('after subscriptions that are 406, because the client does not accept events', async () => {
    const { key } = await gateway.createKey();
    const id = await createSession(gateway, key);
    for (let count = 0; count < 25; count += 1) {
      const response = await gateway.fetch('/graphql', {
        method: 'POST',
        headers: { Authorization: `Bearer ${key}`, 'Content-Type': 'application/json', Accept: 'application/json' },
        body: JSON.stringify({ query: FOLLOW, variables: { id } }),
      });
      expect(response.status).toBe(406);
      await response.text();
    }
    await takeAll(key, id);
  });

  test('after streams that ended before anybody read them', async () => {
    const { key } = await gateway.createKey();
    const id = await createSession(gateway, key);
    for (let round = 0; round < 3; round += 1) {
      await takeAll(key, id);
      expect(open.size).toBe(20);
      closeAll();
    }
  });
});

test('50 idle tails send the same statements at a poll as one, whatever they follow', async () => {
  const polled = await startTestGateway({}, { beside: gateway, timing: POLLING_ONLY });
  // Otherwise the start of listening would notify the first tail during some poll.
  await startListening(polled);
  const callers = await Promise.all(Array.from({ length: 5 }, () => gateway.createKey()));
  const sessions = await Promise.all(callers.map(({ key }) => createSession(gateway, key)));
  const notified = new Promise<void>((resolve) => {
    polled.dependencies.notifier.subscribe(sessionTopic(sessions[0] ?? ''), () => resolve());
  });
  await append(gateway, callers[0]?.key ?? '', sessions[0] ?? '', eventsOf(1));
  // Otherwise the notification could make a tail read once more.
  await notified;
  vi.useFakeTimers({ toFake: ['setInterval', 'clearInterval'] });
  const all = vi.spyOn(polled.dependencies.sql, 'all');

  const reads = () => polled.statements.filter((text) => text.includes('from "session_event"')).length;

  /** Polls once. Resolves when all statements of the poll are answered. */
  async function poll(): Promise<void> {
    vi.advanceTimersByTime(POLLING_ONLY.livePollMs);
    for (let count = 0; all.mock.results.length > count; await setImmediate()) {
      count = all.mock.results.length;
      await Promise.all(all.mock.results.map(({ value }) => value));
    }
  }

  // Not `expect.poll`, which advances the timers.
  async function untilRead(count: number): Promise<void> {
    while (reads() < count) await setImmediate();
  }

  /** The statements of three polls, after the new tails have read twice: when they were opened, and after their first poll. */
  async function statementsOfPolls(newTails: number): Promise<string[]> {
    await untilRead(newTails);
    await poll();
    await untilRead(2 * newTails);
    polled.statements.length = 0;
    for (let count = 0; count < 3; count += 1) await poll();
    return polled.statements.splice(0).toSorted();
  }

  const follower = (index: number) => {
    const { key } = callers[index % 5] ?? { key: '' };
    return follow(index % 2 ? 'REST' : 'GraphQL', key, sessions[index % 5] ?? '', polled);
  };
  const reading = [(await follower(0)).take(Infinity)];
  const ofOne = await statementsOfPolls(1);
  for (let index = 1; index < 50; index += 1) reading.push((await follower(index)).take(Infinity));
  expect(open.size).toBe(50);
  const ofFifty = await statementsOfPolls(49);
  expect(ofFifty).toEqual(ofOne);
  // One for the session, and one for the key.
  expect(ofOne).toHaveLength(3 * 2);
  closeAll();
  await Promise.all(reading);
  await polled.close();
});
