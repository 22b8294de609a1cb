import type { Resumption } from '../core/live-tails.ts';
import type { Actor } from '../core/access.ts';
import { OperationContext, type WorkContext } from '../core/operation.ts';
import { RequestBudget } from '../core/postgres/reading/request-budget.ts';
import { StatementSql } from '../core/postgres/reading/sql.ts';
import type { LoopContext } from '../domains/webhooks/public.ts';
import { authenticate, canAct } from './admission/authenticate.ts';
import type { Dependencies } from './dependencies.ts';
import { type Exchange, type Origin, pathOf } from './exchange.ts';
import { toDomainError } from './failures.ts';
import type { AuditClient } from '../core/audit.ts';
import type { PublicContext } from '../core/http/route.ts';

/** Creates the contexts of operations, for each request, job or other work. */

export function operationContext(dependencies: Dependencies, actor: Actor, origin: Origin): OperationContext {
  const { request, requestId, requestIdOrigin = 'gateway', onRefusal = () => undefined, slot, client } = origin;
  const budget = new RequestBudget(dependencies.bounds.answerBytes, slot);
  const { config, log, database } = dependencies;
  return new OperationContext({
    ...dependencies.services,
    sql: new StatementSql({ run: dependencies.run, budget }),
    budget,
    actor,
    authenticateAgain: async (organizationId = origin.organizationId) =>
      request
        ? authenticate({ headers: request.headers, path: pathOf(request, config), organizationId }, dependencies)
        : actor,
    toDomainError: (error) => toDomainError(error, log.child({ requestId })),
    requestId,
    requestIdOrigin,
    onRefusal,
    client,
    openEm: () => database.em.fork(),
    request,
  });
}

/** The context of work outside requests, such as jobs, with its own unit of work. */
export function workContext(dependencies: Dependencies): WorkContext {
  const { database, sql, notifier, secrets, outbound, mcpObserver, caches, pools, settings } = dependencies;
  const { now, storedNow, hasOlderProcess, newId } = dependencies;
  return {
    em: database.em.fork(),
    sql,
    notifier,
    now,
    storedNow,
    hasOlderProcess,
    newId,
    secrets,
    outbound,
    mcpObserver,
    caches,
    pools,
    settings,
  };
}

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

/** A copy of the context for a request that only reads; it can use a replica. */
export function readingContext(context: OperationContext, { replicas, run }: Dependencies): OperationContext {
  if (!replicas) return context;
  const reader = replicas.reader(context.actor.position);
  return context.with({ sql: new StatementSql({ run: reader, onPrimary: run, budget: context.budget }) });
}

/** A copy of the context for a live tail or subscription, which also ends when `gone` aborts. */
export function followingContext(
  context: OperationContext,
  gone: AbortSignal,
  resumption: Resumption,
): OperationContext {
  const signal = context.signal ? AbortSignal.any([context.signal, gone]) : gone;
  return context.with({ signal, resumption });
}

/** Creates the context of a request without a caller, for pages that need no API key. */
export const publicContext = (
  dependencies: Dependencies,
  {
    request,
    requestId,
    requestIdOrigin,
    client,
  }: Pick<Exchange, 'request' | 'requestId' | 'requestIdOrigin'> & { readonly client?: AuditClient },
): PublicContext => ({
  ...workContext(dependencies),
  signal: request.signal,
  requestId,
  requestIdOrigin,
  client,
  async signedInUserId() {
    const known = await dependencies.browserSessions.find(request.headers);
    return known && canAct(known) ? known.userId : undefined;
  },
});
