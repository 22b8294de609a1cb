import pg from 'pg';
import { type Pace, timed } from './measure.ts';
import { median } from './drive.ts';
import type { Target } from './process.ts';
import { APPEND_SESSIONS, appendSession } from './seed.ts';
import type { Bench } from './setup.ts';
import { type Work, type WorkRequest, graphql } from './work.ts';

export interface Append {
  readonly clients: number;
  /** Batches of 1000 events per second: with the plain statement, and through the gateway. */
  readonly barePerSecond: number;
  readonly gatewayPerSecond: number;
  readonly ratio: number;
}

const BATCH = 1000;

/** In the ids of a batch, whose messages are its own: the number of the batch takes its place. */
const NUMBER = '99999999';

const EVENTS = Array.from({ length: BATCH }, (_, i) => ({
  eventType: 'stream',
  messageId: `${NUMBER}-0000-4000-8005-${String(Math.floor(i / 50)).padStart(12, '0')}`,
  provider: 'anthropic',
  createdAt: new Date(1_772_352_000_000 + i * 37).toISOString(),
  eventData: {
    type: 'content_block_delta',
    scope: { kind: 'foreground' },
    source: 'stream',
    providerEvent: true,
    delivery: 'realtime',
    event: {
      event: 'content_block_delta',
      message: ' the cart is',
      provider: 'anthropic',
      messageId: `msg_${NUMBER}_${Math.floor(i / 50)}`,
    },
    index: i % 7,
    itemId: `item_${NUMBER}_${Math.floor(i / 10)}`,
    sequenceNumber: i,
    accumulatedText:
      'The checkout test waits for the confirmation and then reads the cart. On a slow runner the timer fires before it.'.slice(
        0,
        20 + (i % 10) * 10,
      ),
    deltaType: 'text_delta',
    responsePhase: 'commentary',
  },
}));

const MUTATION = `mutation Append($input: AppendSessionEventsInput!) { appendSessionEvents(input: $input) {
  __typename ... on AppendSessionEventsPayload { lastId } ... on Error { message }
} }`;

/** The minimum that stores a batch: one prepared statement in its own transaction, with values that already exist. */
const INSERT = `insert into session_event (session_id, id, organization_id, created_at, event_type, message_id, provider, event_data)
  select $1, $2::bigint + e.position, $3, e.created_at, e.event_type, e.message_id, e.provider, e.event_data
  from unnest($4::timestamptz[], $5::text[], $6::uuid[], $7::text[], $8::json[]) with ordinality as e (created_at, event_type, message_id, provider, event_data, position)`;

/** Appends batches with several clients, each to its own session, alternately by a plain INSERT and through the gateway. */
export async function measureAppend(
  bench: Bench,
  gateway: Target,
  clients: number,
  { rounds, seconds, warmUpSeconds }: Pace,
): Promise<Append> {
  const connections = await Promise.all(Array.from({ length: clients }, () => connect(bench.databaseUrl)));
  try {
    await clearAppended(connections[0]);
    const next = connections.map(() => 0);
    const bare = (client: number) =>
      insert(connections[client], bench.organizationId, client, (next[client] = (next[client] ?? 0) + BATCH));
    const through = (client: number) => timed(gateway, appendBatch(client), bench.key);
    let batches = 0;
    for (const one of [bare, through]) batches += (await inParallel(clients, warmUpSeconds, one)).batches;
    const found: { bare: number; gateway: number }[] = [];
    while (found.length < rounds) {
      const [ours, theirs] = [await inParallel(clients, seconds, bare), await inParallel(clients, seconds, through)];
      batches += ours.batches + theirs.batches;
      found.push({ bare: ours.perSecond, gateway: theirs.perSecond });
    }
    await requireStored(connections[0], batches * BATCH);
    await clearAppended(connections[0]);
    return {
      clients,
      barePerSecond: median(found.map((round) => round.bare)),
      gatewayPerSecond: median(found.map((round) => round.gateway)),
      ratio: median(found.map((round) => round.gateway / round.bare)),
    };
  } finally {
    await Promise.all(connections.map((connection) => connection.end()));
  }
}

async function connect(url: string): Promise<pg.Client> {
  const client = new pg.Client(url);
  await client.connect();
  return client;
}

/** The plain statement has sessions of its own, whose events no gateway reads. */
const bareSession = (client: number) => appendSession(APPEND_SESSIONS / 2 + client);

const SESSIONS = Array.from({ length: APPEND_SESSIONS }, (_, index) => appendSession(index));

/** Also checks status 200, because a refused batch has it, too. @throws Error unless there are this many events. */
async function requireStored(client: pg.Client | undefined, expected: number): Promise<void> {
  const stored = await client?.query<{ count: number }>(
    'select count(*)::int as count from session_event where session_id = any($1)',
    [SESSIONS],
  );
  const count = stored?.rows[0]?.count;
  if (count !== expected) throw new Error(`append: ${count} events are stored, not ${expected}`);
}

/** Deletes the events of the sessions that are appended to. */
export async function clearAppended(client: pg.Client | undefined): Promise<void> {
  await client?.query('delete from session_event where session_id = any($1)', [SESSIONS]);
  await client?.query('update session_stream set last_id = 0 where session_id = any($1)', [SESSIONS]);
  await client?.query('delete from session_entry where session_id = any($1)', [SESSIONS]);
  await client?.query('delete from session_fold where session_id = any($1)', [SESSIONS]);
  // Its texts are deleted, too, so that none is indexed again.
  await client?.query('delete from session_text where session_id = any($1) and event_id > 0', [SESSIONS]);
  await client?.query('update session_search set indexed_id = 0, version = null where session_id = any($1)', [
    SESSIONS,
  ]);
  await client?.query(
    'vacuum session_event, session_stream, session_entry, session_fold, session_search, session_text',
  );
}

async function insert(
  client: pg.Client | undefined,
  organizationId: string,
  index: number,
  base: number,
): Promise<void> {
  const values = [
    bareSession(index),
    base,
    organizationId,
    EVENTS.map(({ createdAt }) => createdAt),
    EVENTS.map(({ eventType }) => eventType),
    EVENTS.map(({ messageId }) => messageId),
    EVENTS.map(({ provider }) => provider),
    EVENTS.map(({ eventData }) => JSON.stringify(eventData)),
  ];
  await client?.query({ name: 'append', text: INSERT, values });
}

/** The workload for `--profile`. */
export const appendWork = (): Work => ({
  name: 'append',
  target: 0.6,
  requests: SESSIONS.map((_, index) => appendBatch(index)),
});

let batchNumber = 0;

/** The next append to a session of the client. Its text is made once, and gets the number of the batch. */
export function appendBatch(client: number): WorkRequest {
  batchNumber += 1;
  const { body = '', ...request } = (BATCHES[client] ??= appendOf(appendSession(client), BATCH));
  const number = String(batchNumber).padStart(NUMBER.length, '0');
  return { ...request, body: Buffer.from(body.toString().replaceAll(NUMBER, number)) };
}

export function appendOf(sessionId: string, events: number): WorkRequest {
  return graphql('Append', MUTATION, { input: { sessionId, events: EVENTS.slice(0, events) } });
}

const BATCHES: WorkRequest[] = [];

/** Each client sends one batch after another for some seconds. */
async function inParallel(
  clients: number,
  seconds: number,
  batch: (client: number) => Promise<unknown>,
): Promise<{ batches: number; perSecond: number }> {
  const began = performance.now();
  let batches = 0;
  const run = async (client: number) => {
    while (performance.now() - began < seconds * 1000) {
      await batch(client);
      batches += 1;
    }
  };
  await Promise.all(Array.from({ length: clients }, (_, client) => run(client)));
  return { batches, perSecond: batches / ((performance.now() - began) / 1000) };
}
