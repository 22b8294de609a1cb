import { join } from 'node:path';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { codeBlocks } from '../support/documents.ts';
import { type Send, startWriting } from '../support/oracles/ledger.ts';
import { query } from '../support/processes/embedded-postgres.ts';
import {
  call,
  cli,
  endProcesses,
  issueKey,
  run,
  startGateway,
  temporaryDirectory,
} from '../support/processes/process.ts';
import {
  SYSTEM_BIN,
  type SystemPostgres,
  hasSystemPostgres,
  startSystemPostgres,
} from '../support/processes/system-postgres.ts';
import { full, proof } from '../support/proof.ts';

/** Runs the commands of docs/operations.md, "Backup and restore". */

const ENCRYPTION_KEYS = `k1:${Buffer.alloc(32, 1).toString('base64')}`;

let servers: SystemPostgres[] = [];
beforeAll(async () => {
  if (hasSystemPostgres()) servers = [await startSystemPostgres(), await startSystemPostgres()];
});
afterEach(endProcesses);
afterAll(() => Promise.all(servers.map((server) => server.close())));

/** The shell block of the guide that begins with a comment. */
async function commandsOf(title: string): Promise<string> {
  const blocks = await codeBlocks('docs/operations.md', 'sh');
  const found = blocks.find((text) => text.startsWith(`# ${title}`));
  if (!found) throw new Error(`docs/operations.md has no commands for: ${title}`);
  return found;
}

async function runCommands(title: string, env: Record<string, string>): Promise<string> {
  const PATH = `${SYSTEM_BIN}:/usr/bin:/bin`;
  const done = await run(['/bin/sh', '-euc', await commandsOf(title)], { ...env, PATH });
  expect({ title, code: done.code, stderr: done.stderr }).toEqual({ title, code: 0, stderr: '' });
  return done.stdout;
}

function serverAt(index: number): SystemPostgres {
  const server = servers[index];
  if (!server) throw new Error('the server was not started');
  return server;
}

describe('backup and restore', () => {
  beforeEach(({ skip }) => skip(!hasSystemPostgres(), 'PostgreSQL 15 is not installed: apt-get install postgresql'));

  test('a backup under load can be restored into an empty cluster: no acknowledged write is lost, secrets can be decrypted, all data is consistent', async () => {
    const [from, to] = [serverAt(0), serverAt(1)];
    const env = { DATABASE_URL: from.url, ENCRYPTION_KEYS, RATE_LIMIT_PER_MINUTE: '0' };
    const first = await startGateway(env);
    const key = await issueKey(env);
    let { url } = first;
    const send: Send = (path, init) => fetch(`${url}${path}`, init);
    const connection = { type: 'stdio', name: 'local', command: 'npx', args: [], env: { TOKEN: 'a secret' } };
    expect(await call(url, key, 'POST', '/v1/mcp-connections', connection)).toMatchObject({ status: 201 });

    const before = startWriting(send, key, { prefix: 'before' });
    await before.next(full ? 200 : 40);
    await before.stop();
    const meanwhile = startWriting(send, key, { prefix: 'meanwhile' });
    await meanwhile.next(20);
    const BACKUP = join(await temporaryDirectory(), 'backup');
    // A superuser has added what the gateway's role cannot create.
    await query(from.url.replace('gateway@', 'postgres@'), 'create extension pg_stat_statements');
    await runCommands('Back up', { DATABASE_URL: from.url, BACKUP });
    const acknowledged = meanwhile.acknowledged();
    await meanwhile.next(20);
    await meanwhile.stop();
    expect(await first.end('SIGTERM')).toBe(0);

    await runCommands('Restore', { DATABASE_URL: to.url, BACKUP });
    const faults = await runCommands('Check', { DATABASE_URL: to.url });
    expect(faults.trim()).toBe('');
    const restored = { ...env, DATABASE_URL: to.url };
    const second = await startGateway(restored);
    ({ url } = second);
    expect(await before.check()).toEqual({ lost: [], doubled: [] });
    // The rotation decrypts each secret.
    const rotated = await cli(['secrets', 'rotate'], {
      ...restored,
      ENCRYPTION_KEYS: `k2:${ENCRYPTION_KEYS.slice(3)},${ENCRYPTION_KEYS}`,
    });
    expect(JSON.parse(rotated.stdout)).toMatchObject({ keyId: 'k2', rotated: 1 });

    const after = startWriting(send, key, { prefix: 'after' });
    await after.next(full ? 50 : 10);
    await after.stop();
    expect(await after.check()).toEqual({ lost: [], doubled: [] });
    expect((await runCommands('Check', { DATABASE_URL: to.url })).trim()).toBe('');
    const [{ count } = { count: 0 }] = (await query(to.url, 'select count(*)::int from session_event')) as {
      count: number;
    }[];
    proof('Backup under load and restore', {
      figures: {
        'writes acknowledged before': before.acknowledged(),
        'writes acknowledged during the backup': acknowledged,
        'events restored, and written since': count,
        lost: 0,
        doubled: 0,
        'faults of the consistency check': 0,
        'secrets opened': 1,
      },
    });
  });

  test('the consistency check reports each kind of inconsistency', async () => {
    const from = serverAt(0);
    const env = { DATABASE_URL: from.url, ENCRYPTION_KEYS };
    const key = await issueKey(env, { organization: 'faulty' });
    const gateway = await startGateway(env);
    const created = await call(gateway.url, key, 'POST', '/v1/sessions', { title: 'x' });
    const { id } = created.body as { id: string };
    const event = { eventType: 'text', provider: 'anthropic', eventData: { type: 'text' } };
    await call(gateway.url, key, 'POST', `/v1/sessions/${id}/events`, { events: [event, event, event] });
    await query(from.url, `delete from session_event where session_id = '${id}' and id = 2`);
    await query(from.url, `update session_stream set last_id = 2 where session_id = '${id}'`);
    await query(from.url, 'delete from mcp_connection');
    const faults = (await runCommands('Check', { DATABASE_URL: from.url }))
      .split('\n')
      .map((line) => line.split('|')[0]?.trim());
    expect(faults.filter(Boolean)).toEqual([
      'events behind the last id of their session',
      'events with gaps in their ids',
      'secret without its row',
    ]);
  });
});
