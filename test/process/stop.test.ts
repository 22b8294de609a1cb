import { spawn } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { readFile, rename } from 'node:fs/promises';
import { Agent, request } from 'node:http';
import { type Socket, connect, createServer } from 'node:net';
import { join } from 'node:path';
import pg from 'pg';
import { afterEach, expect, inject, test } from 'vitest';
import { query } from '../support/processes/embedded-postgres.ts';
import {
  type GatewayProcess,
  call,
  checkout,
  endProcesses,
  freshDatabase,
  issueKey,
  startGateway,
  temporaryDirectory,
} from '../support/processes/process.ts';

afterEach(endProcesses);

/** Ten seconds, and what a busy machine adds. */
const IN_TIME_MS = 30_000;

async function gatewayWithKey() {
  const env = { ...(await freshDatabase(inject('serverUrl'))), RATE_LIMIT_PER_MINUTE: '0' };
  const gateway = await startGateway(env);
  return { env, gateway, key: await issueKey(env) };
}

test('SIGTERM under load: no answer is lost, every acknowledged write is there, exit 0 in time', async () => {
  const { env, gateway, key } = await gatewayWithKey();
  const agent = new Agent({ keepAlive: true, maxSockets: 16 });
  const acknowledged: string[] = [];
  const lost: unknown[] = [];
  let sent = 0;
  let unread = 0;
  const client = async () => {
    for (;;) {
      const name = `e${randomUUID().replaceAll('-', '')}`;
      sent += 1;
      const outcome = await post(agent, gateway.url, key, { label: name, name });
      if (outcome === 201) acknowledged.push(name);
      else if (outcome === 'ECONNREFUSED') return;
      else if (outcome === UNREAD) unread += 1;
      else lost.push(outcome);
    }
  };
  const clients = Array.from({ length: 16 }, client);
  await expect.poll(() => acknowledged.length).toBeGreaterThan(100);
  const began = performance.now();
  expect(await gateway.end('SIGTERM')).toBe(0);
  expect(performance.now() - began).toBeLessThan(IN_TIME_MS);
  await Promise.all(clients);
  agent.destroy();
  expect(lost).toEqual([]);
  const rows = (await query(env.DATABASE_URL, 'select name from event_definition')) as { name: string }[];
  expect(new Set(rows.map(({ name }) => name))).toEqual(new Set(acknowledged));
  expect(sent).toBe(acknowledged.length + unread + clients.length);
});

test('SIGTERM while a request waits for a lock: the request is answered when it can be, else the gateway still ends in time', async () => {
  const { env, gateway, key } = await gatewayWithKey();
  const locker = new pg.Client(env.DATABASE_URL);
  await locker.connect();
  await locker.query('begin; lock table event_definition in access exclusive mode');
  const waiting = call(gateway.url, key, 'POST', '/events/2026-03/event-definitions', { label: 'Waits' });
  const ungranted =
    'select 1 from pg_locks where not granted and database = (select oid from pg_database where datname = current_database())';
  await expect.poll(() => query(env.DATABASE_URL, ungranted)).not.toHaveLength(0);
  const ended = gateway.end('SIGTERM');
  await expect.poll(() => isListening(gateway.url)).toBe(false);
  await locker.query('commit');
  expect((await waiting).status).toBe(201);
  expect(await ended).toBe(0);
  await locker.end();
});

test('the database away and back: 503 with Retry-After, not ready, and ready again without a restart', async () => {
  const { env, gateway: direct, key } = await gatewayWithKey();
  expect(await direct.end('SIGTERM')).toBe(0);
  await using line = await lineTo(env.DATABASE_URL);
  const gateway = await startGateway({ ...env, DATABASE_URL: line.url });
  const list = () =>
    fetch(`${gateway.url}/events/2026-03/event-definitions`, {
      headers: { Authorization: `Bearer ${key}`, 'X-Request-Id': 'id' },
    });
  expect((await list()).status).toBe(200);

  line.cut();
  const away = await list();
  expect({ status: away.status, retry: away.headers.get('retry-after'), body: await away.json() }).toEqual({
    status: 503,
    retry: '1',
    body: {
      status: 'error',
      message: 'the database cannot be reached at the moment; try again',
      category: 'INTERNAL_ERROR',
      correlationId: 'id',
      errors: [{ message: 'the database cannot be reached at the moment; try again', code: 'unavailable', in: '' }],
    },
  });
  const notReady = await fetch(`${gateway.url}/health/ready`);
  expect({ status: notReady.status, body: await notReady.json() }).toEqual({
    status: 503,
    body: { status: 'not ready', error: 'the database cannot be reached' },
  });
  expect((await fetch(`${gateway.url}/health/live`)).status).toBe(200);

  line.mend();
  await expect.poll(async () => (await fetch(`${gateway.url}/health/ready`)).status).toBe(200);
  expect((await list()).status).toBe(200);
  expect(await gateway.end('SIGTERM')).toBe(0);
});

test('the embedded database killed, and for a while unable to start: 503 with Retry-After until it is back; SIGTERM meanwhile ends the gateway with 0 in time', async () => {
  const DATA_DIR = await temporaryDirectory();
  const gateway = await startGateway({ DATA_DIR });
  const [version = '', aside = ''] = ['PG_VERSION', 'aside'].map((name) => join(DATA_DIR, 'postgres/data', name));
  const list = async ({ url }: GatewayProcess) => {
    const headers = { Authorization: `Bearer ${gateway.key}` };
    const response = await fetch(`${url}/events/2026-03/event-definitions`, { headers });
    return { status: response.status, retryAfter: response.headers.get('retry-after') };
  };
  const loseDatabase = async () => {
    await rename(version, aside);
    process.kill(
      Number((await readFile(join(DATA_DIR, 'postgres/data/postmaster.pid'), 'utf8')).split('\n')[0]),
      'SIGKILL',
    );
    await expect.poll(() => list(gateway)).toEqual({ status: 503, retryAfter: '1' });
  };
  await loseDatabase();
  await rename(aside, version);
  await expect.poll(() => list(gateway)).toEqual({ status: 200, retryAfter: null });

  await loseDatabase();
  const began = performance.now();
  expect(await gateway.end('SIGTERM')).toBe(0);
  expect(performance.now() - began).toBeLessThan(IN_TIME_MS);
  await rename(aside, version);
  const next = await startGateway({ DATA_DIR });
  expect(await list(next)).toEqual({ status: 200, retryAfter: null });
  expect(await next.end('SIGTERM')).toBe(0);
});

/** A line to the database that can be cut and mended. */
async function lineTo(target: string) {
  const { hostname, port } = new URL(target);
  const ends = new Set<Socket>();
  let isCut = false;
  const server = createServer((near) => {
    if (isCut) {
      near.destroy();
      return;
    }
    const far = connect(Number(port), hostname);
    for (const end of [near, far]) ends.add(end.on('error', () => undefined));
    near.pipe(far).pipe(near);
  }).listen(0, '127.0.0.1');
  await once(server, 'listening');
  const address = server.address();
  const url = new URL(target);
  url.host = `127.0.0.1:${typeof address === 'object' ? address?.port : ''}`;
  const cut = () => {
    isCut = true;
    for (const end of ends) end.destroy();
    ends.clear();
  };
  const close = async () => {
    cut();
    await new Promise((resolve) => server.close(resolve));
  };
  return { url: url.href, cut, mend: () => void (isCut = false), [Symbol.asyncDispose]: close };
}

const isListening = (url: string) =>
  fetch(`${url}/health/live`).then(
    () => true,
    () => false,
  );

/** Closed by a gateway that had waited for requests long enough, just when the next one was sent. */
const UNREAD = 'closed while idle';

/** The status, or the code of what went wrong; over kept connections, as load balancers have them. */
function post(agent: Agent, url: string, key: string, body: object): Promise<number | string | undefined> {
  return new Promise((resolve) => {
    const headers = { Authorization: `Bearer ${key}`, 'Content-Type': 'application/json' };
    const sending = request(
      `${url}/events/2026-03/event-definitions`,
      { method: 'POST', agent, headers },
      (response) => {
        response
          .resume()
          .once('end', () => resolve(response.statusCode))
          .once('error', (error: NodeJS.ErrnoException) => resolve(error.code));
      },
    );
    let before = 0;
    sending.once('socket', (socket) => (before = socket.bytesRead));
    sending.once('error', ({ code = '' }: NodeJS.ErrnoException) => {
      const isUnanswered = sending.reusedSocket && sending.socket?.bytesRead === before;
      resolve(isUnanswered && /^(?:ECONNRESET|EPIPE)$/.test(code) ? UNREAD : code);
    });
    sending.end(JSON.stringify(body));
  });
}

test('npm hands a SIGTERM on to the gateway: it ends with 0, and nothing of it stays', async () => {
  const npm = spawn('npm', ['start'], {
    cwd: checkout,
    env: { ...process.env, ...(await freshDatabase(inject('serverUrl'))), PORT: '0' },
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  let output = '';
  npm.stdout.on('data', (chunk: Buffer) => (output += chunk.toString()));
  await expect.poll(() => output, { timeout: 50_000 }).toContain('GraphiQL');
  const url = /http:\/\/127\.0\.0\.1:\d+/.exec(output)?.[0] ?? '';
  expect((await fetch(`${url}/health/live`)).status).toBe(200);
  npm.kill('SIGTERM');
  const [code] = (await once(npm, 'exit')) as [number | null];
  expect(code).toBe(0);
  await expect(fetch(`${url}/health/live`)).rejects.toThrow('fetch failed');
});
