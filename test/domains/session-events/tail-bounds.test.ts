// What live tails may take: so many of a key and of an organization, next to nothing while nothing happens, and nothing once they are gone.
import { afterAll, afterEach, beforeAll, describe, expect, test, vi } from 'vitest';
import { type TestGateway, startTestGateway } from '../../support/fixtures/gateway.ts';
import { NOTIFIED_ONLY, POLLED, startListening } from '../../support/fixtures/notifications.ts';
import { type EventStream, append, createSession, eventsOf, subscribe, tail } from '../../support/fixtures/sessions.ts';

let gateway: TestGateway;
/** The streams that are open, and what ends each as a client that goes away does. */
const open = new Map<EventStream, AbortController>();
beforeAll(async () => {
  gateway = await startTestGateway({}, { timing: NOTIFIED_ONLY, bounds: { tailsOfOrganization: 25 } });
  await startListening(gateway);
});
afterEach(() => {
  vi.useRealTimers();
  vi.restoreAllMocks();
  closeAll();
});
afterAll(() => gateway.close());

function closeAll(): void {
  for (const gone of open.values()) gone.abort();
  open.clear();
}

const FOLLOW = 'subscription($id: ID!) { sessionEvents(sessionId: $id) { id } }';

const APIS = {
  REST: (key: string, id: string, signal: AbortSignal, at = gateway) => tail(at, key, id, { signal }),
  GraphQL: (key: string, id: string, signal: AbortSignal, at = gateway) => subscribe(at, key, FOLLOW, { id }, signal),
};
type Api = keyof typeof APIS;

async function follow(api: Api, key: string, id: string, at?: TestGateway): Promise<EventStream> {
  const gone = new AbortController();
  const stream = await APIS[api](key, id, gone.signal, at);
  if (stream.response.status === 200) open.set(stream, gone);
  return stream;
}

/** The error of a follower who loses the right to follow. */
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

/** The error of a follower who, or whose organization, has reached the limit. */
const refusalIn = (api: Api, message: string) => {
  const body = { REST: { error: message }, GraphQL: { errors: [{ message, extensions: { code: 'RATE_LIMITED' } }] } };
  return { status: 429, retryAfter: '10', body: body[api] };
};

const OTHER = { REST: 'GraphQL', GraphQL: 'REST' } as const;

describe.each(['REST', 'GraphQL'] as const)('by %s', (api) => {
  test('the 21st of a key is 429 on both APIs, other keys go on, and a closed one makes room', async () => {
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

  test('an organization has as many as it may have over all its keys', async () => {
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

describe('nothing is left behind', () => {
  /** Takes all places of a key, which are freed a moment after their streams have ended. */
  async function takeAll(key: string, id: string): Promise<void> {
    for (let count = 0; count < 20; count += 1)
      await expect.poll(async () => (await follow(count % 2 ? 'REST' : 'GraphQL', key, id)).response.status).toBe(200);
  }

  test('by a HEAD', async () => {
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

  test('by a subscription that is refused, because its client takes no events', async () => {
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

  test('by streams that nobody has begun to read', async () => {
    const { key } = await gateway.createKey();
    const id = await createSession(gateway, key);
    for (let round = 0; round < 3; round += 1) {
      await takeAll(key, id);
      expect(open.size).toBe(20);
      closeAll();
    }
  });
});

test('idle tails cost as many statements at a poll as one does, whatever they follow', async () => {
  const polled = await startTestGateway({}, { beside: gateway, timing: POLLED });
  // Or the first tail would be notified of it at some poll.
  await startListening(polled);
  const callers = await Promise.all(Array.from({ length: 5 }, () => gateway.createKey()));
  const sessions = await Promise.all(callers.map(({ key }) => createSession(gateway, key)));

  /** The statements of some polls, once each tail has been notified of the first one. */
  async function statementsOfPolls(): Promise<string[]> {
    const count = () => polled.statements.filter((text) => text.includes('api_key')).length;
    const settled = async (polls: number) => {
      const before = count();
      await expect.poll(() => count() - before).toBeGreaterThanOrEqual(polls);
    };
    await settled(open.size + 5);
    polled.statements.length = 0;
    await settled(10);
    return [...new Set(polled.statements)];
  }

  const follower = (index: number) => {
    const { key } = callers[index % 5] ?? { key: '' };
    return follow(index % 2 ? 'REST' : 'GraphQL', key, sessions[index % 5] ?? '', polled);
  };
  await append(gateway, callers[0]?.key ?? '', sessions[0] ?? '', eventsOf(1));
  const reading = [...open.keys()].map((stream) => stream.take(Infinity));
  const one = await follower(0);
  reading.push(one.take(Infinity));
  const ofOne = await statementsOfPolls();
  for (let index = 1; index < 50; index += 1) reading.push((await follower(index)).take(Infinity));
  expect(open.size).toBe(50);
  const ofFifty = await statementsOfPolls();
  expect(ofFifty.toSorted()).toEqual(ofOne.toSorted());
  expect(ofOne.length).toBeLessThanOrEqual(3);
  closeAll();
  await Promise.all(reading);
  await polled.close();
});
