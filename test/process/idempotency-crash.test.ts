import { type AddressInfo, type Socket, connect, createServer } from 'node:net';
import pg from 'pg';
import { afterEach, expect, test } from 'vitest';
import { PROCESS_NAME } from '../../src/core/version.ts';
import { endProcesses, freshDatabase, issueKey, startGateway } from '../support/processes/process.ts';

afterEach(endProcesses);

/** A proxy to PostgreSQL that drops the answer to the commit of a stored answer. */
async function hidingCommits(databaseUrl: string): Promise<{ url: string; stop(): void }> {
  const url = new URL(databaseUrl);
  const sockets = new Set<Socket>();
  const server = createServer((client) => {
    const database = connect(Number(url.port), url.hostname);
    let isStored = false;
    client.on('data', (bytes) => {
      const text = bytes.toString('latin1');
      isStored ||= text.includes('update "idempotency_key" set "answer"');
      if (isStored && /\bcommit\b/i.test(text)) database.removeAllListeners('data');
      database.write(bytes);
    });
    database.on('data', (bytes) => client.write(bytes));
    for (const [socket, other] of [
      [client, database],
      [database, client],
    ] as const) {
      sockets.add(socket);
      socket.on('error', () => undefined);
      socket.on('close', () => other.destroy());
    }
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const through = new URL(databaseUrl);
  through.host = `127.0.0.1:${(server.address() as AddressInfo).port}`;
  return {
    url: through.href,
    stop: () => {
      server.close();
      for (const socket of sockets) socket.destroy();
    },
  };
}

const PATH = '/events/2026-03/event-definitions';

async function create(url: string, key: string, index: number) {
  const response = await fetch(url + PATH, {
    method: 'POST',
    headers: { Authorization: `Bearer ${key}`, 'Content-Type': 'application/json', 'Idempotency-Key': `k-${index}` },
    body: JSON.stringify({ label: `Event ${index}`, primaryObject: 'CONTACT' }),
  });
  return {
    status: response.status,
    replayed: response.headers.get('idempotent-replayed'),
    text: await response.text(),
  };
}

async function withCounts(
  url: string,
  run: (count: (table: string) => Promise<number>) => Promise<void>,
): Promise<void> {
  const database = new pg.Client({ connectionString: url });
  await database.connect();
  try {
    await run(async (table) =>
      Number((await database.query<{ count: string }>(`select count(*) from ${table}`)).rows[0]?.count),
    );
  } finally {
    await database.end();
  }
}

test('after a gateway was killed between commit and answer, the same request gets the stored answer, and there is one row', async () => {
  const env = { ...(await freshDatabase()), LOG_LEVEL: 'error' };
  const proxy = await hidingCommits(env.DATABASE_URL);
  try {
    const first = await startGateway({ ...env, DATABASE_URL: proxy.url });
    const key = await issueKey(env);
    const lost = create(first.url, key, 1).catch(() => 'no answer');
    await withCounts(env.DATABASE_URL, async (count) => {
      await expect.poll(() => count('idempotency_key')).toBe(1);
      await first.end('SIGKILL');
      expect(await lost).toBe('no answer');
      const second = await startGateway(env);
      const retried = await create(second.url, key, 1);
      expect(retried).toMatchObject({
        status: 201,
        replayed: 'true',
        text: expect.stringContaining('"label":"Event 1"'),
      });
      expect(await create(second.url, key, 1)).toEqual(retried);
      expect([await count('event_definition'), await count('idempotency_key')]).toEqual([1, 1]);
    });
  } finally {
    proxy.stop();
  }
});

test('after a gateway was killed during many requests, each of them is answered when it is sent again, and there is one row for each key', async () => {
  const env = { ...(await freshDatabase()), LOG_LEVEL: 'error', RATE_LIMIT_PER_MINUTE: '0' };
  const first = await startGateway(env);
  const key = await issueKey(env);
  await withCounts(env.DATABASE_URL, async (count) => {
    const numbers = Array.from({ length: 40 }, (_, index) => index);
    const lost = numbers.map((index) => create(first.url, key, index).catch(() => undefined));
    await expect.poll(() => count('idempotency_key'), { interval: 1 }).toBeGreaterThanOrEqual(5);
    await first.end('SIGKILL');
    const answered = await Promise.all(lost);
    // A commit that has begun can still end, until PostgreSQL has closed the connections of the dead process.
    const open = `pg_stat_activity where application_name = '${PROCESS_NAME}' and datname = current_database()`;
    await expect.poll(() => count(open)).toBe(0);
    const second = await startGateway(env);
    const committed = await count('idempotency_key');
    expect(await count('event_definition')).toBe(committed);
    const retried = await Promise.all(numbers.map((index) => create(second.url, key, index)));
    expect(retried.map(({ status }) => status)).toEqual(numbers.map(() => 201));
    expect(retried.filter(({ replayed }) => replayed === 'true')).toHaveLength(committed);
    const kept = answered.map((answer, index) => answer && { ...retried[index], replayed: null });
    expect(answered).toEqual(kept);
    expect(answered.filter((answer, index) => answer && retried[index]?.replayed !== 'true')).toEqual([]);
    const again = await Promise.all(numbers.map((index) => create(second.url, key, index)));
    expect(again).toEqual(retried.map((answer) => ({ ...answer, replayed: 'true' })));
    expect([await count('event_definition'), await count('idempotency_key')]).toEqual([40, 40]);
  });
});
