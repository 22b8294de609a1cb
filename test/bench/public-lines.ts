import { readdir } from 'node:fs/promises';
import { setTimeout as delay } from 'node:timers/promises';
import pg from 'pg';
import { request as send } from 'undici';
import { median } from './drive.ts';
import { textOf } from './natural-texts.ts';
import { type Target, cpuMs, statOf } from './process.ts';
import type { Bench } from './setup.ts';

/** How long 10,000 lines of an agent take until the last of them is found by a search, beside the least that PostgreSQL needs for this. */

const LINES = 10_000;
const LINES_OF_REQUEST = 1_000;

export interface Searchable {
  readonly name: string;
  readonly seconds: number;
  /** Of the gateway or of the client, and of PostgreSQL. */
  readonly cpuSeconds: number;
  readonly postgresCpuSeconds: number;
  /** What the tables and indexes have grown by, for each byte of a line. */
  readonly bytesPerByte: number;
}

/** Messages, calls and results, in turn; the last one has a word of its own. */
function linesOf(round: number): { lines: string[]; word: string } {
  const word = `lastof${round}x`;
  const lines = Array.from({ length: LINES }, (_, index) => {
    const turn = `${round}_${Math.floor(index / 3)}`;
    const contents = [
      { type: 'text', text: index === LINES - 1 ? `${textOf(40)} ${word}` : textOf(40) },
      { type: 'tool_use', id: `toolu_${turn}`, name: 'Bash', input: { command: textOf(8) } },
      { type: 'tool_result', tool_use_id: `toolu_${turn}`, content: textOf(60) },
    ];
    const message = { id: `msg_${turn}`, content: [contents[index % 3]] };
    return JSON.stringify({ type: index % 3 === 2 ? 'user' : 'assistant', message, session_id: 's1' });
  });
  return { lines, word };
}

export async function measureSearchable(bench: Bench, gateway: Target, rounds: number): Promise<Searchable[]> {
  const client = new pg.Client(bench.databaseUrl);
  await client.connect();
  await client.query('create table plain_line (id bigserial primary key, line text not null)');
  await client.query(
    `alter table plain_line add words tsvector not null generated always as (to_tsvector('simple', line)) stored`,
  );
  await client.query('create index plain_line_words on plain_line using gin (words)');
  const found: Searchable[][] = [[], []];
  try {
    for (let round = 0; round <= rounds; round += 1) {
      const given = linesOf(round);
      const measured = [
        await measureOne('COPY into a table with a tsvector and its index', client, process.pid, given, copy),
        await measureOne('gateway', client, gateway.pid, given, (_, { lines, word }) =>
          record(bench, gateway, lines, word),
        ),
      ];
      // The first round warms up.
      if (round > 0) for (const [index, each] of measured.entries()) found[index]?.push(each);
    }
  } finally {
    await client.query('drop table plain_line');
    await client.end();
  }
  return found.map((each) => {
    const of = (name: Exclude<keyof Searchable, 'name'>) => median(each.map((one) => one[name]));
    return {
      name: each[0]?.name ?? '',
      seconds: of('seconds'),
      cpuSeconds: of('cpuSeconds'),
      postgresCpuSeconds: of('postgresCpuSeconds'),
      bytesPerByte: of('bytesPerByte'),
    };
  });
}

type Given = ReturnType<typeof linesOf>;

async function measureOne(
  name: string,
  client: pg.Client,
  pid: number,
  given: Given,
  work: (client: pg.Client, given: Given) => Promise<void>,
): Promise<Searchable> {
  const before = { bytes: await bytesOf(client), cpu: await cpuMs(pid), postgres: await postgresCpuMs(client) };
  const began = performance.now();
  await work(client, given);
  const seconds = (performance.now() - began) / 1000;
  const size = given.lines.reduce((sum, line) => sum + Buffer.byteLength(line), 0);
  return {
    name,
    seconds,
    cpuSeconds: ((await cpuMs(pid)) - before.cpu) / 1000,
    postgresCpuSeconds: ((await postgresCpuMs(client)) - before.postgres) / 1000,
    bytesPerByte: ((await bytesOf(client)) - before.bytes) / size,
  };
}

async function record({ key }: Bench, { url }: Target, lines: readonly string[], word: string): Promise<void> {
  const headers = { authorization: `Bearer ${key}`, 'content-type': 'application/json' };
  const ask = async (path: string, body?: string, type = 'application/json') => {
    const method = body === undefined ? 'GET' : 'POST';
    const answer = await send(url + path, {
      method,
      headers: { ...headers, 'content-type': type },
      body: body ?? null,
    });
    const text = await answer.body.text();
    if (answer.statusCode >= 300) throw new Error(`${path} was answered ${answer.statusCode}: ${text.slice(0, 500)}`);
    return JSON.parse(text) as { id: string; items: object[] };
  };
  const { id } = await ask('/v1/sessions', JSON.stringify({ title: 'Lines' }));
  for (let at = 0; at < lines.length; at += LINES_OF_REQUEST)
    await ask(
      `/v1/sessions/${id}/events`,
      lines.slice(at, at + LINES_OF_REQUEST).join('\n'),
      'application/x-ndjson; format=claude',
    );
  // Whoever asks all the time keeps the gateway busy, and the index behind its other work.
  while ((await ask(`/v1/session-search?text=${word}`)).items.length === 0) await delay(200);
}

async function copy(client: pg.Client, { lines, word }: Given): Promise<void> {
  const rows = lines.map((line) => `${line.replaceAll('\\', '\\\\')}\n`).join('');
  await new Promise<unknown>((resolve, reject) => {
    client.query(copyIn('copy plain_line (line) from stdin', Buffer.from(rows), resolve, reject));
  });
  const { rowCount } = await client.query(`select from plain_line where words @@ to_tsquery('simple', $1)`, [word]);
  if (rowCount !== 1) throw new Error(`the last line was found ${rowCount} times`);
}

type CopyConnection = pg.Connection & { sendCopyFromChunk(chunk: Buffer): void; endCopyFrom(): void };

/** `copy … from stdin` with one buffer. */
function copyIn(text: string, rows: Buffer, resolve: (done: unknown) => void, reject: (error: unknown) => void) {
  return {
    submit: (connection: pg.Connection) => connection.query(text),
    handleCopyInResponse(connection: CopyConnection) {
      connection.sendCopyFromChunk(rows);
      connection.endCopyFrom();
    },
    handleCommandComplete: () => undefined,
    handleReadyForQuery: resolve,
    handleError: reject,
  };
}

const SIZE = `select sum(pg_total_relation_size(oid))::text as bytes from pg_class where relkind = 'r' and relnamespace = 'public'::regnamespace`;

async function bytesOf(client: pg.Client): Promise<number> {
  return Number((await client.query<{ bytes: string }>(SIZE)).rows[0]?.bytes);
}

/** User and system time of all processes of the server, in ms; that of ended ones is in the time of their parent's children. */
async function postgresCpuMs(client: pg.Client): Promise<number> {
  const { rows } = await client.query<{ pid: number }>('select pg_backend_pid() as pid');
  const { parent } = await statOf(rows[0]?.pid ?? 0);
  const postmaster = await statOf(parent);
  let sum = postmaster.childrenMs + postmaster.cpuMs;
  for (const pid of await readdir('/proc')) {
    if (!/^\d+$/.test(pid)) continue;
    const stat = await statOf(Number(pid)).catch(() => undefined);
    if (stat?.parent === parent) sum += stat.cpuMs;
  }
  return sum;
}
