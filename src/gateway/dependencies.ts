import { createToolCallAudit } from '../core/tool-call-audit.ts';
import { readMcpDocuments } from './mcp/documents.ts';
import { type Tool, createTools } from './mcp/tools.ts';
import { randomUUID } from 'node:crypto';
import type { Pool } from 'pg';
import type { Logger } from 'pino';
import { auditFloorOf } from '../core/audit-log-minimum.ts';
import { Backlog } from '../core/backlog.ts';
import { type Config, ConfigurationError } from '../core/config.ts';
import { settleChanges } from '../core/authority.ts';
import { FeedWriter } from '../core/feed.ts';
import { oidcSettings } from '../core/oidc-settings.ts';
import type { OperationSettings } from '../core/operation-settings.ts';
import type { Services } from '../core/operation.ts';
import { CONNECTION_WAIT_MS, type Database, openDatabase } from '../core/postgres/connections.ts';
import { DatabaseClient } from '../core/postgres/driver/client.ts';
import { DatabaseAddress } from '../core/postgres/driver/database-address.ts';
import { type LiveTails, createLiveTails } from '../core/live-tails.ts';
import { findOlderProcesses } from '../core/postgres/finished-version.ts';
import { createNotifier } from '../core/postgres/notifications.ts';
import { clockDifference, readStoredTime } from '../core/stored-time.ts';
import { DEFAULT_TIMING, type Timing } from '../core/timeouts.ts';
import { Caches } from '../core/caches.ts';
import { type Outbound, type OutboundOptions, createOutbound } from '../core/outbound/outbound.ts';
import { DatabaseHealth } from '../core/postgres/health/database-health.ts';
import { type Replicas, type ReplicasOptions, createReplicas } from '../core/postgres/health/replicas.ts';
import type { SecretBox } from '../core/secrets/secrets.ts';
import { type Run, type Sql, StatementSql, runOn } from '../core/postgres/reading/sql.ts';
import { type Tracing, traceStatements, traced } from '../core/tracing/tracing.ts';
import { type KeyedQueue, createKeyedQueue } from '../core/concurrency.ts';
import { createPools } from '../core/pools.ts';
import { feedEntriesOf } from '../domains/feed/public.ts';
import { countUnindexed } from '../domains/session-events/public.ts';
import { countWebhookStates } from '../domains/webhooks/public.ts';
import { type Bounds, DEFAULT_BOUNDS } from './bounds.ts';
import { entities, versionsOf } from './modules.ts';
import { Idempotency } from './idempotency/idempotency.ts';
import { type ApiKeyLookup, createKeys } from './admission/api-key-lookup.ts';
import { BrowserSessions } from './admission/browser-session.ts';
import { type RateLimits, createRateLimits } from './admission/rate-limits.ts';
import { linesLostOf } from './telemetry/logging.ts';
import { type Metrics, createMetrics } from './telemetry/metrics.ts';
import {
  type Observers,
  countJobs,
  createMcpObserver,
  createPoolObserver,
  lastHeartbeat,
  observeOutbound,
} from './telemetry/observe.ts';
import { type TrustedDocuments, readTrustedDocuments } from './graphql/documents.ts';

export interface Dependencies extends Services {
  /** The same without what operations must not use. */
  readonly services: Services;
  readonly appendQueue: KeyedQueue;
  readonly config: Config;
  readonly database: Database;
  readonly databaseUrl: string;
  /** Sends statements to the primary. */
  readonly run: Run;
  /** Runs statements of work outside requests, without a request budget. */
  readonly sql: Sql;
  /** Undefined without `DATABASE_REPLICA_URLS`. */
  readonly replicas: Replicas | undefined;
  readonly keys: ApiKeyLookup;
  readonly browserSessions: BrowserSessions;
  /** Undefined without `RATE_LIMIT_PER_MINUTE`. */
  readonly rateLimits: RateLimits | undefined;
  readonly health: DatabaseHealth;
  readonly idempotency: Idempotency;
  readonly trustedDocuments: TrustedDocuments;
  /** The tools at `/mcp`, by name. */
  readonly mcpTools: ReadonlyMap<string, Tool>;
  /** Address on which the gateway listens, set when it listens. With `PORT=0` the port is not known before. */
  readonly address: { url?: string };
  /** See {@link publicUrlOf}. */
  readonly publicUrl: () => string;
  readonly log: Logger;
  readonly metrics: Metrics;
  /** Undefined unless tracing is configured. */
  readonly tracing: Tracing | undefined;
  readonly bounds: Bounds;
  /** Closes the connections to the database. */
  close(): Promise<void>;
}

export interface DependencyOptions {
  readonly config: Config;
  readonly databaseUrl: string;
  readonly secrets: SecretBox;
  readonly log: Logger;
  readonly now?: () => Date;
  /** Reads the time of the database; for tests, which move it with the clock, or apart from it. */
  readonly storedNow?: ((sql: Sql) => Promise<Date>) | undefined;
  /** Maximum time that a request waits for a database connection, instead of the default; for tests on busy machines. */
  readonly databaseWaitMs?: number | undefined;
  /** Changes of {@link DEFAULT_TIMING}; for tests. */
  readonly timing?: Partial<Timing> | undefined;
  /** Changes of {@link DEFAULT_BOUNDS}; for tests. */
  readonly bounds?: Partial<Bounds> | undefined;
  /** Database URL for notifications, instead of `databaseUrl`; for tests that lose notifications. */
  readonly listenUrl?: string | undefined;
  /** Other limits of outbound requests, and another DNS; for tests. */
  readonly outbound?: Partial<OutboundOptions>;
}

/** Creates the dependencies for one database. No connection is opened before the first request needs one. */
export async function createDependencies(options: DependencyOptions): Promise<Dependencies> {
  const { config, databaseUrl, secrets, log, now = () => new Date(), storedNow = readStoredTime } = options;
  checkAddresses(options);
  const timing = { ...DEFAULT_TIMING, ...options.timing };
  const tracing = await openTracing(config, log, timing);
  const { database, pool, run, sql, replicas, health, notifier } = await connectDatabase(options, tracing);
  const metrics = createMetrics({
    pool,
    health,
    ...countersOf(sql),
    replicas,
    clockDifference: () => clockDifference({ now, storedNow: () => storedNow(sql) }),
    logLinesLost: () => linesLostOf(log),
  });
  database.em.getEventManager().registerSubscriber(new FeedWriter({ notifier, now, entriesOf: feedEntriesOf }));
  const bounds = { ...DEFAULT_BOUNDS, ...options.bounds };
  const address: Dependencies['address'] = {};
  const outbound = openOutbound(options, { metrics, tracing });
  const keys = openKeys({ config, sql, replicas, now });
  const publicUrl = () => publicUrlOf({ config, address });
  const rateLimits = createRateLimits({ config, sql, now, log, replicas, metrics });
  const signInParts = { secrets, database, notifier, keys, rateLimits, now, newId: randomUUID, publicUrl };
  const services = openServices(options, {
    sql,
    database,
    notifier,
    metrics,
    tracing,
    outbound,
    timing,
    bounds,
    now,
    storedNow,
    publicUrl,
  });
  return {
    ...services,
    services,
    config,
    database,
    databaseUrl,
    run,
    sql,
    replicas,
    keys,
    browserSessions: new BrowserSessions({ ...signInParts, signInHours: config.SIGN_IN_HOURS }),
    rateLimits,
    health,
    trustedDocuments: await readTrustedDocuments(config.PERSISTED_OPERATIONS),
    mcpTools: createTools(await readMcpDocuments(config.MCP_DOCUMENTS), { mutations: config.MCP_MUTATIONS }),
    idempotency: new Idempotency({ database, sql, secrets, now, newId: randomUUID, log, outbound }),
    address,
    publicUrl,
    log,
    metrics,
    tracing,
    bounds,
    close: () => closeAll({ notifier, outbound, replicas, database, tracing }, pool),
  };
}

interface ServiceParts extends Pick<
  Dependencies,
  'sql' | 'database' | 'notifier' | 'metrics' | 'tracing' | 'outbound' | 'timing' | 'bounds' | 'now' | 'publicUrl'
> {
  readonly storedNow: NonNullable<DependencyOptions['storedNow']>;
}

/** What all requests share. */
function openServices({ config, secrets, log }: DependencyOptions, parts: ServiceParts) {
  const { sql, database, notifier, metrics, tracing, outbound, timing, bounds, now, storedNow, publicUrl } = parts;
  return {
    notifier,
    appendQueue: createKeyedQueue(),
    unfolded: new Backlog(),
    settleChanges: (userIds) => settleChanges(sql, userIds),
    toolCallAudit: createToolCallAudit(sql),
    observeToolCall: ({ outcome, seconds }) => metrics.toolCalls.observe({ outcome }, seconds),
    traced: (options, work) => traced(tracing, options, work),
    now,
    storedNow: () => storedNow(sql),
    hasOlderProcess: searchOlderProcesses(config, database),
    newId: randomUUID,
    timing,
    liveTails: openLiveTails({ notifier, sql, now, timing, bounds, log }),
    settings: settingsOf(config, publicUrl),
    secrets,
    outbound,
    mcpObserver: createMcpObserver({ metrics, log }),
    caches: new Caches(),
    pools: openPools(config, { timing, bounds }, { metrics, log }),
  } satisfies Services;
}

function searchOlderProcesses({ DATABASE_POOLER: pooler }: Config, database: Database): Services['hasOlderProcess'] {
  const isPooled = pooler !== undefined;
  return async (since) => (await findOlderProcesses(database.em.fork(), { since, isPooled })).length > 0;
}

/** What metrics count in the database. */
const countersOf = (sql: Sql) => ({
  countJobs: () => countJobs(sql),
  lastHeartbeat: () => lastHeartbeat(sql),
  countWebhooks: () => countWebhookStates(sql),
  countUnsearchable: () => countUnindexed(sql),
});

function openPools(
  { REQUESTS_AT_ONCE: requests }: Config,
  { timing: { slotWaitMs: waitMs }, bounds }: Pick<Dependencies, 'timing' | 'bounds'>,
  observers: Parameters<typeof createPoolObserver>[0],
) {
  const answerBytes = { ofProcess: bounds.unreadBytes, ofPerson: bounds.unreadBytesOfUser };
  return createPools({ requests, answerBytes, waitMs, observer: createPoolObserver(observers) });
}

function openKeys({ config, sql, replicas, now }: Pick<Dependencies, 'config' | 'sql' | 'replicas' | 'now'>) {
  const reader = replicas ? new StatementSql({ run: replicas.lookup }) : sql;
  return createKeys({ sql: reader, replicas, now, sleepAfterDays: config.OIDC_KEYS_SLEEP_AFTER });
}

function openLiveTails({
  notifier,
  sql,
  now,
  timing,
  bounds,
  log,
}: Pick<Dependencies, 'notifier' | 'sql' | 'now' | 'timing' | 'bounds' | 'log'>): LiveTails {
  return createLiveTails({
    notifier,
    pollMs: timing.livePollMs,
    versionsOf: versionsOf({ sql, now }),
    maxOfKey: bounds.tailsOfKey,
    maxOfOrganization: bounds.tailsOfOrganization,
    log,
  });
}

async function closeAll(
  {
    notifier,
    outbound,
    replicas,
    database,
    tracing,
  }: Pick<Dependencies, 'notifier' | 'outbound' | 'replicas' | 'database' | 'tracing'>,
  pool: Pool,
): Promise<void> {
  await notifier.close();
  await outbound.close();
  await replicas?.close();
  await database.close(true);
  // The mapper leaves a pool open on which it sent no statement itself.
  if (!pool.ending) await pool.end();
  await tracing?.close();
}

/** @throws ConfigurationError that names the variable of a URL whose files cannot be read, or whose parameters are wrong. */
function checkAddresses({ config, databaseUrl }: DependencyOptions): void {
  const { DATABASE_DIRECT_URL: directUrl, DATABASE_REPLICA_URLS: replicaUrls } = config;
  const given = {
    DATABASE_URL: [databaseUrl],
    DATABASE_DIRECT_URL: directUrl ? [directUrl] : [],
    DATABASE_REPLICA_URLS: replicaUrls,
  };
  for (const [variable, urls] of Object.entries(given)) {
    try {
      // As the driver will use it.
      urls.map((url) => new DatabaseAddress(url)).map((address) => new DatabaseClient({ address: () => address }));
    } catch (cause) {
      throw new ConfigurationError(`${variable}: ${cause instanceof Error ? cause.message : String(cause)}`, { cause });
    }
  }
}

async function connectDatabase(
  { config, databaseUrl: url, listenUrl, log, databaseWaitMs: waitMs = CONNECTION_WAIT_MS }: DependencyOptions,
  tracing: Tracing | undefined,
) {
  const isPooled = config.DATABASE_POOLER !== undefined;
  const directUrl = config.DATABASE_DIRECT_URL;
  const health = new DatabaseHealth({ waitMs, directUrl: isPooled ? directUrl : undefined, log });
  const database = await openDatabase({
    url,
    entities,
    isPooled,
    poolMax: config.DATABASE_POOL_SIZE,
    waitMs,
    health,
  });
  const pool: Pool = await database.driver.getConnection().getNativeClient();
  const onPool = tracing && ((each: Pool) => traceStatements(each, tracing));
  onPool?.(pool);
  const run = runOn(pool, { canPrepare: !isPooled });
  const replicas = connectReplicas({ config, pool, run, log, onPool, canPrepare: !isPooled });
  const sql = new StatementSql({ run });
  const notifier = createNotifier({ url: listenUrl ?? directUrl ?? url, sql, log, onError: health.note });
  return { database, pool, run, sql, replicas, health, notifier };
}

function openOutbound(
  { config: { ALLOW_PRIVATE_NETWORK: allowPrivateNetwork }, log, outbound }: DependencyOptions,
  observers: Observers,
): Outbound {
  if (allowPrivateNetwork)
    log.warn(
      'ALLOW_PRIVATE_NETWORK is on: requests to MCP servers can reach loopback and private networks; do not use this in production',
    );
  return createOutbound({ allowPrivateNetwork, observe: observeOutbound(observers), ...outbound });
}

function connectReplicas({
  config: { DATABASE_REPLICA_URLS: urls },
  pool: { options: poolOptions },
  run: primary,
  ...options
}: Pick<Dependencies, 'config' | 'run'> &
  Pick<ReplicasOptions, 'log' | 'onPool' | 'canPrepare'> & { readonly pool: Pool }) {
  return urls.length === 0 ? undefined : createReplicas({ urls, primary, poolOptions, ...options });
}

/** The modules for tracing are loaded only when tracing is configured. */
async function openTracing(
  { OTEL_EXPORTER_OTLP_ENDPOINT: endpoint }: Config,
  log: Logger,
  timing: Timing,
): Promise<Tracing | undefined> {
  if (endpoint === undefined) return undefined;
  const { startTracing } = await import('../core/tracing/opentelemetry.ts');
  return startTracing(endpoint, log, timing);
}

function settingsOf(config: Config, publicUrl: () => string): OperationSettings {
  return {
    defaultSubscriptions: config.DEFAULT_SUBSCRIPTION,
    company: oidcSettings(config),
    reservedSlug: config.OIDC_ORGANIZATION,
    companyDomains: config.OIDC_ONLY ? config.OIDC_DOMAINS : undefined,
    // Known when the gateway listens.
    get publicUrl() {
      return publicUrl();
    },
    clientMetadataUrl: config.CLIENT_METADATA_URL,
    userDeletionDelaySeconds: config.USER_DELETION_DELAY,
    isSelfDeletionAllowed: config.USER_SELF_DELETION,
    organizationCreation: config.ORGANIZATION_CREATION,
    monthlyOccurrenceLimit: config.MONTHLY_OCCURRENCE_LIMIT,
    isRecordRedacted: config.RECORD_REDACTION,
    retentionMaxDays: config.RETENTION_MAX_DAYS,
    auditRetentionDays: config.AUDIT_RETENTION_DAYS,
    auditRetentionMinDays: auditFloorOf(config).days,
  };
}

/** `PUBLIC_URL`, or the address that the gateway listens on. */
export function publicUrlOf({
  config: { PUBLIC_URL, HOST, PORT },
  address,
}: Pick<Dependencies, 'config' | 'address'>): string {
  return PUBLIC_URL ?? address.url ?? `http://${HOST.includes(':') ? `[${HOST}]` : HOST}:${PORT}`;
}
