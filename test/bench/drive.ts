import autocannon from 'autocannon';
import { type Target, cpuMs } from './process.ts';
import type { WorkRequest } from './work.ts';

export interface Load {
  readonly requests: readonly WorkRequest[];
  /** Instead, the requests of the connections, in turn. */
  readonly requestsOf?: readonly (readonly WorkRequest[])[];
  /** The keys of the connections, in turn. */
  readonly keys: readonly string[];
  readonly connections: number;
  readonly seconds: number;
  /** Whether the requests belong to several workloads, whose answers differ in size. */
  readonly mixed?: boolean;
}

/** The result of one target in one round. */
export interface Round {
  readonly perSecond: number;
  readonly p50Ms: number;
  readonly p99Ms: number;
  readonly cpuMsPerRequest: number;
}

/** Answers of one workload have similar sizes; a smaller one is an error with status 200. */
const SMALLEST_SHARE = 0.7;

/**
 * Sends requests to a target for some seconds. @throws Error if a request fails, or an answer is not 2xx or much
 * smaller than the others.
 */
export async function drive(
  target: Target,
  { requests, requestsOf = [requests], keys, connections, seconds, mixed = false }: Load,
): Promise<Round> {
  const times: number[] = [];
  const sizes = { min: Infinity, max: 0 };
  const cpuBefore = await cpuMs(target.pid);
  const began = performance.now();
  let ended = began;
  const result = await new Promise<autocannon.Result>((resolve, reject) => {
    let next = 0;
    const instance = autocannon(
      {
        url: target.url,
        connections,
        duration: seconds,
        timeout: 30,
        requests: requests.map((request) => prepared(request, keys[0])),
        // Connections begin with different requests; otherwise all would change the same row at once.
        setupClient: (client) => {
          next += 1;
          const key = keys[next % keys.length];
          const own = requestsOf[next % requestsOf.length] ?? requests;
          client.setRequests(rotated(own, next).map((request) => prepared(request, key)));
        },
      },
      (error: Error | null, done: autocannon.Result) => (error ? reject(error) : resolve(done)),
    );
    instance.on('response', (_client, _status, bytes, ms) => {
      times.push(ms);
      ended = performance.now();
      if (bytes < sizes.min) sizes.min = bytes;
      if (bytes > sizes.max) sizes.max = bytes;
    });
  });
  const cpu = (await cpuMs(target.pid)) - cpuBefore;
  const failures = result.errors + result.timeouts + result.non2xx;
  if (failures > 0)
    throw new Error(
      `${target.name}: ${failures} of ${result.requests.sent} requests failed: ${JSON.stringify(result.statusCodeStats)}`,
    );
  if (!mixed && sizes.min < sizes.max * SMALLEST_SHARE)
    throw new Error(`${target.name}: answers of ${sizes.min} to ${sizes.max} bytes`);
  times.sort((a, b) => a - b);
  return {
    perSecond: times.length / ((ended - began) / 1000),
    p50Ms: quantile(times, 0.5),
    p99Ms: quantile(times, 0.99),
    cpuMsPerRequest: cpu / times.length,
  };
}

function prepared({ method, path, body, accept }: WorkRequest, key = ''): autocannon.Request {
  const headers = { ...headersFor(key, body), ...(accept !== undefined && { accept }) };
  return { method, path, headers, ...(body !== undefined && { body }) };
}

/** The headers of every request. */
export function headersFor(key: string, body?: WorkRequest['body']): Record<string, string> {
  return {
    authorization: `Bearer ${key}`,
    accept: 'application/json',
    ...(body !== undefined && { 'content-type': 'application/json' }),
  };
}

function rotated<Value>(values: readonly Value[], by: number): Value[] {
  const at = by % values.length;
  return [...values.slice(at), ...values.slice(0, at)];
}

/** The quantile of ascending values. */
export function quantile(sorted: readonly number[], share: number): number {
  return sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))] ?? Number.NaN;
}

export function median(values: readonly number[]): number {
  const sorted = values.toSorted((a, b) => a - b);
  return ((sorted[(sorted.length - 1) >> 1] ?? Number.NaN) + (sorted[sorted.length >> 1] ?? Number.NaN)) / 2;
}
