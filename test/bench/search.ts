// Measures the search over sessions: `node test/bench/search.ts --events 1000000 --sessions 2000`. The figures are in test/proof/results.json.
import { randomBytes, randomUUID } from 'node:crypto';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { parseArgs } from 'node:util';
import pg from 'pg';
import { startEmbeddedPostgres } from '../../src/core/postgres/embedded/server.ts';
import { convertLines } from '../../src/domains/session-events/line-converter.ts';
import { FormatMemory } from '../../src/domains/session-events/formats/format-memory.ts';
import { issueKey } from '../support/processes/process.ts';
import { GATEWAY } from '../support/processes/programs.ts';
import { median } from './drive.ts';
import { textOf, wordOf } from './natural-texts.ts';
import { startTarget } from './process.ts';

const { values: options } = parseArgs({
  options: { events: { type: 'string', default: '1000000' }, sessions: { type: 'string', default: '2000' } },
});
const EVENTS = Number(options.events);
const SESSIONS = Number(options.sessions);
const EVENTS_EACH = EVENTS / SESSIONS;
const SAMPLES = 7;
const say = (line: string) => process.stdout.write(`${line}\n`);

/** Words that are in one event of so many. */
const MARKS = [EVENTS, EVENTS / 10, EVENTS / 100, EVENTS / 1000, 100, 10, 2].map((every) => ({
  every,
  word: `onein${every}`,
}));
const marksOf = (event: number) =>
  MARKS.filter(({ every }) => event % every === Math.floor(every / 2))
    .map(({ word }) => word)
    .join(' ');

/** The lines of an agent that writes a message, calls a tool and gets its result, again and again. */
function linesOf(session: number): string[] {
  return Array.from({ length: EVENTS_EACH }, (_, index) => {
    const marks = marksOf(session * EVENTS_EACH + index);
    const turn = Math.floor(index / 3);
    const call = `toolu_${session}_${turn}`;
    const contents = [
      { type: 'text', text: `${textOf(40)} ${marks}` },
      { type: 'tool_use', id: call, name: 'Bash', input: { command: `${textOf(8)} ${marks}` } },
      { type: 'tool_result', tool_use_id: call, content: `${textOf(60)} ${marks}` },
    ];
    const message = { id: `msg_${session}_${turn}`, content: [contents[index % 3]] };
    return JSON.stringify({ type: index % 3 === 2 ? 'user' : 'assistant', message, session_id: 's1' });
  });
}

async function seed(database: pg.Client): Promise<void> {
  const { rows } = await database.query<{ organizationId: string; userId: string }>(
    'select organization_id as "organizationId", user_id as "userId" from api_key',
  );
  const { organizationId, userId } = rows[0] ?? {};
  const source = { id: randomUUID(), name: 'shop', type: 'github', repositories: [] };
  for (let session = 0; session < SESSIONS; session += 1) {
    const id = randomUUID();
    const began = new Date(Date.UTC(2026, 0, 1, session)).toISOString();
    await database.query(
      `insert into session (id, organization_id, creator_id, title, kind, session_type, mode, visibility, level, state, is_pinned, mcp_servers, source, created_at, updated_at, last_seen_at)
       values ($1, $2, $3, $4, 'agent', 'Chat', 'normal', $5, 1, 'inProgress', false, '{}', $6, $7, $7, $7)`,
      [id, organizationId, userId, `Session ${session}`, session % 4 === 0 ? 'private' : 'public', source, began],
    );
    const events = await convertLines('claude', linesOf(session), new FormatMemory());
    await database.query(
      'insert into session_stream (session_id, organization_id, last_id, is_closed) values ($1, $2, $3, false)',
      [id, organizationId, events.length],
    );
    await database.query(
      `insert into session_event (session_id, id, organization_id, created_at, event_type, provider, event_data)
       select $1, e.n, $2, $3::timestamptz + e.n * interval '1 second', e.type, 'claude', e.data::json
       from unnest($4::text[], $5::text[]) with ordinality as e(type, data, n)`,
      [id, organizationId, began, events.map((event) => event.eventType), events.map((event) => event.eventData)],
    );
    await database.query(
      'insert into session_search (session_id, organization_id, indexed_id, version) values ($1, $2, 0, gen_random_uuid())',
      [id, organizationId],
    );
  }
}

const SIZES = `select (select count(*) from session_text)::int as texts,
    pg_size_pretty((select sum(pg_table_size(relid)) from pg_stat_user_tables where relname ~ '^session_event_[0-9]+$')) as events,
    pg_size_pretty(pg_table_size('session_text')) as "table", pg_size_pretty(pg_indexes_size('session_text')) as "indexes",
    pg_size_pretty(pg_relation_size('session_text_document_index')) as "words"`;

/** From one match to half of all texts; then several words, phrases and titles. */
const SEARCHES = [
  'nothing',
  ...MARKS.map(({ word }) => word),
  ...[0, 10, 100, 1000, 10_000].map(wordOf),
  `${wordOf(0)} ${MARKS[0]?.word}`,
  `${wordOf(10)} ${MARKS[3]?.word}`,
  `${wordOf(100)} ${MARKS[5]?.word}`,
  `${wordOf(100)} ${wordOf(101)}`,
  `"${wordOf(0)} ${wordOf(1)}"`,
  `"${wordOf(100)} ${wordOf(10)}"`,
  'session 17',
];

async function measureSearches(url: string, key: string): Promise<void> {
  const headers = { Authorization: `Bearer ${key}`, 'Content-Type': 'application/json' };
  const timed = async (path: string, init: RequestInit = {}) => {
    const began = performance.now();
    const response = await fetch(url + path, { headers, ...init });
    const answer: unknown = await response.json();
    if (!response.ok) throw new Error(`${path}: ${response.status} ${JSON.stringify(answer)}`);
    return { ms: performance.now() - began, answer };
  };
  say('| search | matches | first 25, ms: median | at most | with the count, ms |');
  for (const text of SEARCHES) {
    const times: number[] = [];
    while (times.length < SAMPLES)
      times.push((await timed(`/v1/session-search?limit=25&text=${encodeURIComponent(text)}`)).ms);
    const query = `query($text: String!) { viewer { organization { sessionSearch(text: $text, first: 25) { totalCount nodes { excerpt } } } } }`;
    const counted = await timed('/graphql', { method: 'POST', body: JSON.stringify({ query, variables: { text } }) });
    const matches = /"totalCount":(\d+)/.exec(JSON.stringify(counted.answer))?.[1] ?? JSON.stringify(counted.answer);
    const cells = [median(times), Math.max(...times), counted.ms].map((ms) => ms.toFixed(1));
    say(`| ${text} | ${matches} | ${cells.join(' | ')} |`);
  }
}

const directory = await mkdtemp(join(tmpdir(), 'gateway-search-'));
const settings = { shared_buffers: '512MB', max_wal_size: '4GB' };
const postgres = await startEmbeddedPostgres({ dataDir: join(directory, 'data'), log: () => undefined, settings });
const env = { DATABASE_URL: postgres.url, ENCRYPTION_KEYS: `k1:${randomBytes(32).toString('base64')}` };
try {
  const key = await issueKey(env);
  const database = new pg.Client(postgres.url);
  await database.connect();
  await seed(database);
  await database.query('vacuum analyze');
  const began = performance.now();
  const gateway = await startTarget({
    name: 'gateway',
    command: [GATEWAY, 'start'],
    env: { ...env, PORT: '0', RATE_LIMIT_PER_MINUTE: '0' },
    directory,
  });
  const pending = 'select count(*)::int as count from session_search where version is not null';
  while ((await database.query<{ count: number }>(pending)).rows[0]?.count !== 0) await delay(500);
  const seconds = (performance.now() - began) / 1000;
  say(`indexed ${EVENTS} events of ${SESSIONS} sessions in ${seconds.toFixed(0)} s`);
  await database.query('vacuum analyze');
  say(JSON.stringify((await database.query<object>(SIZES)).rows[0]));
  await measureSearches(gateway.url, key);
  await gateway.stop();
  await database.end();
} finally {
  await postgres.stop();
  await rm(directory, { recursive: true, force: true });
}
