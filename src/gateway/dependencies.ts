import { randomUUID } from 'node:crypto';
import type { Pool } from 'pg';
import type { Logger } from 'pino';
import type { Config } from '../core/config.ts';
import { type Database, openDatabase } from '../core/postgres/connections.ts';
import { LargeAnswers } from '../core/postgres/large-answers.ts';
import { type LiveTails, type Resumption, createLiveTails } from '../core/live-tails.ts';
import { type Notifier, createNotifier } from '../core/postgres/notifications.ts';
import { type Actor, type OperationContext, type OperationSettings, type WorkContext } from '../core/operation.ts';
import { DEFAULT_TIMING, type Timing } from '../core/timing.ts';
import { type Outbound, type OutboundOptions, createOutbound } from '../core/outbound/outbound.ts';
import { type Outages, watchOutages } from '../core/postgres/outages.ts';
import { type Replicas, type ReplicasOptions, createReplicas } from '../core/postgres/replicas.ts';
import type { SecretBox } from '../core/secrets/secrets.ts';
import { type Run, type Sql, createSql, runOn } from '../core/postgres/sql.ts';
import { RequestBudget } from '../core/postgres/request-budget.ts';
import { type Tracing, observeStatements } from '../core/tracing/tracing.ts';
import { type KeyedQueue, createKeyedQueue } from '../core/keyed-queue.ts';
import { settleChanges } from '../core/authority.ts';
import { authenticate } from './admission/authenticate.ts';
import { type Bounds, DEFAULT_BOUNDS } from './bounds.ts';
import { entities } from './entities.ts';
import type { Origin } from './exchange.ts';
import { toDomainError } from './failures.ts';
import { Idempotency } from './idempotency/idempotency.ts';
import { type ApiKeyLookup, createKeys } from './admission/api-key-lookup.ts';
import { type BrowserSessions, createBrowserSessions } from './admission/browser-session.ts';
import { type SignInLinks, createSignInLinks } from './admission/sign-in-links.ts';
import { versionsOf } from './topic-versions.ts';
import { type Metrics, createMetrics } from './telemetry/metrics.ts';
import { type Observers, countJobs, observeOutbound } from './telemetry/observe.ts';
import { type TrustedDocuments, readTrustedDocuments } from './graphql/trusted-documents.ts';

/** All that the gateway works with. */
export interface Dependencies {
  readonly config: Config;
  readonly database: Database;
  readonly databaseUrl: string;
  /** Sends statements to the primary. */
  readonly run: Run;
  /** Statements of work that no request asks for, which have no budget. */
  readonly sql: Sql;
  /** Undefined without `DATABASE_REPLICA_URLS`. */
  readonly replicas: Replicas | undefined;
  readonly keys: ApiKeyLookup;
  readonly browserSessions: BrowserSessions;
  readonly signInLinks: SignInLinks;
  readonly outages: Outages;
  readonly notifier: Notifier;
  readonly appendQueue: KeyedQueue;
  readonly secrets: SecretBox;
  readonly outbound: Outbound;
  readonly idempotency: Idempotency;
  readonly trustedDocuments: TrustedDocuments;
  /** Where the gateway listens, once it does: with `PORT=0` only the listener knows. */
  readonly address: { url?: string };
  readonly log: Logger;
  readonly metrics: Metrics;
  /** Where it is configured. */
  readonly tracing: Tracing | undefined;
  readonly now: () => Date;
  readonly newId: () => string;
  readonly timing: Timing;
  readonly liveTails: LiveTails;
  readonly bounds: Bounds;
  readonly largeAnswers: LargeAnswers;
  /** Closes the connections to the database. */
  close(): Promise<void>;
}

export interface DependencyOptions {
  readonly config: Config;
  readonly databaseUrl: string;
  readonly secrets: SecretBox;
  readonly log: Logger;
  readonly now?: () => Date;
  /** How long a request waits for the database, other than the usual time; for tests on busy machines. */
  readonly databaseWaitMs?: number | undefined;
  /** Waits that differ from {@link DEFAULT_TIMING}; for tests. */
  readonly timing?: Partial<Timing> | undefined;
  /** Bounds that differ from {@link DEFAULT_BOUNDS}; for tests. */
  readonly bounds?: Partial<Bounds> | undefined;
  /** Database URL on which to listen for notifications, if not `databaseUrl`; for tests that lose notifications. */
  readonly listenUrl?: string | undefined;
  /** Bounds of outbound requests other than the usual ones, and another DNS; for tests. */
  readonly outbound?: Partial<OutboundOptions>;
  /** Sees every statement; for tests that count them. */
  readonly onSql?: (statement: string) => void;
}

/** Connects the gateway's parts over one database. No connection is opened before the first request needs it. */
export async function createDependencies(options: DependencyOptions): Promise<Dependencies> {
  const { config, databaseUrl, secrets, log, now = () => new Date() } = options;
  const tracing = await openTracing(config, log);
  const connected = await connectDatabase(options, tracing);
  const { database, sql, replicas, outages } = connected;
  const metrics = createMetrics({ pool: connected.pool, outages, countJobs: () => countJobs(sql), replicas });
  const listenUrl = options.listenUrl ?? config.DATABASE_DIRECT_URL ?? databaseUrl;
  const notifier = createNotifier({ url: listenUrl, sql, log, onError: outages.note });
  const bounds = { ...DEFAULT_BOUNDS, ...options.bounds };
  const timing = { ...DEFAULT_TIMING, ...options.timing };
  const address: Dependencies['address'] = {};
  const outbound = openOutbound(options, { metrics, tracing });
  return {
    config,
    database,
    databaseUrl,
    run: connected.run,
    sql,
    replicas,
    keys: createKeys({ sql: replicas ? createSql({ run: replicas.lookup }) : sql, replicas, now }),
    browserSessions: createBrowserSessions({ secrets, now, publicUrl: () => publicUrlOf({ config, address }) }),
    signInLinks: createSignInLinks({ now }),
    outages,
    notifier,
    appendQueue: createKeyedQueue(),
    secrets,
    outbound,
    trustedDocuments: await readTrustedDocuments(config.PERSISTED_OPERATIONS),
    idempotency: new Idempotency({ database, sql, secrets, now, newId: randomUUID, log, outbound }),
    address,
    log,
    metrics,
    tracing,
    now,
    newId: randomUUID,
    timing,
    bounds,
    largeAnswers: new LargeAnswers(),
    liveTails: createLiveTails({
      notifier,
      pollMs: timing.livePollMs,
      versionsOf: versionsOf({ sql, now }),
      maxOfKey: bounds.tailsOfKey,
      maxOfOrganization: bounds.tailsOfOrganization,
      log,
    }),
    close: async () => {
      await notifier.close();
      await outbound.close();
      await replicas?.close();
      await database.close(true);
      await tracing?.close();
    },
  };
}

async function connectDatabase(
  { config, databaseUrl: url, log, onSql, databaseWaitMs: waitMs }: DependencyOptions,
  tracing: Tracing | undefined,
) {
  const onPool = tracing || onSql ? (pool: Pool) => observeStatements(pool, { tracing, onSql }) : undefined;
  const isPooled = config.DATABASE_POOLER !== undefined;
  const directUrl = config.DATABASE_DIRECT_URL;
  const database = await openDatabase({ url, entities, isPooled, directUrl, waitMs, onPool });
  const pool: Pool = await database.driver.getConnection().getNativeClient();
  const run = runOn(pool, { canPrepare: !isPooled });
  const replicas = connectReplicas({ config, pool, run, log, onPool, canPrepare: !isPooled });
  return { database, pool, run, sql: createSql({ run }), replicas, outages: watchOutages(pool, { log }) };
}

function openOutbound(
  { config: { ALLOW_PRIVATE_NETWORK: allowPrivateNetwork }, log, outbound }: DependencyOptions,
  observers: Observers,
): Outbound {
  if (allowPrivateNetwork)
    log.warn(
      'ALLOW_PRIVATE_NETWORK is on: requests to MCP servers may reach loopback and private networks; never use this in production',
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

/** The same context for a request that only reads. */
export function readingContext(context: OperationContext, { replicas, run }: Dependencies): OperationContext {
  if (!replicas) return context;
  const reader = replicas.reader(context.actor.position);
  return changed(context, { sql: createSql({ run: reader, onPrimary: run, budget: context.budget }) });
}

/** The same context for a request that follows something, until `gone` aborts, too. */
export function followingContext(
  context: OperationContext,
  gone: AbortSignal,
  resumption: Resumption,
): OperationContext {
  const signal = context.signal ? AbortSignal.any([context.signal, gone]) : gone;
  return changed(context, { signal, resumption });
}

/** With its getters as they are, which make things when they are asked for. */
function changed(context: OperationContext, changes: Partial<OperationContext>): OperationContext {
  const properties = { ...Object.getOwnPropertyDescriptors(context), ...Object.getOwnPropertyDescriptors(changes) };
  return Object.defineProperties({}, properties) as OperationContext;
}

/** Tracing and all that it needs is loaded only where it is configured. */
async function openTracing(
  { OTEL_EXPORTER_OTLP_ENDPOINT: endpoint }: Config,
  log: Logger,
): Promise<Tracing | undefined> {
  if (endpoint === undefined) return undefined;
  const { startTracing } = await import('../core/tracing/opentelemetry.ts');
  return startTracing(endpoint, log);
}

/** The context of one request: its own unit of work, made when a change first asks for it, since reads need none. */
export function operationContext(
  dependencies: Dependencies,
  actor: Actor,
  { request, requestId, requestIdOrigin = 'gateway', onRefusal = () => undefined }: Origin,
): OperationContext {
  const {
    database,
    run,
    notifier,
    appendQueue,
    secrets,
    outbound,
    now,
    newId,
    timing,
    liveTails,
    bounds,
    largeAnswers,
  } = dependencies;
  let em: OperationContext['em'] | undefined;
  const budget = new RequestBudget(bounds.answerBytes, largeAnswers);
  return {
    get em() {
      return (em ??= database.em.fork());
    },
    sql: createSql({ run, budget }),
    budget,
    notifier,
    appendQueue,
    actor,
    authenticateAgain: async () => (request ? authenticate(request.headers, dependencies) : actor),
    settleChanges: (userIds) => settleChanges(dependencies.sql, userIds),
    toDomainError: (error) => toDomainError(error, dependencies.log.child({ requestId })),
    get signal() {
      return request?.signal;
    },
    requestId,
    requestIdOrigin,
    onRefusal,
    now,
    newId,
    timing,
    liveTails,
    secrets,
    outbound,
    settings: settingsOf(dependencies),
  };
}

/** The context of work that no request asks for, with its own unit of work. */
export function workContext(dependencies: Dependencies): WorkContext {
  const { database, sql, notifier, secrets, outbound, now, newId } = dependencies;
  return {
    em: database.em.fork(),
    sql,
    notifier,
    now,
    newId,
    secrets,
    outbound,
    settings: settingsOf(dependencies),
  };
}

function settingsOf(dependencies: Dependencies): OperationSettings {
  const { config } = dependencies;
  return {
    defaultSubscriptions: config.DEFAULT_SUBSCRIPTION,
    publicUrl: publicUrlOf(dependencies),
    clientMetadataUrl: config.CLIENT_METADATA_URL,
    userDeletionDelaySeconds: config.USER_DELETION_DELAY,
    monthlyOccurrenceLimit: config.MONTHLY_OCCURRENCE_LIMIT,
  };
}

/** `PUBLIC_URL`, or the address that the gateway listens on. */
export function publicUrlOf({
  config: { PUBLIC_URL, HOST, PORT },
  address,
}: Pick<Dependencies, 'config' | 'address'>): string {
  return PUBLIC_URL ?? address.url ?? `http://${HOST.includes(':') ? `[${HOST}]` : HOST}:${PORT}`;
}
