import { settleChanges } from '../core/authority.ts';
import type { Resumption } from '../core/live-tails.ts';
import type { Actor } from '../core/access.ts';
import type { OperationContext, OperationSettings, WorkContext } from '../core/operation.ts';
import { RequestBudget } from '../core/postgres/reading/request-budget.ts';
import { createSql } from '../core/postgres/reading/sql.ts';
import type { LoopContext } from '../domains/webhooks/public.ts';
import { authenticate } from './admission/authenticate.ts';
import { type Dependencies, publicUrlOf } from './dependencies.ts';
import { type Origin, pathOf } from './exchange.ts';
import { toDomainError } from './failures.ts';

/** Creates the contexts of operations, for each request, job or other work. */

/** The context of one request. Its unit of work is created when a change first needs it; reads need none. */
export function operationContext(
  dependencies: Dependencies,
  actor: Actor,
  { request, requestId, requestIdOrigin = 'gateway', onRefusal = () => undefined }: Origin,
): OperationContext {
  const budget = new RequestBudget(dependencies.bounds.answerBytes);
  const context: Source & Omit<OperationContext, keyof typeof MADE_WHEN_READ> = {
    [SOURCE]: { database: dependencies.database, request },
    sql: createSql({ run: dependencies.run, budget }),
    budget,
    notifier: dependencies.notifier,
    appendQueue: dependencies.appendQueue,
    actor,
    authenticateAgain: async () =>
      request
        ? authenticate({ headers: request.headers, path: pathOf(request, dependencies.config) }, dependencies)
        : actor,
    settleChanges: (userIds) => settleChanges(dependencies.sql, userIds),
    toDomainError: (error) => toDomainError(error, dependencies.log.child({ requestId })),
    requestId,
    requestIdOrigin,
    onRefusal,
    toolCallAudit: dependencies.toolCallAudit,
    observeToolCall: ({ outcome, seconds }) => dependencies.metrics.toolCalls.observe({ outcome }, seconds),
    now: dependencies.now,
    newId: dependencies.newId,
    timing: dependencies.timing,
    liveTails: dependencies.liveTails,
    secrets: dependencies.secrets,
    outbound: dependencies.outbound,
    mcpObserver: dependencies.mcpObserver,
    caches: dependencies.caches,
    settings: settingsOf(dependencies),
  };
  return Object.defineProperties(context as Source & OperationContext, MADE_WHEN_READ);
}

const SOURCE = Symbol('source');

interface Source {
  readonly [SOURCE]: {
    readonly database: Dependencies['database'];
    readonly request: Origin['request'];
    em?: OperationContext['em'];
  };
}

/** Getters that all contexts share. V8 would keep a getter of a single object, and everything it refers to, until the next major collection. */
const MADE_WHEN_READ = {
  em: {
    get(this: Source) {
      const source = this[SOURCE];
      return (source.em ??= source.database.em.fork());
    },
    enumerable: true,
    configurable: true,
  },
  signal: {
    get(this: Source) {
      return this[SOURCE].request?.signal;
    },
    enumerable: true,
    configurable: true,
  },
};

/** The context of work outside requests, such as jobs, with its own unit of work. */
export function workContext(dependencies: Dependencies): WorkContext {
  const { database, sql, notifier, secrets, outbound, mcpObserver, caches, now, newId } = dependencies;
  return {
    em: database.em.fork(),
    sql,
    notifier,
    now,
    newId,
    secrets,
    outbound,
    mcpObserver,
    caches,
    settings: settingsOf(dependencies),
  };
}

/** The context of deliveries to webhooks. */
export function deliveryContext(dependencies: Dependencies): LoopContext {
  const { log, timing, metrics } = dependencies;
  return {
    ...workContext(dependencies),
    log,
    timing,
    observeDelivery: ({ kind, result: { state, durationMs } }) =>
      metrics.webhookDeliveries.observe({ kind, outcome: state }, (durationMs ?? 0) / 1000),
  };
}

function settingsOf(dependencies: Dependencies): OperationSettings {
  const { config } = dependencies;
  return {
    defaultSubscriptions: config.DEFAULT_SUBSCRIPTION,
    reservedSlug: config.OIDC_ORGANIZATION,
    publicUrl: publicUrlOf(dependencies),
    clientMetadataUrl: config.CLIENT_METADATA_URL,
    userDeletionDelaySeconds: config.USER_DELETION_DELAY,
    monthlyOccurrenceLimit: config.MONTHLY_OCCURRENCE_LIMIT,
    isRecordRedacted: config.RECORD_REDACTION,
    retentionMaxDays: config.RETENTION_MAX_DAYS,
  };
}

/** A copy of the context for a request that only reads; it can use a replica. */
export function readingContext(context: OperationContext, { replicas, run }: Dependencies): OperationContext {
  if (!replicas) return context;
  const reader = replicas.reader(context.actor.position);
  return changed(context, { sql: createSql({ run: reader, onPrimary: run, budget: context.budget }) });
}

/** A copy of the context for a live tail or subscription, which also ends when `gone` aborts. */
export function followingContext(
  context: OperationContext,
  gone: AbortSignal,
  resumption: Resumption,
): OperationContext {
  const signal = context.signal ? AbortSignal.any([context.signal, gone]) : gone;
  return changed(context, { signal, resumption });
}

/** Copies the context with changes. Getters are copied as getters, so that they stay lazy. */
function changed(context: OperationContext, changes: Partial<OperationContext>): OperationContext {
  const properties = { ...Object.getOwnPropertyDescriptors(context), ...Object.getOwnPropertyDescriptors(changes) };
  return Object.defineProperties({}, properties) as OperationContext;
}
