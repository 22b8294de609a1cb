import { once } from 'node:events';
import { readFile } from 'node:fs/promises';
import { type IncomingMessage, get } from 'node:http';
import { type Socket, connect } from 'node:net';
import { setTimeout as delay } from 'node:timers/promises';
import { afterAll, beforeAll, expect, inject, test } from 'vitest';
import { drive, median } from '../bench/drive.ts';
import { attacks } from '../support/fixtures/attacks.ts';
import { type GatewayProcess, SMALL_HEAP, endProcesses, gatewayWithKey } from '../support/processes/process.ts';
import { full, proof } from '../support/proof.ts';

let gateway: GatewayProcess;
let honest: string;
let hostile: string;
beforeAll(async () => {
  const started = await gatewayWithKey(inject('serverUrl'), { LOG_LEVEL: 'error', ...SMALL_HEAP });
  ({ gateway, key: honest } = started);
  hostile = await started.createKey('mallory@example.com');
});
afterAll(async () => {
  for (const socket of sockets) socket.destroy();
  await endProcesses();
});

const CONNECTIONS = 1_000;
const figures: Record<string, string | number> = {};
const sockets = new Set<Socket>();

/** Connections that have all said `text`, and read nothing unless they listen. */
async function open(count: number, text: string, { isListening = false } = {}): Promise<Socket[]> {
  const { hostname, port } = new URL(gateway.url);
  return Promise.all(
    Array.from({ length: count }, async () => {
      const socket = connect(Number(port), hostname);
      sockets.add(socket);
      socket.on('error', () => undefined);
      if (isListening) socket.resume();
      else socket.pause();
      await once(socket, 'connect');
      if (text !== '') socket.write(text);
      return socket;
    }),
  );
}

function close(opened: readonly Socket[]): void {
  for (const socket of opened) {
    socket.destroy();
    sockets.delete(socket);
  }
}

/** What honest clients get done in a second: the same query on eight connections. @throws Error when one of them is refused or fails. */
async function honestRate(seconds: number): Promise<number> {
  const query = '{ viewer { role user { email } organization { slug } } }';
  const request = { method: 'POST' as const, path: '/graphql', body: JSON.stringify({ query }) };
  const target = { name: 'gateway' as const, url: gateway.url, pid: gateway.pid, stop: async () => undefined };
  return (await drive(target, { requests: [request], key: honest, connections: 8, seconds })).perSecond;
}

/** Their rate under hostile load as a share of what it is without, in rounds that take turns; the median of more rounds where it is low. */
async function shareUnder(disturb: () => Promise<() => Promise<void> | void>): Promise<number> {
  const seconds = full ? 4 : 1;
  const shares: number[] = [];
  for (let round = 0; round < (full ? 9 : 3) || (median(shares) < 0.8 && round < (full ? 15 : 31)); round += 1) {
    const alone = [await honestRate(seconds)];
    const calm = await disturb();
    const disturbed = await honestRate(seconds);
    await calm();
    alone.push(await honestRate(seconds));
    shares.push(disturbed / median(alone));
  }
  return Math.round(median(shares) * 100) / 100;
}

async function residentMib(): Promise<number> {
  const status = await readFile(`/proc/${gateway.pid}/status`, 'utf8');
  return Number(/^VmRSS:\s+(\d+) kB$/m.exec(status)?.[1]) / 1024;
}

const head = (method: string, path: string, ...more: string[]) =>
  [`${method} ${path} HTTP/1.1`, 'Host: x', `Authorization: Bearer ${hostile}`, ...more, '', ''].join('\r\n');
const half = head('POST', '/graphql', 'Content-Type: application/json', 'Content-Length: 100') + '{"query":';
const KINDS: [kind: string, text: () => string][] = [
  ['say nothing', () => ''],
  ['have said half of their headers', () => head('GET', '/openapi.json').slice(0, -2)],
  ['have said half of their body', () => half],
  // The largest that anybody may ask for, without a key, and as often as a connection takes it.
  ['read nothing of the largest page', () => head('GET', '/docs/swagger-ui-bundle.js').repeat(3)],
];

test.each(KINDS)(
  'R3: 1,000 connections that %s: honest clients keep 0.8 of their rate, memory is bounded',
  async (kind, text) => {
    // What every process takes once it has worked.
    await honestRate(full ? 20 : 2);
    const before = await residentMib();
    let most = 0;
    const share = await shareUnder(async () => {
      const opened = await open(CONNECTIONS, text());
      // What they have asked for has been begun.
      const [answer] = (await once(get(`${gateway.url}/health/live`, { agent: false }), 'response')) as [
        IncomingMessage,
      ];
      answer.resume();
      return async () => {
        most = Math.max(most, await residentMib());
        close(opened);
      };
    });
    figures[`${kind}: rate of honest clients`] = share;
    figures[`${kind}: MiB more`] = Math.round(most - before);
    expect(share).toBeGreaterThanOrEqual(0.8);
    expect(most - before).toBeLessThanOrEqual(150);
  },
  600_000,
);

test('R3: who is slow is closed by the server: all of 1,000, in seconds', async () => {
  const kinds = full ? KINDS : KINDS.slice(0, 2);
  const opened = await Promise.all(
    kinds.map(([, text]) => open(CONNECTIONS / kinds.length, text(), { isListening: true })),
  );
  const began = performance.now();
  const all = opened.flat();
  await expect.poll(() => all.filter((socket) => !socket.closed).length, { timeout: 100_000, interval: 250 }).toBe(0);
  figures['slow connections closed after, s'] = Math.round((performance.now() - began) / 1000);
});

test('an attacker with a key, as fast as a key may be by default: each attack is refused, honest clients keep 0.8 of their rate', async () => {
  const refused = attacks.filter(({ verdict }) => verdict !== 'answered');
  const bodies = refused.map(
    ({ query, variables = 'null' }) => `{"query":${JSON.stringify(query)},"variables":${variables}}`,
  );
  const statuses = new Set<number>();
  let sent = 0;
  const share = await shareUnder(async () => {
    let isOver = false;
    const attacking = (async () => {
      while (!isOver) {
        const response = await fetch(`${gateway.url}/graphql`, {
          method: 'POST',
          headers: {
            Authorization: `Bearer ${hostile}`,
            'Content-Type': 'application/json',
            Accept: 'application/graphql-response+json',
          },
          body: bodies[sent % bodies.length],
        });
        await response.arrayBuffer();
        statuses.add(response.status);
        sent += 1;
        await delay(600);
      }
    })();
    return async () => {
      isOver = true;
      await attacking;
    };
  });
  figures['attacks under load'] = sent;
  figures['under attack: rate of honest clients'] = share;
  expect([...statuses].filter((status) => status !== 400 && status !== 200)).toEqual([]);
  expect(share).toBeGreaterThanOrEqual(0.8);
  proof('Hostile load', { figures });
}, 600_000);
