import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import pg from 'pg';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { useOwnGateway } from '../support/fixtures/gateway.ts';
import { createSession, eventsOf, readAll } from '../support/fixtures/sessions.ts';
import { endProcesses, run, start } from '../support/processes/process.ts';
import { GATEWAY, NODE_ENVIRONMENT, checkout } from '../support/processes/programs.ts';

/** `events import` as a process: interrupted, and killed. */

const gateway = useOwnGateway();
let key: string;
let directory: string;
let env: Record<string, string>;
beforeAll(async () => {
  ({ key } = await gateway.createKey());
  directory = await mkdtemp(join(tmpdir(), 'import-'));
  env = { DATABASE_URL: gateway.databaseUrl, ENCRYPTION_KEYS: `k:${Buffer.alloc(32, 1).toString('base64')}` };
});
afterAll(async () => {
  await endProcesses();
  await rm(directory, { recursive: true, force: true });
});

const ndjson = (count: number) =>
  eventsOf(count)
    .map((event) => `${JSON.stringify(event)}\n`)
    .join('');

const environment = () => ({ ...process.env, ...NODE_ENVIRONMENT, ...env });

test('the process ends with status 0 after all input, and with a hint and status 130 after SIGINT', async () => {
  const id = await createSession(gateway, key);
  const begin = () =>
    spawn(GATEWAY, ['cli', 'events', 'import', '--session', id, '-'], { env: environment(), stdio: 'pipe' });
  const interrupted = begin();
  const errorOutput = text(interrupted.stderr);
  interrupted.stdin.write(ndjson(1100));
  await expect.poll(async () => (await readAll(gateway, key, id, 1000)).length).toBe(1000);
  interrupted.kill('SIGINT');
  expect(await once(interrupted, 'exit')).toEqual([130, null]);
  expect(await errorOutput).toContain('run the same command with the same input again');
  const again = begin();
  const answer = text(again.stdout);
  again.stdin.end(ndjson(1100));
  expect(await once(again, 'exit')).toEqual([0, null]);
  expect(await answer).toBe('{"imported":100,"skipped":1000,"lastId":1100,"redactedSecrets":0}\n');
});

test('Ctrl-C in a terminal says how to continue also through npm, which passes the signal on a second time', async () => {
  const id = await createSession(gateway, key);
  const importing = spawn('npm', ['run', '--silent', 'cli', '--', 'events', 'import', '--session', id, '-'], {
    cwd: checkout,
    env: environment(),
    stdio: 'pipe',
    detached: true,
  });
  const errorOutput = text(importing.stderr);
  importing.stdin.write(ndjson(1100));
  await expect.poll(async () => (await readAll(gateway, key, id, 1000)).length).toBe(1000);
  // A terminal sends it to all processes of the group.
  process.kill(-(importing.pid ?? 0), 'SIGINT');
  expect(await once(importing, 'exit')).toEqual([130, null]);
  expect(await errorOutput).toContain('run the same command with the same input again');
});

/** Runs the import, and kills it during the first batch after `after` events are stored. */
async function killMidway(id: string, path: string, after: number): Promise<void> {
  const holder = new pg.Client(gateway.databaseUrl);
  await holder.connect();
  await holder.query(
    `select pg_advisory_lock(1);
     create or replace function wait() returns trigger language plpgsql as $$ begin perform pg_advisory_xact_lock(1); return new; end $$;
     create or replace trigger wait before update on session_stream for each row
       when (old.session_id = '${id}' and old.last_id >= ${after}) execute function wait()`,
  );
  const { child, exited } = start([GATEWAY, 'cli', 'events', 'import', '--session', id, path], env);
  const waiting = async () =>
    (
      await holder.query(
        `select from pg_locks where locktype = 'advisory' and not granted and database = (select oid from pg_database where datname = current_database())`,
      )
    ).rowCount;
  await expect.poll(waiting).toBe(1);
  child.kill('SIGKILL');
  expect(await exited).toBe(null);
  await holder.end();
}

test('an import that was killed twice and is run again stores each event exactly once', async () => {
  const id = await createSession(gateway, key);
  const path = join(directory, 'killed.ndjson');
  await writeFile(path, ndjson(8_000));
  for (const after of [1, 5_000]) await killMidway(id, path, after);
  const { stdout } = await run([GATEWAY, 'cli', 'events', 'import', '--session', id, path], env);
  const { imported, skipped, lastId } = JSON.parse(stdout) as { imported: number; skipped: number; lastId: number };
  expect([imported + skipped, lastId]).toEqual([8_000, 8_000]);
  // The database may still have committed the batch whose sender was killed.
  expect(skipped).toBeOneOf([5_000, 6_000]);
  const stored = await readAll(gateway, key, id, 1000);
  expect(stored.map(({ eventData }) => eventData.index)).toEqual(
    Array.from({ length: 8_000 }, (_, index) => index + 1),
  );
});
