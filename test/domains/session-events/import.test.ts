import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { appendFile, mkdtemp, open, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import pg from 'pg';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { createProgress } from '../../../src/core/progress.ts';
import { type TestGateway, startTestGateway } from '../../support/fixtures/gateway.ts';
import { checkout, cli, endProcesses } from '../../support/processes/process.ts';
import { append, createSession, eventsOf, moveTo, readAll } from '../../support/fixtures/sessions.ts';

let gateway: TestGateway;
let key: string;
let directory: string;
let env: Record<string, string>;
beforeAll(async () => {
  gateway = await startTestGateway({ RATE_LIMIT_PER_MINUTE: '0' });
  ({ key } = await gateway.createKey());
  directory = await mkdtemp(join(tmpdir(), 'import-'));
  env = { DATABASE_URL: gateway.databaseUrl, ENCRYPTION_KEYS: `k:${Buffer.alloc(32, 1).toString('base64')}` };
});
afterAll(async () => {
  await endProcesses();
  await gateway.close();
  await rm(directory, { recursive: true, force: true });
});

const importFile = (sessionId: string, path: string) => cli(['events', 'import', '--session', sessionId, path], env);
const ndjson = (events: readonly object[]) => events.map((event) => `${JSON.stringify(event)}\n`).join('');
const indexes = async (id: string) => (await readAll(gateway, key, id, 1000)).map(({ eventData }) => eventData.index);
const range = (from: number, to: number) => Array.from({ length: to - from + 1 }, (_, index) => from + index);
const pathOf = (name: string) => join(directory, name);

test('a recorded run is imported in its order; again, nothing is doubled; grown, the new lines follow', async () => {
  const id = await createSession(gateway, key);
  const path = pathOf('run.ndjson');
  await writeFile(path, `${ndjson(eventsOf(1500))}\r\n\n`);
  expect(await importFile(id.toUpperCase(), path)).toEqual({
    code: 0,
    stdout: '{"imported":1500,"skipped":0,"lastId":1500}\n',
    stderr: expect.stringContaining('100 %  1500 imported, 0 skipped'),
  });
  expect(await importFile(id, path)).toMatchObject({
    code: 0,
    stdout: '{"imported":0,"skipped":1500,"lastId":1500}\n',
  });
  // Without an end of its last line, which is completed by the next growth.
  await appendFile(path, ndjson(eventsOf(700, { from: 1501 })).trimEnd());
  expect(await importFile(id, path)).toMatchObject({
    code: 0,
    stdout: '{"imported":700,"skipped":1500,"lastId":2200}\n',
  });
  await appendFile(path, `\n${ndjson(eventsOf(1, { from: 2201 }))}`);
  expect(await importFile(id, path)).toMatchObject({
    code: 0,
    stdout: '{"imported":1,"skipped":2200,"lastId":2201}\n',
  });
  expect(await indexes(id)).toEqual(range(1, 2201));
  const other = await createSession(gateway, key);
  await append(gateway, key, other, eventsOf(1));
  expect(await importFile(other, path)).toMatchObject({ stdout: '{"imported":2201,"skipped":0,"lastId":2202}\n' });
});

test('the same lines twice in one file are two batches; an empty file is none', async () => {
  const id = await createSession(gateway, key);
  const thousand = ndjson(eventsOf(1000));
  await writeFile(pathOf('twice.ndjson'), thousand + thousand);
  expect(await importFile(id, pathOf('twice.ndjson'))).toMatchObject({
    stdout: '{"imported":2000,"skipped":0,"lastId":2000}\n',
  });
  await writeFile(pathOf('empty.ndjson'), '');
  expect(await importFile(id, pathOf('empty.ndjson'))).toMatchObject({
    code: 0,
    stdout: '{"imported":0,"skipped":0,"lastId":0}\n',
  });
});

test('a line that is wrong is named, nothing of its batch is stored, and once mended the import goes on', async () => {
  const id = await createSession(gateway, key);
  const path = pathOf('wrong.ndjson');
  const lines = eventsOf(1300).map((event) => JSON.stringify(event));
  const faults: [string | Buffer, string][] = [
    ['{', 'line 1200: is not JSON'],
    ['[]', 'line 1200: must be an object'],
    ['{"eventType":"a","provider":"p","eventData":{}}', 'line 1200: eventData.type: is required'],
    [
      '{"eventType":"a","provider":"p","eventData":{"type":"t","delivery":"x"}}',
      'line 1200: eventData.delivery: must be one of "realtime", "persist"',
    ],
    ['{"eventType":"a","provider":"p","eventData":{"type":"t"},"id":1}', 'line 1200: id: is not a known property'],
    [Buffer.from([0x22, 0xff, 0x22]), 'line 1200: is not well-formed UTF-8'],
    ['"'.padEnd(8 * 1024 * 1024 + 70_000, 'x'), 'line 1200: is longer than 8388608 bytes'],
  ];
  for (const [fault, message] of faults) {
    await writeFile(
      path,
      Buffer.concat([
        Buffer.from(`${lines.slice(0, 1199).join('\n')}\n`),
        Buffer.from(fault),
        Buffer.from(`\n${lines.slice(1200).join('\n')}\n`),
      ]),
    );
    const { code, stdout, stderr } = await importFile(id, path);
    expect([code, stdout, stderr.trimEnd().split('\n').at(-1)]).toEqual([1, '', `${path}: ${message}`]);
  }
  expect(await indexes(id)).toEqual(range(1, 1000));
  await writeFile(path, lines.join('\n'));
  expect(await importFile(id, path)).toMatchObject({
    code: 0,
    stdout: '{"imported":300,"skipped":1000,"lastId":1300}\n',
  });
  expect(await indexes(id)).toEqual(range(1, 1300));
});

test.each([
  ['no session', () => ['events', 'import', 'x.ndjson'], '--session: is required'],
  ['no file', (id: string) => ['events', 'import', '--session', id], 'FILE: is required'],
  ['an id that is none', () => ['events', 'import', '--session', 'x', 'y'], '--session: must be the id of a session'],
  [
    'a session that is missing',
    () => ['events', 'import', '--session', '7d444840-9dc0-11d1-b245-5ffdce74fad2', 'y'],
    '--session: session not found',
  ],
  [
    'a file that is missing',
    (id: string) => ['events', 'import', '--session', id, '/nowhere/x'],
    'FILE: /nowhere/x is not a file',
  ],
])('%s: one line that says so', async (_, argsOf, message) => {
  expect(await cli(argsOf(await createSession(gateway, key)), env)).toEqual({
    code: 1,
    stdout: '',
    stderr: `${message}\n`,
  });
});

test('a finished session takes no import', async () => {
  const id = await createSession(gateway, key);
  await moveTo(gateway, key, id, 'CANCELLED');
  await writeFile(pathOf('one.ndjson'), ndjson(eventsOf(1)));
  expect(await importFile(id, pathOf('one.ndjson'))).toMatchObject({
    code: 1,
    stderr: expect.stringContaining('the session is finished; queue it again before recording events'),
  });
});

/** Runs the import and kills it in the middle of the batch that comes when so many events are stored. */
async function killMidway(id: string, path: string, after: number): Promise<void> {
  const holder = new pg.Client(gateway.databaseUrl);
  await holder.connect();
  await holder.query(
    `select pg_advisory_lock(1);
     create or replace function wait() returns trigger language plpgsql as $$ begin perform pg_advisory_xact_lock(1); return new; end $$;
     create or replace trigger wait before update on session_stream for each row
       when (old.session_id = '${id}' and old.last_id >= ${after}) execute function wait()`,
  );
  const { PATH = '' } = process.env;
  const child = spawn(process.execPath, [join(checkout, 'src/cli.ts'), 'events', 'import', '--session', id, path], {
    env: { PATH, ...env },
    stdio: 'ignore',
  });
  const exited = once(child, 'exit');
  const waiting = async () =>
    (
      await holder.query(
        `select from pg_locks where locktype = 'advisory' and not granted and database = (select oid from pg_database where datname = current_database())`,
      )
    ).rowCount;
  await expect.poll(waiting).toBe(1);
  child.kill('SIGKILL');
  expect(await exited).toEqual([null, 'SIGKILL']);
  await holder.end();
}

test('killed midway three times and run again, each event is there exactly once', async () => {
  const id = await createSession(gateway, key);
  const path = pathOf('killed.ndjson');
  await writeFile(path, ndjson(eventsOf(30_000)));
  for (const after of [1, 5000, 12_000]) await killMidway(id, path, after);
  const { code, stdout } = await importFile(id, path);
  const { imported, skipped, lastId } = JSON.parse(stdout) as { imported: number; skipped: number; lastId: number };
  expect([code, imported + skipped, lastId]).toEqual([0, 30_000, 30_000]);
  expect(skipped).toBeGreaterThanOrEqual(12_000);
  expect(await indexes(id)).toEqual(range(1, 30_000));
});

test('memory does not grow with the file: 64 MB within a heap of 96 MB, which would hold neither its text nor its events', async () => {
  const id = await createSession(gateway, key);
  const path = pathOf('large.ndjson');
  const file = await open(path, 'w');
  for (let from = 1; from <= 8000; from += 1000)
    await file.write(ndjson(eventsOf(1000, { from, data: { accumulatedText: 'x'.repeat(8000) } })));
  await file.close();
  const { code, stdout, stderr } = await cli(['events', 'import', '--session', id, path], {
    ...env,
    NODE_OPTIONS: '--max-old-space-size=96',
  });
  expect([code, stdout, stderr]).toEqual([
    0,
    '{"imported":8000,"skipped":0,"lastId":8000}\n',
    expect.stringContaining('100 %'),
  ]);
});

describe('progress', () => {
  function shown(isTTY: boolean) {
    let text = '';
    let clock = 0;
    const bar = createProgress({ isTTY, write: (piece) => (text += piece) }, 200, () => clock);
    return { bar, wait: (ms: number) => (clock += ms), read: () => text };
  }

  test('a bar on a terminal, drawn over at most ten times a second', () => {
    const { bar, wait, read } = shown(true);
    bar.update(0, 'none');
    bar.update(50, 'skipped');
    wait(100);
    bar.update(100, 'half');
    bar.end(200, 'all');
    expect(read()).toBe(
      `\r[${'.'.repeat(30)}]   0 %  none\r[${'#'.repeat(15)}${'.'.repeat(15)}]  50 %  half\r[${'#'.repeat(30)}] 100 %  all\n`,
    );
  });

  test('elsewhere a line every 5 s, and one at the end', () => {
    const { bar, wait, read } = shown(false);
    for (let second = 0; second <= 10; second += 1) {
      bar.update(second * 10, `${second}`);
      wait(1000);
    }
    bar.end(200, 'all');
    expect(read()).toBe('25 %  5\n50 %  10\n100 %  all\n');
  });
});

test('the example run is imported whole', async () => {
  const id = await createSession(gateway, key);
  const path = pathOf('example.ndjson');
  const output = await open(path, 'w');
  const child = spawn(process.execPath, [join(checkout, 'docs/examples/make-agent-run.ts'), '3000'], {
    stdio: ['ignore', output.fd, 'ignore'],
  });
  expect(await once(child, 'exit')).toEqual([0, null]);
  await output.close();
  expect(await importFile(id, path)).toMatchObject({
    code: 0,
    stdout: '{"imported":3000,"skipped":0,"lastId":3000}\n',
  });
  const lines = (await readFile(path, 'utf8'))
    .trimEnd()
    .split('\n')
    .map((line) => JSON.parse(line) as object);
  const stored = await readAll(gateway, key, id, 1000);
  expect(stored).toEqual(lines.map((line, index) => ({ ...line, id: index + 1, sessionId: id })));
});
