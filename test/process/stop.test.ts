import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { readFile, readdir } from 'node:fs/promises';
import { Agent, type IncomingMessage, request } from 'node:http';
import { join } from 'node:path';
import pg from 'pg';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { processesOf, query } from '../support/processes/embedded-postgres.ts';
import {
  type DatabaseVariables,
  type GatewayProcess,
  call,
  endProcesses,
  freshDatabase,
  issueKey,
  start,
  startGateway,
  temporaryDirectory,
} from '../support/processes/process.ts';
import { within } from '../support/proof.ts';

/** A stop takes at most ten seconds, whatever is in progress: `npm run proof` compares the time. */
const STOP_MS = 10_000;

let env: DatabaseVariables & { RATE_LIMIT_PER_MINUTE: string };
let key: string;
beforeAll(async () => {
  env = { ...(await freshDatabase()), RATE_LIMIT_PER_MINUTE: '0' };
  key = await issueKey(env);
});
afterAll(endProcesses);

/** Sends SIGTERM. The gateway must end with status 0. */
async function expectStop(gateway: GatewayProcess): Promise<void> {
  expect(await within(STOP_MS, () => gateway.end('SIGTERM'))).toBe(0);
}

test('SIGTERM under load: no answer and no acknowledged write is lost, and the gateway ends with status 0 in time', async () => {
  const gateway = await startGateway(env);
  const agent = new Agent({ keepAlive: true, maxSockets: 16 });
  const acknowledged: string[] = [];
  const lost: unknown[] = [];
  let sent = 0;
  let unread = 0;
  const client = async () => {
    for (;;) {
      const name = `e${randomUUID().replaceAll('-', '')}`;
      sent += 1;
      const outcome = await post(agent, gateway.url, { label: name, name });
      if (outcome === 201) acknowledged.push(name);
      else if (outcome === 'ECONNREFUSED') return;
      else if (outcome === UNREAD) unread += 1;
      else lost.push(outcome);
    }
  };
  const clients = Array.from({ length: 16 }, client);
  await expect.poll(() => acknowledged.length).toBeGreaterThan(100);
  await expectStop(gateway);
  await Promise.all(clients);
  agent.destroy();
  expect(lost).toEqual([]);
  const rows = (await query(env.DATABASE_URL, 'select name from event_definition')) as { name: string }[];
  expect(new Set(rows.map(({ name }) => name))).toEqual(new Set(acknowledged));
  expect(sent).toBe(acknowledged.length + unread + clients.length);
});

test('an idle connection is kept for KEEP_ALIVE_SECONDS, and closed at SIGTERM', async () => {
  const gateway = await startGateway({ ...env, KEEP_ALIVE_SECONDS: '120' });
  const agent = new Agent({ keepAlive: true });
  const answer = await new Promise<IncomingMessage>((resolve, reject) => {
    request(`${gateway.url}/health/live`, { agent }, resolve).on('error', reject).end();
  });
  answer.resume();
  expect(answer.headers['keep-alive']).toBe('timeout=120');
  const closed = once(answer.socket, 'close');
  await expectStop(gateway);
  await closed;
});

/** Starts a gateway with a request that waits for a lock. `locker` is the connection that has the lock. */
async function gatewayWithWaitingRequest() {
  const gateway = await startGateway(env);
  const locker = new pg.Client(env.DATABASE_URL);
  await locker.connect();
  await locker.query('begin; lock table event_definition in access exclusive mode');
  const waiting = call(gateway.url, key, 'POST', '/events/2026-03/event-definitions', { label: 'Waits' });
  waiting.catch(() => undefined);
  const ungranted =
    'select 1 from pg_locks where not granted and database = (select oid from pg_database where datname = current_database())';
  await expect.poll(() => query(env.DATABASE_URL, ungranted)).not.toHaveLength(0);
  return { gateway, locker, waiting };
}

test('SIGTERM while a request waits for a lock: the request is answered after the lock is released', async () => {
  const { gateway, locker, waiting } = await gatewayWithWaitingRequest();
  const stopped = expectStop(gateway);
  await expect.poll(() => isListening(gateway.url)).toBe(false);
  await locker.query('commit');
  expect((await waiting).status).toBe(201);
  await stopped;
  await locker.end();
});

test('SIGTERM while a request waits for a lock that is never released: the gateway still ends in time', async () => {
  const { gateway, locker, waiting } = await gatewayWithWaitingRequest();
  await expectStop(gateway);
  await expect(waiting).rejects.toThrow('fetch failed');
  await locker.end();
});

test('when its embedded database is killed, the gateway logs that and ends with status 1, and the next start serves', async () => {
  const embedded = { DATA_DIR: await temporaryDirectory(), LOG_LEVEL: 'warn' };
  const gateway = await startGateway(embedded);
  const { length } = gateway.output.stdout;
  const [pid] = (await readFile(join(embedded.DATA_DIR, 'postgres/data/postmaster.pid'), 'utf8')).split('\n');
  process.kill(Number(pid), 'SIGKILL');
  expect(await gateway.exited).toBe(1);
  expect(gateway.output.stderr).toBe('');
  const lines = gateway.output.stdout.slice(length).trim().split('\n');
  const messages = lines.map((line): unknown => JSON.parse(line).msg);
  // The gateway may have noticed first that the database does not answer.
  expect(messages.filter((message) => message !== 'database away')).toEqual([
    `the embedded PostgreSQL (process ${pid}) has ended by SIGKILL`,
  ]);
  const next = await startGateway(embedded);
  expect((await call(next.url, gateway.key, 'GET', '/events/2026-03/event-definitions')).status).toBe(200);
});

test('SIGHUP, when its terminal is closed, stops the gateway and its embedded database', async () => {
  const DATA_DIR = await temporaryDirectory();
  const gateway = await startGateway({ DATA_DIR });
  expect(await gateway.end('SIGHUP')).toBe(0);
  // A database that needs longer than the stop may take ends after the gateway.
  await expect.poll(() => processesOf(DATA_DIR)).toEqual([]);
});

test('the first start of a version writes its compiled code before it serves, so that a stop need not write it', async () => {
  const NODE_COMPILE_CACHE = await temporaryDirectory();
  const files = async () => (await readdir(NODE_COMPILE_CACHE, { recursive: true })).length;
  const gateway = await startGateway({ ...env, NODE_COMPILE_CACHE });
  const written = await files();
  expect(written).toBeGreaterThan(100);
  await expectStop(gateway);
  expect(await files()).toBe(written);
});

const isListening = (url: string) =>
  fetch(`${url}/health/live`).then(
    () => true,
    () => false,
  );

/** The gateway closed an idle connection at the moment when the client sent the next request. */
const UNREAD = 'closed while idle';

/** Returns the status or the error code. Reuses connections, like a load balancer. */
function post(agent: Agent, url: string, body: object): Promise<number | string | undefined> {
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

test('npm start forwards SIGTERM to the gateway, which ends with status 0 in time', async () => {
  const npm = start(['npm', 'start'], { ...env, PORT: '0' });
  await expect.poll(() => npm.output.stdout).toContain('GraphiQL');
  const url = /http:\/\/127\.0\.0\.1:\d+/.exec(npm.output.stdout)?.[0] ?? '';
  expect(await isListening(url)).toBe(true);
  npm.child.kill('SIGTERM');
  expect(await within(STOP_MS, () => npm.exited)).toBe(0);
  expect(await isListening(url)).toBe(false);
});
