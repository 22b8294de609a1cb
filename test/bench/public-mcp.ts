import { execFile } from 'node:child_process';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { request as send } from 'undici';
import { freePort } from '../support/processes/ports.ts';
import { type Round, headersFor } from './drive.ts';
import { connect } from './mcp-call.ts';
import { type Pace, type Side, measureSides, medians } from './measure.ts';
import { type Target, startTarget } from './process.ts';
import { MCP_SERVER, type Bench } from './setup.ts';
import type { WorkRequest } from './work.ts';

/** Calls of a tool, each with its own arguments: direct, through the gateway, and through what others use for it. */

/** What is installed for the comparison, without scripts of packages. */
export const PEERS = { 'mcp-proxy': '6.7.19', 'mcp-hub': '4.2.1' };
const CLIENTS = [1, 8, 32];
/**
 * Four people with one key each, and two connections: the limits of a key and of a connection are 10 and 20 calls at once. Each client calls at
 * one connection, so that 32 clients stay below them.
 */
const KEYS = 4;
const CONNECTIONS = 2;
const CALLS = 400;
const ACCEPT = 'application/json, text/event-stream';

export interface Calls extends Round {
  readonly name: string;
  readonly clients: number;
}

const queryOf = (index: number) => `query-${String(index).padStart(4, '0')}`;

type ToRequest = (query: string, index: number) => { readonly path: string; readonly body: object };
const requestsOf = (toRequest: ToRequest): WorkRequest[] =>
  Array.from({ length: CALLS }, (_, index) => {
    const { path, body } = toRequest(queryOf(index), index);
    return { method: 'POST', path, body: JSON.stringify(body), accept: ACCEPT };
  });
const byConnection = (requests: readonly WorkRequest[]) =>
  Array.from({ length: CONNECTIONS }, (_, at) => requests.filter((_request, index) => index % CONNECTIONS === at));
const message = (name: string, query: string, id: number) => ({
  jsonrpc: '2.0',
  id,
  method: 'tools/call',
  params: { name, arguments: { query } },
});

interface Route {
  readonly name: string;
  readonly target: Target;
  readonly requests: readonly WorkRequest[];
}

/** @returns the median of the rounds of each route, and why a peer is missing */
export async function measureCalls(
  bench: Bench,
  [baseline, gateway]: readonly [Target, Target],
  directory: string,
  pace: Pace,
): Promise<{ calls: Calls[]; missing: string[] }> {
  const keys = [bench.key];
  while (keys.length < KEYS) keys.push(await bench.issueKey());
  const connections: string[] = [];
  while (connections.length < CONNECTIONS) {
    const id = await connect(bench, gateway);
    await send(`${gateway.url}/v1/mcp-connections/${id}/settings`, {
      method: 'PATCH',
      headers: headersFor(bench.key, '{}'),
      body: JSON.stringify({ handle: `bench${connections.push(id)}` }),
    }).then(({ body }) => body.dump());
  }
  const passed = requestsOf((query, index) => ({
    path: `/v1/mcp-connections/${connections[index % CONNECTIONS]}/mcp`,
    body: message('search', query, index),
  }));
  const together = requestsOf((query, index) => ({
    path: '/v1/mcp',
    body: message(`bench${(index % CONNECTIONS) + 1}__search`, query, index),
  }));
  const direct = requestsOf((query, index) => ({ path: '/mcp', body: message('search', query, index) }));
  const { peers, missing, stop } = await startPeers(bench, directory);
  try {
    const routes: Route[] = [
      { name: 'direct', target: bench.mcpServer, requests: direct },
      { name: 'a bare reverse proxy that looks up the key', target: baseline, requests: passed },
      { name: 'gateway, address of a connection', target: gateway, requests: passed },
      { name: 'gateway, /v1/mcp', target: gateway, requests: together },
      ...peers,
    ];
    for (const route of routes) await requireOwnAnswers(route, bench.key);
    const calls: Calls[] = [];
    for (const clients of CLIENTS) {
      const sides: Side[] = routes.map(({ target, requests }) => ({
        target,
        load: { requests, requestsOf: byConnection(requests), keys, connections: clients, seconds: pace.seconds },
      }));
      for (const [index, rounds] of (await measureSides(sides, { ...pace, pauseMs: 500 })).entries())
        calls.push({ name: routes[index]?.name ?? '', clients, ...medians(rounds) });
    }
    return { calls, missing };
  } finally {
    await stop();
  }
}

/** @throws Error unless each answer has the words of its own request */
async function requireOwnAnswers({ name, target, requests }: Route, key: string): Promise<void> {
  for (const [index, { path, body = '' }] of requests.slice(0, 4).entries()) {
    const headers = { ...headersFor(key, body), accept: ACCEPT };
    const answer = await send(target.url + path, { method: 'POST', headers, body });
    const text = await answer.body.text();
    if (answer.statusCode !== 200 || !text.includes(`2 issues with ${queryOf(index)}`))
      throw new Error(`${name} answered ${answer.statusCode}: ${text.slice(0, 500)}`);
  }
}

/** They listen on all addresses by themselves. */
const ON_LOOPBACK = `import net from 'node:net';
const { listen } = net.Server.prototype;
net.Server.prototype.listen = function (at, ...rest) {
  if (typeof at === 'object') return listen.call(this, { ...at, host: '127.0.0.1' }, ...rest);
  return listen.call(this, at, '127.0.0.1', ...rest.filter((each) => typeof each === 'function'));
};`;

async function startPeers(bench: Bench, directory: string) {
  const peers: Route[] = [];
  const missing: string[] = [];
  const modules = join(directory, 'node_modules');
  await writeFile(join(directory, 'package.json'), '{}');
  await writeFile(join(directory, 'loopback.mjs'), ON_LOOPBACK);
  await writeFile(
    join(directory, 'hub.json'),
    JSON.stringify({ mcpServers: { bench: { url: `${bench.mcpServer.url}/mcp` } } }),
  );
  const start = async (name: keyof typeof PEERS, how: (port: string) => readonly string[], toRequest: ToRequest) => {
    try {
      const options = ['--ignore-scripts', '--no-audit', '--no-fund', '--prefix', directory];
      await promisify(execFile)('npm', ['install', ...options, `${name}@${PEERS[name]}`]);
      const port = String(await freePort());
      const target = await startTarget({
        name,
        command: [process.execPath, join(modules, '.bin', name), ...how(port)],
        env: { HOME: directory, NODE_OPTIONS: `--import=${join(directory, 'loopback.mjs')}` },
        directory,
        url: `http://127.0.0.1:${port}`,
      });
      peers.push({ name: `${name} ${PEERS[name]}`, target, requests: requestsOf(toRequest) });
    } catch (error) {
      missing.push(`${name}: ${(error instanceof Error ? error.message : String(error)).split('\n')[0]}`);
    }
  };
  await start(
    'mcp-proxy',
    (port) => [
      '--host',
      '127.0.0.1',
      '--port',
      port,
      '--server',
      'stream',
      '--stateless',
      '--',
      process.execPath,
      MCP_SERVER,
      '--stdio',
    ],
    (query, index) => ({ path: '/mcp', body: message('search', query, index) }),
  );
  await start(
    'mcp-hub',
    (port) => ['--port', port, '--config', join(directory, 'hub.json')],
    (query) => ({ path: '/api/servers/tools', body: { server_name: 'bench', tool: 'search', arguments: { query } } }),
  );
  return { peers, missing, stop: () => Promise.all(peers.map(({ target }) => target.stop())) };
}
