// Answers that clients have not read yet are limited in bytes, for each key and for the process. A client that reads
// nothing is disconnected.
import { once } from 'node:events';
import { type Socket, connect } from 'node:net';
import { setImmediate } from 'node:timers/promises';
import { afterAll, afterEach, beforeAll, expect, test, vi } from 'vitest';
import { createGateway } from '../../src/gateway/gateway.ts';
import { type RunningServer, type ServeOptions, serve } from '../../src/gateway/http/server.ts';
import { type TestGateway, startTestGateway } from '../support/fixtures/gateway.ts';
import { repeat } from '../support/fixtures/graphql-limits.ts';
import { EventStream, append, createSession, eventsOf } from '../support/fixtures/sessions.ts';

/** Characters of several bytes and surrogate pairs, so that the ends of chunks fall inside characters. */
const TEXT = '\u{1F600}x\u{1F680}ä'.repeat(175_000);
// As much as an answer may have, which is more than the buffers of both sockets hold.
const ALIASES = 4;
const bytes = ALIASES * Buffer.byteLength(TEXT);
/** Number of such answers to a key that can wait to be read. */
const FITTING = 2;

let gateway: TestGateway;
/** The server looks this often whether a client reads, and disconnects one that read nothing for four times as long. */
const LOOK_MS = 2_500;
/** A client that reads nothing is not disconnected while a test runs, however slow the machine is. */
const PATIENT = { unreadTimeoutMs: 3_600_000 };
const servers: RunningServer[] = [];
const sockets = new Set<Socket>();
beforeAll(async () => {
  gateway = await startTestGateway(
    {},
    // What has no room is refused at once, instead of waiting for it.
    { bounds: { unreadBytesOfUser: 2.5 * bytes, unreadBytes: 5.5 * bytes }, timing: { slotWaitMs: 1 } },
  );
});
afterEach(async () => {
  vi.useRealTimers();
  for (const socket of sockets) socket.destroy();
  sockets.clear();
  await Promise.all(servers.splice(0).map((server) => server.stop(0)));
});
afterAll(() => gateway.close());

async function start(
  timeouts: Pick<ServeOptions, 'unreadTimeoutMs' | 'lingerMs'> = {},
  { dependencies } = gateway,
): Promise<RunningServer> {
  const server = await serve(createGateway(dependencies), { host: '127.0.0.1', port: 0, ...timeouts });
  servers.push(server);
  return server;
}

interface Caller {
  readonly key: string;
  /** Of the same user. */
  readonly secondKey: string;
  readonly sessionId: string;
}

/** Creates a key and a session with a long description. */
async function createCaller(of = gateway): Promise<Caller> {
  const { key, organization, email } = await of.createKey();
  const second = await of.createKey({ organization, email });
  const sessionId = await createSession(of, key);
  await of.dependencies.sql.query('update session set description = $1 where id = $2', [TEXT, sessionId]);
  return { key, secondKey: second.key, sessionId };
}

const SESSION = `{ ${repeat(ALIASES, (index) => `a${index}: description`)} }`;
const QUERY = `query($id: ID!) { session(id: $id) ${SESSION} }`;
const SUBSCRIPTION = `subscription($id: ID!) { sessionEvents(sessionId: $id) { session ${SESSION} } }`;

const bodyFor = ({ sessionId }: Caller, query = QUERY) => JSON.stringify({ query, variables: { id: sessionId } });

async function askLength(server: RunningServer, caller: Caller) {
  const response = await fetch(`${server.url}/graphql`, {
    method: 'POST',
    headers: { Authorization: `Bearer ${caller.key}`, 'Content-Type': 'application/json', Accept: 'application/json' },
    body: bodyFor(caller),
  });
  const { byteLength: length } = await response.arrayBuffer();
  return { status: response.status, retryAfter: response.headers.get('retry-after'), length };
}

async function ask(server: RunningServer, caller: Caller) {
  const { length: _length, ...answer } = await askLength(server, caller);
  return answer;
}

/** Sends the request, and reads only the first bytes of the answer. */
async function askWithoutReading(
  server: RunningServer,
  caller: Caller,
  accept = 'application/json',
  query = QUERY,
): Promise<Socket> {
  const body = bodyFor(caller, query);
  return sendWithoutReading(server, [
    'POST /graphql HTTP/1.1',
    'Host: x',
    `Authorization: Bearer ${caller.key}`,
    'Content-Type: application/json',
    `Accept: ${accept}`,
    `Content-Length: ${Buffer.byteLength(body)}`,
    '',
    body,
  ]);
}

async function sendWithoutReading(server: RunningServer, lines: readonly string[]): Promise<Socket> {
  const { hostname, port } = new URL(server.url);
  const socket = connect(Number(port), hostname);
  sockets.add(socket);
  socket.on('error', () => undefined);
  socket.write(lines.join('\r\n'));
  await once(socket, 'readable');
  return socket;
}

const controlIntervals = () => vi.useFakeTimers({ toFake: ['setInterval', 'clearInterval'] });

const tooMany = { status: 503, retryAfter: '1' };
const answered = { status: 200, retryAfter: null };

test('all keys of a user together have a maximum of unread answers: more is 503 with Retry-After, until a client disconnects; others are served', async () => {
  const server = await start(PATIENT);
  const [caller, other] = [await createCaller(), await createCaller()];
  const clients: Socket[] = [];
  for (let count = 0; count < FITTING; count += 1) clients.push(await askWithoutReading(server, caller));
  expect(await ask(server, caller)).toEqual(tooMany);
  expect(await ask(server, { ...caller, key: caller.secondKey })).toEqual(tooMany);
  expect(await ask(server, other)).toEqual(answered);
  clients[0]?.destroy();
  await expect.poll(() => ask(server, caller)).toEqual(answered);
});

test('all keys together have a maximum of unread answers', async () => {
  const server = await start(PATIENT);
  for (const caller of [await createCaller(), await createCaller()])
    for (let count = 0; count < FITTING; count += 1) await askWithoutReading(server, caller);
  const caller = await createCaller();
  const first = await askWithoutReading(server, caller);
  const second = await ask(server, caller);
  first.destroy();
  expect(second).toEqual(tooMany);
});

test.each(['application/graphql-response+json', 'text/event-stream'])(
  'unread answers as %s count too',
  async (accept) => {
    const server = await start(PATIENT);
    const caller = await createCaller();
    for (let count = 0; count < FITTING; count += 1) await askWithoutReading(server, caller, accept);
    expect(await ask(server, caller)).toEqual(tooMany);
  },
);

test('a request whose last answers were large waits for room before it is worked on; small ones do not wait', async () => {
  const patient = await startTestGateway({}, { bounds: { unreadBytesOfUser: 2.5 * bytes, unreadBytes: 5.5 * bytes } });
  try {
    const server = await start(PATIENT, patient);
    const caller = await createCaller(patient);
    const clients: Socket[] = [];
    for (let count = 0; count < FITTING; count += 1) clients.push(await askWithoutReading(server, caller));
    const late = askLength(server, caller);
    const waiting = /^gateway_slots_waiting\{pool="answers"\} 1$/m;
    await expect.poll(async () => (await patient.fetch('/metrics')).text()).toMatch(waiting);
    // Its statement has not run yet, so it answers what is there when it runs.
    await patient.dependencies.sql.query(`update session set description = 'short' where id = $1`, [caller.sessionId]);
    expect((await patient.rest('GET', '/v1/users/me', { key: caller.key })).status).toBe(200);
    clients[0]?.destroy();
    expect(await late).toMatchObject(answered);
    expect((await late).length).toBeLessThan(1_000);
  } finally {
    await Promise.all(servers.splice(0).map((server) => server.stop(0)));
    await patient.close();
  }
});

test('unread events of subscriptions count too', async () => {
  const server = await start(PATIENT);
  const caller = await createCaller();
  await append(gateway, caller.key, caller.sessionId, eventsOf(1));
  for (let count = 0; count < FITTING; count += 1) {
    const socket = await askWithoutReading(server, caller, 'text/event-stream', SUBSCRIPTION);
    // The beginning of the event has arrived after the headers.
    await expect.poll(() => socket.readableLength).toBeGreaterThan(10_000);
  }
  expect(await ask(server, caller)).toEqual(tooMany);
});

test('unread answers to requests that announce a body, and do not send it, count too', async () => {
  const server = await start({ ...PATIENT, lingerMs: 1 });
  const caller = await createCaller();
  const { query, variables } = JSON.parse(bodyFor(caller)) as { query: string; variables: object };
  const search = new URLSearchParams({ query, variables: JSON.stringify(variables) });
  const headers = ['Host: x', `Authorization: Bearer ${caller.key}`, 'Accept: application/json', 'Content-Length: 100'];
  for (let count = 0; count < FITTING; count += 1)
    await sendWithoutReading(server, [`GET /graphql?${search} HTTP/1.1`, ...headers, '', '']);
  expect(await ask(server, caller)).toEqual(tooMany);
});

test('a client that does not read a live tail with events of 1 MB does not block large answers', async () => {
  const server = await start(PATIENT);
  const caller = await createCaller();
  for (let pair = 0; pair < 10; pair += 1)
    for (const characters of [200_000, 1_000_000])
      await append(gateway, caller.key, caller.sessionId, eventsOf(1, { data: { text: 'x'.repeat(characters) } }));
  await sendWithoutReading(server, [
    `GET /v1/sessions/${caller.sessionId}/events HTTP/1.1`,
    'Host: x',
    `Authorization: Bearer ${caller.key}`,
    'Accept: text/event-stream',
    '',
    '',
  ]);
  for (let count = 0; count < 5; count += 1) expect(await ask(server, caller)).toEqual(answered);
});

test('a client that reads nothing is disconnected, even while it sends data; then the key is served again', async () => {
  controlIntervals();
  const server = await start();
  const caller = await createCaller();
  let connected = FITTING;
  for (let count = 0; count < FITTING; count += 1)
    (await askWithoutReading(server, caller)).once('close', () => (connected -= 1));
  expect(await ask(server, caller)).toEqual(tooMany);
  while (connected > 0) {
    // Empty lines start no request, but would reset a timeout for inactive sockets.
    for (const socket of sockets) socket.write('\r\n');
    await vi.advanceTimersByTimeAsync(LOOK_MS);
    await setImmediate();
  }
  vi.useRealTimers();
  await expect.poll(() => ask(server, caller)).toEqual(answered);
});

test('a client that reads slowly gets the whole of a large answer', async () => {
  controlIntervals();
  const server = await start();
  const caller = await createCaller();
  const socket = await askWithoutReading(server, caller);
  const chunks: Buffer[] = [];
  let length = 0;
  let begin = -1;
  let looks = 0;
  const closed = once(socket, 'close');
  while (begin < 0 || length < begin + bytes) {
    const chunk = socket.read() as Buffer | null;
    if (!chunk) {
      if (socket.readableEnded || socket.destroyed) break;
      await Promise.race([once(socket, 'readable'), closed]);
      continue;
    }
    chunks.push(chunk);
    length += chunk.length;
    begin = Buffer.concat(chunks.slice(0, 2)).indexOf('\r\n\r\n') + 4;
    if (chunks.length % 10 === 0) {
      await vi.advanceTimersByTimeAsync(LOOK_MS);
      looks += 1;
    }
  }
  // Longer than a client may read nothing.
  expect(looks).toBeGreaterThan(8);
  const whole = Buffer.concat(chunks).toString();
  const { data } = JSON.parse(whole.slice(whole.indexOf('\r\n\r\n') + 4)) as {
    data: { session: Record<string, string> };
  };
  expect(Object.values(data.session).every((text) => text === TEXT)).toBe(true);
  expect(Object.keys(data.session)).toHaveLength(ALIASES);
});

test('a stream without events is not disconnected', async () => {
  controlIntervals();
  // Shorter than the interval of the comments that a stream sends.
  const server = await start({ unreadTimeoutMs: 1_000 });
  const { key, sessionId } = await createCaller();
  const response = await fetch(`${server.url}/graphql`, {
    method: 'POST',
    headers: { Authorization: `Bearer ${key}`, 'Content-Type': 'application/json', Accept: 'text/event-stream' },
    body: JSON.stringify({
      query: 'subscription($id: ID!) { sessionEvents(sessionId: $id) { id } }',
      variables: { id: sessionId },
    }),
  });
  const stream = new EventStream(response);
  await vi.advanceTimersByTimeAsync(4_000);
  vi.useRealTimers();
  await append(gateway, key, sessionId, eventsOf(1));
  expect((await stream.nextData())?.data).toContain('sessionEvents');
  await stream.close();
});
