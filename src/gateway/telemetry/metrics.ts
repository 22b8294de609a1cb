import { Counter, Gauge, Histogram, Registry, collectDefaultMetrics } from 'prom-client';
import { QUEUES } from '../../core/jobs.ts';
import { BUILD, VERSION } from '../../core/version.ts';
import type { DatabaseHealth } from '../../core/postgres/health/database-health.ts';
import type { Replicas } from '../../core/postgres/health/replicas.ts';
import { largest } from '../../core/arrays.ts';

export type Metrics = ReturnType<typeof createMetrics>;

/** Sources that are read when the metrics are requested. */
export interface MetricSources {
  /** The pool of connections to the database. */
  readonly pool: { readonly totalCount: number; readonly idleCount: number; readonly waitingCount: number };
  readonly health: Pick<DatabaseHealth, 'isAway'>;
  /** Unfinished jobs by queue and state, with the longest waiting time of a due job. Missing combinations mean 0. */
  readonly countJobs: () => Promise<readonly JobCount[]>;
  /** The last heartbeat of a process that runs jobs, in seconds since 1970. */
  readonly lastHeartbeat: () => Promise<number>;
  readonly countWebhooks: () => Promise<readonly WebhookState[]>;
  /** Sessions whose texts are not in the search yet. */
  readonly countUnsearchable: () => Promise<number>;
  readonly replicas?: Pick<Replicas, 'states'> | undefined;
  /** By how many milliseconds the clock of the process is ahead of that of the database. */
  readonly clockDifference: () => Promise<number>;
  readonly logLinesLost: () => number;
}

interface WebhookState {
  readonly state: string;
  readonly count: number;
  readonly waitSeconds: number | null;
}

interface JobCount {
  readonly queue: string;
  readonly state: string;
  readonly count: number;
  readonly waitSeconds: number;
}

const SECONDS = [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30];
const WEBHOOK_STATES = ['enabled', 'failing', 'disabled'] as const;
const JOB_STATES = ['created', 'retry', 'active'] as const;

type Registers = readonly [Registry];

/**
 * The Prometheus metrics of the gateway; `docs/operations.md` lists them. The values of labels are bounded: operations,
 * fields of the schema, statuses and codes, but never ids, hosts or texts of callers.
 */
export function createMetrics(sources: MetricSources) {
  const {
    pool,
    health,
    countJobs,
    lastHeartbeat,
    countWebhooks,
    countUnsearchable,
    replicas,
    clockDifference,
    logLinesLost,
  } = sources;
  const registry = new Registry();
  const registers = [registry] as const;
  collectDefaultMetrics({ register: registry });
  // Gauges with the names of counters. Other metrics have the same numbers by type.
  for (const what of ['handles', 'requests', 'resources']) registry.removeSingleMetric(`nodejs_active_${what}_total`);
  addBuildInfo(registers);
  addLog(registers, logLinesLost);
  addDatabase(registers, health);
  addPool(registers, pool);
  addRead(registers, async () => (await clockDifference()) / 1000, {
    name: 'gateway_clock_ahead_seconds',
    help: 'By how much the clock of this process is ahead of that of the database; absent while the database is unreachable.',
  });
  addJobs(registers, countJobs);
  addRead(registers, lastHeartbeat, {
    name: 'gateway_job_runner_heartbeat_timestamp_seconds',
    help: 'The last heartbeat of any process that runs jobs on the database; 0 if there was none, absent while the database is unreachable.',
  });
  addWebhooks(registers, countWebhooks);
  addRead(registers, countUnsearchable, {
    name: 'gateway_search_pending_sessions',
    help: 'Sessions with texts that the search does not find yet, at most 100,000; absent while the database is unreachable.',
  });
  if (replicas) addReplicas(registers, replicas);
  return {
    registry,
    ...requestMetrics(registers),
    ...graphqlMetrics(registers),
    ...slotMetrics(registers),
    ...workMetrics(registers),
  };
}

const requestMetrics = ([...registers]: Registers) => ({
  requests: new Counter({
    name: 'gateway_requests_total',
    help: 'Requests by API, operation and HTTP status.',
    labelNames: ['api', 'operation', 'status'] as const,
    registers,
  }),
  duration: new Histogram({
    name: 'gateway_request_duration_seconds',
    help: 'Time from the request to its answer, by API and operation.',
    labelNames: ['api', 'operation'] as const,
    buckets: SECONDS,
    registers,
  }),
  rateLimited: new Counter({
    name: 'gateway_rate_limited_total',
    help: 'Requests that were refused, and events of subscriptions that waited, because a budget of the minute was used up.',
    labelNames: ['budget', 'unit'] as const,
    registers,
  }),
  tails: new Gauge({
    name: 'gateway_tails_open',
    help: 'Open event streams and subscriptions, by API.',
    labelNames: ['api'] as const,
    registers,
  }),
  sockets: new Gauge({
    name: 'gateway_websockets_open',
    help: 'Open WebSockets.',
    registers,
  }),
});

const graphqlMetrics = ([...registers]: Registers) => ({
  fields: new Counter({
    name: 'gateway_graphql_fields_total',
    help: 'Selected fields of Query and Mutation, by outcome: ok, or the code of the error.',
    labelNames: ['field', 'outcome'] as const,
    registers,
  }),
  deprecatedFields: new Counter({
    name: 'gateway_graphql_deprecated_fields_total',
    help: 'Executed documents that name a deprecated field, argument or input field, by the client that has published them.',
    labelNames: ['field', 'client'] as const,
    registers,
  }),
  cost: new Histogram({
    name: 'gateway_graphql_cost',
    help: 'Cost of GraphQL operations, in points.',
    buckets: [1, 10, 100, 1000, 5000, 10_000, 20_000],
    registers,
  }),
  executions: new Counter({
    name: 'gateway_graphql_executions_total',
    help: 'Executions of queries and mutations: by compiled code, interpreted, or interpreted after compiled code gave up.',
    labelNames: ['path'] as const,
    registers,
  }),
  interpretations: new Counter({
    name: 'gateway_graphql_interpretations_total',
    help: 'Executions that were interpreted from the start, by the reason for not compiling.',
    labelNames: ['reason'] as const,
    registers,
  }),
});

function slotMetrics([...registers]: Registers) {
  return {
    slotsWaiting: new Gauge({
      name: 'gateway_slots_waiting',
      help: 'What waits for a slot in this process, by pool.',
      labelNames: ['pool'] as const,
      registers,
    }),
    slotWaits: new Histogram({
      name: 'gateway_slot_wait_seconds',
      help: 'Time that something has waited until it ran, was refused, or its caller left, by pool.',
      labelNames: ['pool'] as const,
      buckets: SECONDS,
      registers,
    }),
    slotRefusals: new Counter({
      name: 'gateway_slot_refusals_total',
      help: 'What was refused because it had waited for too long, by pool.',
      labelNames: ['pool'] as const,
      registers,
    }),
  };
}

function workMetrics([...registers]: Registers) {
  return {
    outbound: new Histogram({
      name: 'gateway_outbound_duration_seconds',
      help: 'Time from a request to another server until its answer begins, by outcome: 2xx to 5xx, refused, failed.',
      labelNames: ['outcome'] as const,
      buckets: SECONDS,
      registers,
    }),
    mcpRefreshes: new Counter({
      name: 'gateway_mcp_token_refreshes_total',
      help: 'Requests for new tokens of MCP connections, by outcome: refreshed, refused, failed.',
      labelNames: ['outcome'] as const,
      registers,
    }),
    mcpProblems: new Counter({
      name: 'gateway_mcp_server_problems_total',
      help: 'Problems with servers of MCP connections that cost requests: lifetime (of tokens, less than 10 seconds), refusal (of a new token).',
      labelNames: ['problem'] as const,
      registers,
    }),
    toolCalls: new Histogram({
      name: 'gateway_mcp_tool_call_duration_seconds',
      help: 'Duration of calls of tools of MCP connections, by outcome: OK, TOOL_ERROR, JSON_RPC_ERROR, TRANSPORT_ERROR.',
      labelNames: ['outcome'] as const,
      buckets: [0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 300, 600],
      registers,
    }),
    webhookDeliveries: new Histogram({
      name: 'gateway_webhook_delivery_duration_seconds',
      help: 'Duration of requests to webhooks, by kind of delivery and outcome: succeeded, failed.',
      labelNames: ['kind', 'outcome'] as const,
      buckets: SECONDS,
      registers,
    }),
    jobRuns: new Histogram({
      name: 'gateway_job_duration_seconds',
      help: 'Run time of jobs in this process, by queue and outcome.',
      labelNames: ['queue', 'outcome'] as const,
      buckets: [0.01, 0.1, 1, 10, 60, 600, 3600],
      registers,
    }),
  };
}

function addBuildInfo([...registers]: Registers): void {
  new Gauge({
    name: 'gateway_build_info',
    help: 'Always 1; the labels are the version and the commit of the gateway, and the version of Node.js.',
    labelNames: ['version', 'build', 'node'] as const,
    registers,
  }).set({ version: VERSION, build: BUILD, node: process.versions.node }, 1);
}

function addLog([...registers]: Registers, linesLost: () => number): void {
  void new Counter({
    name: 'gateway_log_lines_lost_total',
    help: 'Log lines that could not be written, because of a full disk, a closed pipe or a reader that does not read.',
    registers,
    collect() {
      this.reset();
      this.inc(linesLost());
    },
  });
}

function addDatabase([...registers]: Registers, health: MetricSources['health']): void {
  void new Gauge({
    name: 'gateway_database_up',
    help: 'Whether the database is reachable and writable (1) or not (0), as far as this process knows.',
    registers,
    collect() {
      this.set(health.isAway() ? 0 : 1);
    },
  });
}

function addPool([...registers]: Registers, pool: MetricSources['pool']): void {
  void new Gauge({
    name: 'gateway_database_connections',
    help: 'Connections of the pool that are in use or idle, and requests that wait for one.',
    labelNames: ['state'] as const,
    registers,
    collect() {
      this.set({ state: 'in_use' }, pool.totalCount - pool.idleCount);
      this.set({ state: 'idle' }, pool.idleCount);
      this.set({ state: 'waiting' }, pool.waitingCount);
    },
  });
}

function addJobs([...registers]: Registers, count: MetricSources['countJobs']): void {
  // Both metrics share one query.
  let counting: Promise<readonly JobCount[] | undefined> | undefined;
  const countJobs = () =>
    (counting ??= count()
      .catch(() => undefined)
      .finally(() => (counting = undefined)));
  void new Gauge({
    name: 'gateway_jobs',
    help: 'Unfinished jobs of all processes on the database, by queue and state; absent while the database is unreachable.',
    labelNames: ['queue', 'state'] as const,
    registers,
    async collect() {
      this.reset();
      const counts = await countJobs();
      if (!counts) return;
      for (const queue of QUEUES) for (const state of JOB_STATES) this.set({ queue, state }, 0);
      for (const each of counts) this.set({ queue: each.queue, state: each.state }, each.count);
    },
  });
  void new Gauge({
    name: 'gateway_job_wait_seconds',
    help: 'Longest waiting time of a due job, by queue; 0 when none waits, absent while the database is unreachable.',
    labelNames: ['queue'] as const,
    registers,
    async collect() {
      this.reset();
      const counts = await countJobs();
      if (!counts) return;
      for (const queue of QUEUES) {
        const waits = counts.filter((each) => each.queue === queue && each.state !== 'active');
        this.set(
          { queue },
          largest(
            waits.map(({ waitSeconds }) => waitSeconds),
            0,
          ),
        );
      }
    },
  });
}

function addWebhooks([...registers]: Registers, count: MetricSources['countWebhooks']): void {
  // Both metrics share one query.
  let counting: Promise<readonly WebhookState[] | undefined> | undefined;
  const countStates = () =>
    (counting ??= count()
      .catch(() => undefined)
      .finally(() => (counting = undefined)));
  void new Gauge({
    name: 'gateway_webhooks',
    help: 'Webhooks by state: enabled, failing (the last delivery failed), disabled; absent while the database is unreachable.',
    labelNames: ['state'] as const,
    registers,
    async collect() {
      this.reset();
      const counts = await countStates();
      if (!counts) return;
      for (const state of WEBHOOK_STATES) this.set({ state }, 0);
      for (const each of counts) this.set({ state: each.state }, each.count);
    },
  });
  void new Gauge({
    name: 'gateway_webhook_wait_seconds',
    help: 'Age of the earliest entry of a feed that waits for a webhook whose last delivery did not fail; 0 when none waits, absent while the database is unreachable.',
    registers,
    async collect() {
      this.reset();
      const counts = await countStates();
      if (!counts) return;
      this.set(counts.find(({ state }) => state === 'enabled')?.waitSeconds ?? 0);
    },
  });
}

/** A gauge with a value that is read from the database. */
function addRead(
  [...registers]: Registers,
  read: () => Promise<number>,
  { name, help }: { readonly name: string; readonly help: string },
): void {
  void new Gauge({
    name,
    help,
    registers,
    async collect() {
      const value = await read().catch(() => undefined);
      if (value === undefined) this.remove();
      else this.set(value);
    },
  });
}

function addReplicas([...registers]: Registers, replicas: Pick<Replicas, 'states'>): void {
  void new Gauge({
    name: 'gateway_replica_usable',
    help: 'Whether a server of DATABASE_REPLICA_URLS serves reads (1), or is unreachable, too far behind, or the primary (0), by host and port.',
    labelNames: ['replica'] as const,
    registers,
    collect() {
      for (const { replica, isUsable } of replicas.states()) this.set({ replica }, isUsable ? 1 : 0);
    },
  });
}
