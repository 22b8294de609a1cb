import { randomUUID } from 'node:crypto';
import { request as send } from 'undici';
import { headersFor, median } from './drive.ts';
import { timed } from './measure.ts';
import type { Target } from './process.ts';
import type { Bench } from './setup.ts';
import type { Work, WorkRequest } from './work.ts';

/** Calls of a tool that pass through: beside a bare proxy, and one alone beside the same call without anything before the server. */

const CALL = JSON.stringify({
  jsonrpc: '2.0',
  id: 1,
  method: 'tools/call',
  params: { name: 'search', arguments: { query: 'login' } },
});

export const MCP_CALL = 'MCP call, passed through';

/** So many that calls which the last round has left behind do not meet the limits of a key (10 at once) and a connection (20). */
const COUNT = 4;

/** The workload, with new connections and keys. */
export async function mcpWork(bench: Bench, gateway: Target): Promise<Work> {
  const keys = [bench.key];
  while (keys.length < COUNT) keys.push(await bench.issueKey());
  const requests: WorkRequest[] = [];
  while (requests.length < COUNT) {
    const path = `/v1/mcp-connections/${await connect(bench, gateway)}/mcp`;
    requests.push({ method: 'POST', path, body: CALL });
  }
  return { name: MCP_CALL, target: 0.7, keys, requests };
}

/** The id of a new connection to the MCP server. */
export async function connect({ key, mcpServer }: Bench, { url }: Target): Promise<string> {
  const text = JSON.stringify({ name: randomUUID(), serverUrl: `${mcpServer.url}/mcp` });
  const headers = headersFor(key, text);
  const answer = await send(`${url}/v1/mcp-connections`, { method: 'POST', headers, body: text });
  if (answer.statusCode !== 201) throw new Error(`no connection was created: ${await answer.body.text()}`);
  return ((await answer.body.json()) as { connection: { id: string } }).connection.id;
}

export interface Alone {
  readonly directMs: number;
  readonly baselineMs: number;
  readonly gatewayMs: number;
}

/** One call at a time, in turn to the server, through the bare proxy and through the gateway: medians. */
export async function measureAlone(
  { key, mcpServer }: Bench,
  [baseline, gateway]: readonly [Target, Target],
  { requests: [request] }: Work,
  samples: number,
): Promise<Alone> {
  if (!request) throw new Error('the work has no request');
  const times: [number[], number[], number[]] = [[], [], []];
  for (let round = -200; round < samples; round += 1) {
    const found = [
      await timed(mcpServer, request, key),
      await timed(baseline, request, key),
      await timed(gateway, request, key),
    ];
    if (round >= 0) for (const [index, ms] of found.entries()) times[index]?.push(ms);
  }
  const [directMs, baselineMs, gatewayMs] = times.map(median);
  return { directMs: directMs ?? Number.NaN, baselineMs: baselineMs ?? Number.NaN, gatewayMs: gatewayMs ?? Number.NaN };
}
