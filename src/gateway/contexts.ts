import { settleChanges } from '../core/authority.ts';
import type { Resumption } from '../core/live-tails.ts';
import type { Actor, OperationContext, OperationSettings, WorkContext } from '../core/operation.ts';
import { RequestBudget } from '../core/postgres/request-budget.ts';
import { createSql } from '../core/postgres/sql.ts';
import { authenticate } from './admission/authenticate.ts';
import { type Dependencies, publicUrlOf } from './dependencies.ts';
import type { Origin } from './exchange.ts';
import { toDomainError } from './failures.ts';

/** What operations work with: made for each request, job, or other work from what the process has. */

/** The context of one request: its own unit of work, made when a change first asks for it, since reads need none. */
export function operationContext(
  dependencies: Dependencies,
  actor: Actor,
  { request, requestId, requestIdOrigin = 'gateway', onRefusal = () => undefined }: Origin,
): OperationContext {
  const budget = new RequestBudget(dependencies.bounds.answerBytes, dependencies.largeAnswers);
  const context: Source & Omit<OperationContext, keyof typeof MADE_WHEN_READ> = {
    [SOURCE]: { database: dependencies.database, request },
    sql: createSql({ run: dependencies.run, budget }),
    budget,
    notifier: dependencies.notifier,
    appendQueue: dependencies.appendQueue,
    actor,
    authenticateAgain: async () => (request ? authenticate(request.headers, dependencies) : actor),
    settleChanges: (userIds) => settleChanges(dependencies.sql, userIds),
    toDomainError: (error) => toDomainError(error, dependencies.log.child({ requestId })),
    requestId,
    requestIdOrigin,
    onRefusal,
    now: dependencies.now,
    newId: dependencies.newId,
    timing: dependencies.timing,
    liveTails: dependencies.liveTails,
    secrets: dependencies.secrets,
    outbound: dependencies.outbound,
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

/** Getters that all contexts share: V8 keeps a getter that is defined on one object, with all that it refers to, until the next major collection. */
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
