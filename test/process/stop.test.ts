import { randomUUID } from 'node:crypto';
import { readFile, readdir, rename } from 'node:fs/promises';
import { Agent, request } from 'node:http';
import { join } from 'node:path';
import pg from 'pg';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { query } from '../support/processes/embedded-postgres.ts';
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

/** What the README promises: a stop takes at most ten seconds, whatever goes on. */
const STOP_MS = 10_000;

let env: DatabaseVariables & { RATE_LIMIT_PER_MINUTE: string };
let key: string;
beforeAll(async () => {
  env = { ...(await freshDatabase()), RATE_LIMIT_PER_MINUTE: '0' };
  key = await issueKey(env);
});
afterAll(endProcesses);

/** SIGTERM: the gateway must end with 0, within the promised time from the signal on. */
async function expectStop(gateway: GatewayProcess): Promise<void> {
  const began = performance.now();
  expect(await gateway.end('SIGTERM')).toBe(0);
  expect(performance.now() - began).toBeLessThan(STOP_MS);
}

test('SIGTERM under load: no answer is lost, every acknowledged write is there, exit 0 in time', async () => {
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

/** A gateway on which a request waits for a lock that `locker` holds. */
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

test('SIGTERM while a request waits for a lock: the request is answered when it can be', async () => {
  const { gateway, locker, waiting } = await gatewayWithWaitingRequest();
  const stopped = expectStop(gateway);
  await expect.poll(() => isListening(gateway.url)).toBe(false);
  await locker.query('commit');
  expect((await waiting).status).toBe(201);
  await stopped;
  await locker.end();
});

test('SIGTERM while a request waits for a lock that is never released: the gateway ends in time all the same', async () => {
  const { gateway, locker, waiting } = await gatewayWithWaitingRequest();
  await expectStop(gateway);
  await expect(waiting).rejects.toThrow('fetch failed');
  await locker.end();
});

test('SIGTERM while the embedded database cannot start: the gateway ends with 0 in time, and the next start serves', async () => {
  const DATA_DIR = await temporaryDirectory();
  const gateway = await startGateway({ DATA_DIR });
  const list = async ({ url }: GatewayProcess) =>
    (await call(url, gateway.key, 'GET', '/events/2026-03/event-definitions')).status;
  const [version = '', aside = ''] = ['PG_VERSION', 'aside'].map((name) => join(DATA_DIR, 'postgres/data', name));
  await rename(version, aside);
  const [pid] = (await readFile(join(DATA_DIR, 'postgres/data/postmaster.pid'), 'utf8')).split('\n');
  process.kill(Number(pid), 'SIGKILL');
  await expect.poll(() => list(gateway)).toBe(503);
  await expectStop(gateway);
  await rename(aside, version);
  expect(await list(await startGateway({ DATA_DIR }))).toBe(200);
});

test('the first start of a version writes its compiled code before it serves, so that no stop has to', async () => {
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

/** Closed by a gateway that had waited for requests long enough, just when the next one was sent. */
const UNREAD = 'closed while idle';

/** The status, or the code of what went wrong; over kept connections, as load balancers have them. */
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

test('npm start hands a SIGTERM on to the gateway: it ends with 0 in time, and nothing listens any more', async () => {
  const npm = start(['npm', 'start'], { ...env, PORT: '0' });
  await expect.poll(() => npm.output.stdout).toContain('GraphiQL');
  const url = /http:\/\/127\.0\.0\.1:\d+/.exec(npm.output.stdout)?.[0] ?? '';
  expect(await isListening(url)).toBe(true);
  const began = performance.now();
  npm.child.kill('SIGTERM');
  expect(await npm.exited).toBe(0);
  expect(performance.now() - began).toBeLessThan(STOP_MS);
  expect(await isListening(url)).toBe(false);
});
