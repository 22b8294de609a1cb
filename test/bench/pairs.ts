import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import pg from 'pg';
import { Agent, request as send } from 'undici';
import { LineConverter } from '../../src/domains/session-events/line-converter.ts';
import { FormatMemory } from '../../src/domains/session-events/formats/format-memory.ts';
import { AGENT_LINES } from '../support/fixtures/agent-lines.ts';
import { connectSocket } from '../support/fixtures/websockets.ts';
import { appendBatch, clearAppended } from './append.ts';
import { median } from './drive.ts';
import { type Pace, timed } from './measure.ts';
import { type Target, residentMiB } from './process.ts';
import { appendSession } from './seed.ts';
import type { Bench } from './setup.ts';

/** What a feature costs: the same work with it and without it, alternately. */
export interface Pair {
  readonly name: string;
  readonly target: number;
  readonly withoutPerSecond: number;
  readonly withPerSecond: number;
  /** The median over the rounds. */
  readonly ratio: number;
}

/** One round of each side. Both return how much they did per second. */
interface Sides {
  readonly without: () => Promise<number>;
  readonly with: () => Promise<number>;
}

async function alternately(name: string, target: number, sides: Sides, { rounds }: Pace): Promise<Pair> {
  const found: { without: number; with: number }[] = [];
  // The first round warms up.
  for (let round = 0; round <= rounds; round += 1) {
    // The order alternates, so that neither always runs after the other.
    const order = round % 2 === 0 ? (['without', 'with'] as const) : (['with', 'without'] as const);
    const done = { without: 0, with: 0 };
    for (const side of order) done[side] = await sides[side]();
    if (round > 0) found.push(done);
  }
  return {
    name,
    target,
    withoutPerSecond: median(found.map(({ without }) => without)),
    withPerSecond: median(found.map((round) => round.with)),
    ratio: median(found.map((round) => round.with / round.without)),
  };
}

/** Calls `work` again and again for some seconds, with several clients. @returns how often per second */
async function perSecond(clients: number, seconds: number, work: (client: number) => Promise<unknown>) {
  const began = performance.now();
  let count = 0;
  const run = async (client: number) => {
    while (performance.now() - began < seconds * 1000) {
      await work(client);
      count += 1;
    }
  };
  await Promise.all(Array.from({ length: clients }, (_, client) => run(client)));
  return count / ((performance.now() - began) / 1000);
}

const BATCH = 1000;

/** Lines of an agent that become {@link BATCH} events, or a few less. */
async function linesOfBatch(): Promise<{ lines: readonly string[]; events: readonly object[] }> {
  const lines: string[] = [];
  const events: object[] = [];
  const converter = new LineConverter('claude', new FormatMemory());
  for (let turn = 0; events.length + AGENT_LINES.claude.length * 2 < BATCH; turn += 1)
    for (const one of AGENT_LINES.claude) {
      const line = one.replaceAll(/"((?:msg|toolu)_)(\d)"/g, `"$1${turn}_$2"`);
      lines.push(line);
      for (const { repairedTexts: _, ...event } of await converter.convert(line))
        events.push({ ...event, eventData: JSON.parse(event.eventData) as unknown });
    }
  return { lines, events };
}

/** An append of an agent's lines, against an append of the events that they become. */
export async function measureLines(bench: Bench, gateway: Target, pace: Pace): Promise<Pair> {
  const { lines, events } = await linesOfBatch();
  const converted = Buffer.from(JSON.stringify({ events }));
  const text = Buffer.from(lines.join('\n'));
  const path = `/v1/sessions/${appendSession(0)}/events`;
  const post = async (type: string, body: Buffer) => {
    const headers = { authorization: `Bearer ${bench.key}`, 'content-type': type };
    const response = await send(gateway.url + path, { method: 'POST', headers, body });
    const answer = await response.body.text();
    if (response.statusCode !== 201) throw new Error(`${response.statusCode} to ${type}: ${answer.slice(0, 500)}`);
  };
  const client = await connect(bench);
  try {
    await clearAppended(client);
    const sides = {
      without: () => perSecond(1, pace.seconds, () => post('application/json', converted)),
      with: () => perSecond(1, pace.seconds, () => post('application/x-ndjson; format=claude', text)),
    };
    const name = `${events.length} events as lines of claude, against converted ones`;
    const pair = await alternately(name, 0.6, sides, pace);
    await clearAppended(client);
    return pair;
  } finally {
    await client.end();
  }
}

/** An append while the search index follows it, against an append while the index has to wait. */
export async function measureIndexing(bench: Bench, gateway: Target, clients: number, pace: Pace): Promise<Pair> {
  const [client, blocker] = [await connect(bench), await connect(bench)];
  try {
    await clearAppended(client);
    const round = async () => {
      // Neither side has to index what the other has appended.
      await client.query('update session_search set version = null where version is not null');
      await delay(100);
      return perSecond(clients, pace.seconds, (index) => timed(gateway, appendBatch(index), bench.key));
    };
    const sides = {
      with: round,
      async without() {
        await blocker.query('begin; lock table session_text in exclusive mode');
        try {
          return await round();
        } finally {
          await client.query('update session_search set version = null where version is not null');
          await blocker.query('rollback');
        }
      },
    };
    const name = `append of ${BATCH} events, ${clients} client${clients === 1 ? '' : 's'}: with the search index behind it`;
    const pair = await alternately(name, 0.95, sides, pace);
    await clearAppended(client);
    return pair;
  } finally {
    await Promise.all([client.end(), blocker.end()]);
  }
}

const STATES = ['completed', 'queued', 'inProgress'];
const CHANGING = 4;

/** Changes of the state of a session, which write to the feed, against the same without these entries. */
export async function measureFeed(bench: Bench, gateway: Target, pace: Pace): Promise<Pair> {
  const without = await bench.startGateway(`--import=${join(import.meta.dirname, 'without-feed.ts')}`);
  const client = await connect(bench);
  try {
    const changes = (target: Target) => async (index: number) => {
      for (const state of STATES) {
        const path = `/v1/sessions/${appendSession(index)}/transition`;
        await timed(target, { method: 'POST', path, body: JSON.stringify({ state }) }, bench.key);
      }
    };
    const round = (target: Target) => async () =>
      STATES.length * (await perSecond(CHANGING, pace.seconds, changes(target)));
    const entries = async () => {
      const { rows } = await client.query<{ count: number }>('select count(*)::int as count from feed_entry');
      return rows[0]?.count ?? 0;
    };
    const before = await entries();
    await round(without)();
    if ((await entries()) !== before) throw new Error('the gateway without a feed has written to it');
    const sides = { without: round(without), with: round(gateway) };
    const pair = await alternately('change of the state of a session, with its entry in the feed', 0.9, sides, pace);
    if ((await entries()) === before) throw new Error('nothing was written to the feed');
    return pair;
  } finally {
    await without.stop();
    await client.end();
  }
}

async function connect({ databaseUrl }: Bench): Promise<pg.Client> {
  const client = new pg.Client(databaseUrl);
  await client.connect();
  return client;
}

const SUBSCRIPTIONS = 1000;
/** The maximum for one key. */
const SUBSCRIPTIONS_OF_KEY = 20;
/** In this time V8 collects what opening the connections has left behind. */
const SETTLING_MS = 20_000;
const FOLLOW = 'subscription { sessionChanged { id title } }';

export interface Subscriptions {
  readonly transport: 'SSE' | 'WebSocket';
  readonly beforeMiB: number;
  readonly openMiB: number;
}

/** The memory of fresh gateways with idle subscriptions, each on a connection of its own. */
export async function measureSubscriptions(bench: Bench): Promise<Subscriptions[]> {
  const keys: string[] = [];
  while (keys.length < SUBSCRIPTIONS / SUBSCRIPTIONS_OF_KEY) keys.push(await bench.issueKey());
  const measured: Subscriptions[] = [];
  for (const [transport, open] of [
    ['SSE', openStream],
    ['WebSocket', openSubscription],
  ] as const) {
    const gateway = await bench.startGateway();
    const closing: (() => void)[] = [];
    try {
      // What the first subscription loads stays.
      (await open(gateway.url, bench.key))();
      await delay(SETTLING_MS);
      const beforeMiB = await residentMiB(gateway.pid);
      for (let count = 0; count < SUBSCRIPTIONS; count += 1)
        closing.push(await open(gateway.url, keys[Math.floor(count / SUBSCRIPTIONS_OF_KEY)] ?? ''));
      await delay(SETTLING_MS);
      measured.push({ transport, beforeMiB, openMiB: await residentMiB(gateway.pid) });
    } finally {
      for (const close of closing) close();
      await gateway.stop();
    }
  }
  return measured;
}

/** Both resolve when the gateway follows the changes, with a function that closes the connection. */
async function openStream(url: string, key: string): Promise<() => void> {
  const controller = new AbortController();
  const { statusCode, body } = await send(`${url}/graphql`, {
    method: 'POST',
    headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json', accept: 'text/event-stream' },
    body: JSON.stringify({ query: FOLLOW }),
    signal: controller.signal,
    dispatcher: STREAMS,
  });
  if (statusCode !== 200) throw new Error(`a stream was answered ${statusCode}: ${await body.text()}`);
  body.on('error', () => {}).resume();
  return () => controller.abort();
}

async function openSubscription(url: string, key: string): Promise<() => void> {
  const opened = await connectSocket(url, key);
  opened.send({ id: '1', type: 'subscribe', payload: { query: FOLLOW, extensions: { acknowledge: 'started' } } });
  const message = await opened.next();
  if (message?.type !== 'ping') throw new Error(`a subscription was answered ${JSON.stringify(message)}`);
  return () => opened.socket.terminate();
}

/** Streams wait for changes as long as they are open. */
const STREAMS = new Agent({ bodyTimeout: 0, headersTimeout: 0 });
