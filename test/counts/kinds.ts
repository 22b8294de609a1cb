import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { Agent, request as send } from 'undici';
import { appendOf } from '../bench/append.ts';
import { headersFor } from '../bench/drive.ts';
import { timed } from '../bench/measure.ts';
import { type Target, startTarget } from '../bench/process.ts';
import { appendSession } from '../bench/seed.ts';
import type { Bench } from '../bench/setup.ts';
import { type WorkRequest, AUTHENTICATED, works } from '../bench/work.ts';
import { connectSocket } from '../support/fixtures/websockets.ts';

/** The kinds of requests that are counted. */

export interface Place {
  readonly bench: Bench;
  /** The counted gateway. */
  readonly url: string;
  readonly pid: number;
  /** Another one on the same database, for changes that the counted one only learns of. */
  readonly other: Target;
}

export interface Kind {
  readonly name: string;
  /** Requests before those that are counted, and those: so many that V8 has compiled their code, and has collected garbage several times. */
  readonly warmUp: number;
  readonly counted: number;
  readonly runsJobs?: boolean;
  /** Whether the other gateway makes changes meanwhile: rows are not counted then. */
  readonly hasChanges?: boolean;
  readonly open: (place: Place) => Promise<Repeated>;
}

export interface Repeated {
  /** Sends so many requests, or lets so many events or deliveries happen, and resolves at their end. */
  readonly repeat: (times: number) => Promise<void>;
  readonly close?: () => void;
}

/** One after the other. */
function oneByOne(run: () => Promise<unknown>): Repeated['repeat'] {
  return async (times) => {
    for (let index = 0; index < times; index += 1) await run();
  };
}

export const EVENTS = 2_000;
const WORKS = works(EVENTS);

export const KINDS: readonly Kind[] = [
  work('{ __typename }', '{ __typename }', [1_500, 1_500]),
  work('page of 100 events as JSON', 'GraphQL 100 events, eventDataJson', [400, 200]),
  work('page of 100 events, typed', 'GraphQL 100 events, eventData', [400, 200]),
  work('nested sessions', 'GraphQL 50 sessions, nested', [80, 50]),
  work('one definition', 'GraphQL 1 definition, 40 properties', [600, 300]),
  work('search of definitions', 'GraphQL search of 20 definitions, 40 properties each', [120, 60]),
  work('update of a title', 'GraphQL updateSession', [500, 300]),
  {
    name: 'append of 1 event',
    warmUp: 500,
    counted: 300,
    open: requests(() => [appendOf(appendSession(0), 1)]),
  },
  {
    name: 'append of 1,000 events',
    warmUp: 60,
    counted: 20,
    open: requests(() => [appendOf(appendSession(1), 1_000)]),
  },
  {
    name: 'append of 1,000 events and the page that folds them, half of both',
    warmUp: 60,
    counted: 40,
    open: requests(() => [
      { method: 'GET', path: `/v1/sessions/${appendSession(3)}/entries?limit=1` },
      appendOf(appendSession(3), 1_000),
    ]),
  },
  tool('tool call, address of the connection', 'search', ({ id }) => `/v1/mcp-connections/${id}/mcp`),
  tool('tool call, /v1/mcp', 'counted__search', () => '/v1/mcp'),
  tool('tool call, address of a session', 'counted__search', ({ sessionId }) => `/v1/sessions/${sessionId}/mcp`),
  { name: 'live tail, an event', warmUp: 400, counted: 200, hasChanges: true, open: openTail },
  { name: 'WebSocket, a query', warmUp: 800, counted: 600, open: openSocket },
  { name: 'webhook, a delivery', warmUp: 300, counted: 200, runsJobs: true, hasChanges: true, open: openWebhook },
];

/** One of the workloads of the benchmark. */
function work(name: string, workload: string, [warmUp, counted]: readonly [number, number]): Kind {
  const found = WORKS.find((each) => each.name === workload);
  if (!found) throw new Error(`the benchmark has no work ${workload}`);
  return { name, warmUp, counted, open: requests(() => found.requests) };
}

/** Requests one after the other, each of which must be answered 200. */
function requests(of: (place: Place) => readonly WorkRequest[] | Promise<readonly WorkRequest[]>): Kind['open'] {
  return async (place) => {
    const sent = await of(place);
    let next = 0;
    const repeat = oneByOne(() => {
      const request = sent[(next += 1) % sent.length];
      if (!request) throw new Error('there is no request');
      return timed({ name: 'gateway', url: place.url }, request, place.bench.key);
    });
    return { repeat };
  };
}

interface Connected {
  readonly id: string;
  readonly sessionId: string;
}

let connected: Promise<Connected> | undefined;

function tool(name: string, toolName: string, path: (to: Connected) => string): Kind {
  const params = { name: toolName, arguments: { query: 'login' } };
  const body = JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'tools/call', params });
  const open = requests(async (place) => {
    const to = await (connected ??= connect(place));
    return [{ method: 'POST', path: path(to), body }];
  });
  return { name, warmUp: 400, counted: 200, open };
}

async function connect({ bench, other }: Place): Promise<Connected> {
  const { connection } = await post<{ connection: { id: string } }>(bench, other, '/v1/mcp-connections', {
    name: 'Counted',
    serverUrl: `${bench.mcpServer.url}/mcp`,
  });
  const { id: sessionId } = await post<{ id: string }>(bench, other, '/v1/sessions', {
    title: 'Counted',
    mcpServers: [connection.id],
  });
  return { id: connection.id, sessionId };
}

async function post<Body>({ key }: Bench, { url }: Target, path: string, given: object): Promise<Body> {
  const body = JSON.stringify(given);
  const answer = await send(url + path, { method: 'POST', headers: headersFor(key, body), body });
  const text = await answer.body.text();
  if (answer.statusCode >= 300) throw new Error(`${answer.statusCode} to ${path}: ${text}`);
  return JSON.parse(text) as Body;
}

/** Counts up, and lets its reader wait until it has reached a number. */
class Arrivals {
  #count = 0;
  #wake: () => void = () => undefined;

  add(): void {
    this.#count += 1;
    this.#wake();
  }

  async reach(count: number): Promise<void> {
    while (this.#count < count) await new Promise<void>((resolve) => (this.#wake = resolve));
  }
}

/** Follows a session to which the other gateway appends. */
async function openTail({ bench, url, other }: Place): Promise<Repeated> {
  const arrivals = new Arrivals();
  const gone = new AbortController();
  const dispatcher = new Agent({ bodyTimeout: 0 });
  const headers = { ...headersFor(bench.key), accept: 'text/event-stream' };
  const path = `/v1/sessions/${appendSession(2)}/events`;
  const { statusCode, body } = await send(url + path, { headers, signal: gone.signal, dispatcher });
  if (statusCode !== 200) throw new Error(`the tail was answered ${statusCode}: ${await body.text()}`);
  body.on('error', () => undefined);
  body.on('data', (part: Buffer) => {
    if (String(part).startsWith('id:')) arrivals.add();
  });
  const append = appendOf(appendSession(2), 1);
  let sent = 0;
  const repeat = oneByOne(async () => {
    await timed(other, append, bench.key);
    await arrivals.reach((sent += 1));
  });
  return { repeat, close: () => gone.abort() };
}

async function openSocket({ bench, url }: Place): Promise<Repeated> {
  const socket = await connectSocket(url, bench.key);
  const repeat = oneByOne(async () => {
    const messages = await socket.run({ query: AUTHENTICATED });
    if (messages.at(-1)?.type !== 'complete') throw new Error(`answered ${JSON.stringify(messages)}`);
  });
  return { repeat, close: () => socket.socket.terminate() };
}

const STATES = ['inProgress', 'completed', 'queued'];

/** Receives a message about each change that the other gateway makes. */
async function openWebhook({ bench, pid, other }: Place): Promise<Repeated> {
  const arrivals = new Arrivals();
  const receiver = createServer((incoming, outgoing) => {
    incoming.resume().once('end', () => {
      outgoing.writeHead(204).end();
      arrivals.add();
    });
  }).listen(0, '127.0.0.1');
  await once(receiver, 'listening');
  const { port } = receiver.address() as AddressInfo;
  await post(bench, other, '/v1/webhooks', { url: `http://127.0.0.1:${port}/`, types: ['session.state_changed'] });
  let sent = 0;
  const change = oneByOne(() => {
    const path = `/v1/sessions/${appendSession(3)}/transition`;
    return post(bench, other, path, { state: STATES[(sent += 1) % STATES.length] });
  });
  return {
    // The gateway is stopped meanwhile, so that it finds all at once, however long that takes.
    async repeat(times) {
      process.kill(pid, 'SIGSTOP');
      await change(times).finally(() => process.kill(pid, 'SIGCONT'));
      await arrivals.reach(sent);
    },
    close: () => receiver.close(),
  };
}

/** The gateway beside the counted one. */
export function startOther({ gatewayEnv }: Bench, command: string, directory: string): Promise<Target> {
  return startTarget({
    name: 'gateway',
    command: [command, 'start'],
    env: { ...gatewayEnv, RUN_JOBS: 'false' },
    directory,
  });
}
