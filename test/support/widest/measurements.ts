import { expect } from 'vitest';
import { peakMib, resetPeak, residentMib, scheduled, shareBetween } from '../processes/resources.ts';
import { type Neighbor, startNeighbor } from '../processes/neighbor.ts';
import { type GatewayProcess, gatewayWithKey } from '../processes/process.ts';
import { full } from '../proof.ts';
import { type Ids, type WideRequest } from './contract.ts';
import type { Place } from './places.ts';
import { KINDS, type Kind, type Takes } from './wide-values.ts';

/**
 * Sends wide inputs to a gateway that is a process of its own, beside somebody else who must be served, and measures how much memory they take.
 * In `npm run proof` the other one must wait at most {@link GOAL_MS}.
 */

export const GOAL_MS = 500;
const GOAL_MIB = 200;
/** A little less than a body may have. */
export const BODY_BYTES = 3.9 * 1024 * 1024;
const MAX_ANSWER_MS = 240_000;
/** What servers behind the gateway are to blame for, and what passes. */
const EXPECTED = new Set([502, 503, 504]);

export interface Trial {
  readonly name: string;
  /** Makes what is sent. The returned function resolves with the status of the answer, or undefined if a status says nothing. */
  readonly prepare: () => () => Promise<number | void>;
}

interface Prepared {
  readonly name: string;
  readonly send: ReturnType<Trial['prepare']>;
}

interface Row {
  readonly name: string;
  /** ms */
  readonly wait: number;
  readonly mib: number;
  /** Until the slower of both was answered. */
  readonly ms: number;
  readonly statuses: readonly unknown[];
  readonly fault: string;
}

export interface Measurements {
  readonly gateway: GatewayProcess;
  readonly key: string;
  readonly rows: readonly Row[];
  /** Sends twice at once, and again if something is wrong: most of three measurements count. */
  readonly measure: (trial: Trial) => Promise<void>;
  readonly send: (
    method: string,
    path: string,
    body: string | Uint8Array<ArrayBuffer> | undefined,
    options?: SendOptions,
  ) => Promise<Answer>;
  readonly created: (path: string, body: object) => Promise<Record<string, unknown>>;
  /** What failed, the worst first. */
  readonly faults: () => string[];
  readonly figures: () => Record<string, string | number>;
  readonly stop: () => Promise<unknown>;
}

interface SendOptions {
  readonly type?: string;
  readonly accept?: string;
}

interface Answer {
  readonly status: number;
  readonly text: string;
}

export async function startMeasurements(env: Record<string, string> = {}): Promise<Measurements> {
  const started = await gatewayWithKey({
    RUN_JOBS: 'false',
    LOG_LEVEL: 'error',
    ALLOW_PRIVATE_NETWORK: 'true',
    ...env,
  });
  const { gateway, key } = started;
  const neighbor = startNeighbor(gateway.url, await started.createKey('ned@example.com', 'neighbors'));
  const rows: Row[] = [];
  const send: Measurements['send'] = (...args) => sendTo(gateway.url, key, ...args);
  // The first queries take longer.
  for (let times = 0; times < 20; times += 1) await neighbor.wait();
  return {
    gateway,
    key,
    rows,
    send,
    async measure(trial) {
      const prepared = { name: trial.name, send: trial.prepare() };
      const all = [await measureOnce(gateway, neighbor, prepared)];
      if (faultOf(all) !== '')
        all.push(await measureOnce(gateway, neighbor, prepared), await measureOnce(gateway, neighbor, prepared));
      const [row] = all.toSorted((one, other) => one.wait - other.wait).slice(Math.floor(all.length / 2));
      if (row) rows.push({ ...row, fault: faultOf(all) });
    },
    async created(path, body) {
      const { status, text } = await send('POST', path, JSON.stringify(body));
      expect([path, status, status < 300 ? '' : text]).toEqual([path, status === 200 ? 200 : 201, '']);
      return JSON.parse(text) as Record<string, unknown>;
    },
    faults: () =>
      rows
        .filter(({ fault }) => fault !== '')
        .toSorted((one, other) => other.wait - one.wait)
        .map(({ name, fault, ms }) => `${name}: ${fault}; answered after ${ms} ms`),
    figures: () => figuresOf(rows),
    stop: () => neighbor.stop(),
  };
}

function figuresOf(rows: readonly Row[]): Record<string, string | number> {
  const [slowest] = rows.toSorted((one, other) => other.wait - one.wait);
  const isAccepted = (status: unknown) => typeof status === 'number' && status < 300;
  return {
    'inputs, each twice at once': rows.length,
    accepted: rows.filter(({ statuses }) => statuses.every(isAccepted)).length,
    'worst wait of a neighbor, ms': slowest?.wait ?? 0,
    'by the input': slowest?.name ?? '',
    'most memory, MiB': Math.max(...rows.map(({ mib }) => mib)),
  };
}

const median = (values: readonly number[]) => values.toSorted((a, b) => a - b)[Math.floor(values.length / 2)] ?? 0;

/** What is wrong with most of the measurements of one input; empty if nothing is. */
function faultOf(all: readonly Row[]): string {
  const failures = all.map(({ fault }) => fault).filter((fault) => fault !== '');
  const waits = all.map(({ wait }) => wait);
  const mib = median(all.map((row) => row.mib));
  return [
    failures.length > all.length / 2 ? failures.join(', ') : '',
    full && median(waits) > GOAL_MS ? `somebody else waits ${waits.join(', ')} ms` : '',
    mib > GOAL_MIB ? `${mib} MiB more` : '',
  ]
    .filter((each) => each !== '')
    .join('; ');
}

async function measureOnce(gateway: GatewayProcess, neighbor: Neighbor, { name, send }: Prepared): Promise<Row> {
  const before = await residentMib(gateway.pid);
  await resetPeak(gateway.pid);
  const cpu = await scheduled(gateway.pid);
  const began = performance.now();
  const outcome = () => send().catch(outcomeOf);
  const statuses = await Promise.all([outcome(), outcome()]);
  const ms = performance.now() - began;
  const { worst, failure } = await neighbor.wait();
  // While others use the machine too, everything takes longer.
  const share = shareBetween(cpu, await scheduled(gateway.pid));
  const mib = Math.round((await peakMib(gateway.pid)) - before);
  const refused = statuses.filter(
    (status) => typeof status === 'string' || (status !== undefined && status >= 500 && !EXPECTED.has(status)),
  );
  const fault = [...refused, failure].filter((each) => each !== '').join(', ');
  return { name, wait: Math.round(worst * share), mib, ms: Math.round(ms * share), statuses, fault };
}

/** The gateway may end the connection of a request that it refuses. */
function outcomeOf(error: unknown): string | undefined {
  return error instanceof TypeError ? undefined : String(error);
}

async function sendTo(
  url: string,
  key: string,
  method: string,
  path: string,
  body: string | Uint8Array<ArrayBuffer> | undefined,
  { type = 'application/json', accept = 'application/json' }: SendOptions = {},
): Promise<Answer> {
  const response = await fetch(url + path, {
    method,
    headers: { Authorization: `Bearer ${key}`, Accept: accept, ...(body !== undefined && { 'Content-Type': type }) },
    ...(body !== undefined && { body }),
    signal: AbortSignal.timeout(MAX_ANSWER_MS),
  });
  const isStream = response.headers.get('Content-Type')?.startsWith('text/event-stream') === true;
  // A subscription waits for changes.
  if (isStream) await response.body?.cancel();
  return { status: response.status, text: isStream ? '' : await response.text() };
}

/** A little less than the longest texts that any operation accepts. */
const LONG_BYTES = 0.95 * 1024 * 1024;

interface Variation {
  readonly name: string;
  /** The JSON of the whole input. */
  readonly json: () => string;
}

interface Varied {
  readonly operation: string;
  readonly places: () => Iterable<Place>;
}

const variation = (operation: string, place: Place, kind: Kind, bytes = BODY_BYTES): Variation => ({
  name: `${operation} ${place.path}: ${kind.takes}, ${kind.name}${bytes === BODY_BYTES ? '' : ', accepted'}`,
  json: () => place.fill(kind.json(bytes, place.target)),
});

const GROUPS = ['members', 'items', 'value', 'text'] as const;

/** Inputs of a request: so many, by turns of all groups, kinds and places; those of the next request go on from there. */
export function variationsOf({ operation, places }: Varied, index: number, count: number): Variation[] {
  const all = [...places()];
  const groups = GROUPS.map((group) => all.filter(({ takes }) => takes.includes(group)));
  const used = GROUPS.filter((_, at) => groups[at]?.length !== 0);
  const turns = Array.from({ length: used.length === 0 ? 0 : count }, (_, turn) => index * count + turn);
  return turns.flatMap((turn) => {
    const group = used[turn % used.length] ?? 'value';
    const round = Math.floor(turn / used.length);
    return pair(groups[GROUPS.indexOf(group)] ?? [], kindsOf(group), round).map(([place, kind]) =>
      variation(operation, place, kind),
    );
  });
}

/** Inputs that are accepted: so many kinds of texts at each place where long ones may be. */
function acceptedVariationsOf({ operation, places }: Varied, index: number, count: number): Variation[] {
  const long = [...places()].filter(({ isLong }) => isLong);
  return Array.from({ length: long.length * count }, (_, turn) => index * count + turn).flatMap((turn) =>
    pair(long, kindsOf('text'), turn).map(([place, kind]) => variation(operation, place, kind, LONG_BYTES)),
  );
}

const kindsOf = (takes: Takes) => KINDS.filter((kind) => kind.takes === takes);

/** One of each list: as the number of the turn grows, all pairs. */
function pair<One, Other>(ones: readonly One[], others: readonly Other[], turn: number): [One, Other][] {
  const one = ones[turn % ones.length];
  const other = others[(turn + Math.floor(turn / (ones.length * others.length))) % others.length];
  return one !== undefined && other !== undefined ? [[one, other]] : [];
}

interface Counts {
  /** The inputs of each request. */
  readonly count: number;
  /** The accepted ones of each place of a long text. */
  readonly accepted?: number;
}

export const trialsOf = (
  { send }: Pick<Measurements, 'send'>,
  requests: readonly WideRequest[],
  { count, accepted = 0 }: Counts,
): Trial[] =>
  requests.flatMap((request, index) =>
    [...variationsOf(request, index, count), ...acceptedVariationsOf(request, index, accepted)].map(
      ({ name, json }) => ({
        name,
        prepare: () => {
          const { method, path, type, accept, bodyOf } = request;
          const body = Buffer.from(bodyOf(json()));
          return async () => (await send(method, path, body, { type, accept })).status;
        },
      }),
    ),
  );

/** Objects that requests refer to, by the names of parameters. */
export async function createObjects({ created, send }: Measurements, origin: string): Promise<Ids> {
  const id = async (path: string, body: object) => String((await created(path, body))['id']);
  const sessionId = await id('/v1/sessions', { title: 'S' });
  const artifactId = await id(`/v1/sessions/${sessionId}/artifacts`, { type: 'PullRequest' });
  const { connection } = await created('/v1/mcp-connections', { name: 'Server', serverUrl: `${origin}/mcp` });
  const mcpConnectionId = (connection as { id: string }).id;
  await created('/events/2026-03/event-definitions', {
    label: 'Checkout started',
    propertyDefinitions: [{ label: 'Cart total', name: 'cart_total', type: 'number' }],
  });
  const { text } = await send('GET', '/v1/users/me', undefined);
  const userId = (JSON.parse(text) as { id: string }).id;
  const webhook = await created('/v1/webhooks', { url: `${origin}/hook` });
  return {
    origin,
    sessionId,
    artifactId,
    mcpConnectionId,
    mcpServerId: mcpConnectionId,
    userId,
    webhookId: (webhook['webhook'] as { id?: string } | undefined)?.id ?? String(webhook['id']),
    eventName: 'checkout_started',
    propertyName: 'cart_total',
  };
}
