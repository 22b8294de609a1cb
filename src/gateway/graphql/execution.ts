import {
  type ExecutionArgs,
  type ExecutionResult,
  GraphQLError,
  Kind,
  OperationTypeNode,
  getOperationAST,
  subscribe,
} from 'graphql';
import type { Logger } from 'pino';
import { MAX_ESCAPE, isSurelyLarger, sizeOf } from '../../core/answer-size.ts';
import type { HttpHeaders } from '../../core/http/messages.ts';
import { END_ID, LAST_EVENT_ID_HEADER } from '../../core/http/server-sent-events.ts';
import type { Resumption } from '../../core/live-tails.ts';
import type { OperationContext } from '../../core/operation.ts';
import { WORK } from '../../core/work-budget.ts';
import { withBoundedErrors } from '../../graphql-executor/bounded-errors.ts';
import { type Execute, createExecutor, sizeOfResult } from '../../graphql-executor/executor.ts';
import type { RateLimits } from '../admission/rate-limits.ts';
import { followingContext, readingContext } from '../contexts.ts';
import type { Dependencies } from '../dependencies.ts';
import { IDEMPOTENCY_KEY_HEADER } from '../request-headers.ts';
import { schema } from '../schema.ts';
import { notAcceptable } from './answer.ts';
import { type ErrorBehavior, halted, withoutPropagation } from './error-behavior.ts';
import { masked, maskedStream, toHttpError, tooLarge } from './errors.ts';
import { executeIdempotent } from './idempotent-mutation.ts';
import { EVENT_STREAM, acceptsEvents } from './media-types.ts';
import { createGraphQLObserver } from './observer.ts';
import { refusalOfRoot } from './root-fields.ts';
import { type Pricing, createPricing } from './charged-cost.ts';
import { shortened } from './shortened-result.ts';
import { AFTER_THE_END, withEventId } from './subscription-stream.ts';

/** A GraphQL request of an authenticated caller. Resolvers get only the context of the operation. */
export interface GraphQLCall {
  readonly operation: OperationContext;
  readonly headers: HttpHeaders;
  /** The log of the request, created when something is logged. */
  readonly logs: { readonly log: Logger };
  /** Called before a mutation is executed. */
  readonly onWrite: () => void;
  /** The client that has published the document. */
  readonly publishedBy?: string | undefined;
  /** By default `PROPAGATE`. */
  readonly onError?: ErrorBehavior;
}

/** Executes or subscribes to a valid operation, after its cost was paid and counted. */
export interface Execution {
  execute(args: ExecutionArgs, call: GraphQLCall): Promise<ExecutionResult>;
  subscribe(args: ExecutionArgs, call: GraphQLCall): Promise<ExecutionResult | AsyncIterable<ExecutionResult>>;
}

export function createExecution(dependencies: Dependencies, limits: RateLimits | undefined): Execution {
  const { metrics, tracing, bounds } = dependencies;
  const pricing = createPricing(metrics, limits);
  const observe = createGraphQLObserver({ metrics, tracing });
  const run = createRun(dependencies);
  const asked = (args: ExecutionArgs, { onError = 'PROPAGATE' }: GraphQLCall): ExecutionArgs =>
    onError === 'PROPAGATE' ? args : { ...args, document: withoutPropagation(args.document) };

  /** Pays for an operation and runs it, or returns the refusal. Both results contain the cost. */
  async function paid<Result extends ExecutionResult | AsyncIterable<ExecutionResult>>(
    args: ExecutionArgs,
    { operation }: GraphQLCall,
    work: (cost: number) => Promise<Result>,
  ): Promise<Result | ExecutionResult> {
    const paying = pricing.payFor(args, operation.actor);
    const { cost, refusal } = paying instanceof Promise ? await paying : paying;
    if (refusal) operation.onRefusal(refusal, 'graphql');
    const result: Result | ExecutionResult = refusal ? { errors: [toHttpError(refusal)] } : await work(cost.requested);
    return Symbol.asyncIterator in result ? result : { ...result, extensions: { ...result.extensions, cost } };
  }

  return {
    execute: (args, call) =>
      paid(args, call, async () => {
        const result = await observe(args, call.publishedBy, () => perform(run, asked(args, call), call, dependencies));
        // A small read can give a large answer too, when the same object is selected many times.
        return isLarger(result, bounds.answerBytes) ? tooLarge(call.logs, bounds.answerBytes) : result;
      }),
    async subscribe(args, call) {
      if (!acceptsEvents(call.headers.get('accept')))
        throw notAcceptable(`Subscriptions are answered as ${EVENT_STREAM}; send the header Accept: ${EVENT_STREAM}.`);
      return paid(args, call, (cost) => follow(asked(args, call), call, { pricing, cost }));
    },
  };
}

/** Whether the JSON of a result is certainly larger. */
function isLarger(result: ExecutionResult, maxBytes: number): boolean {
  const size = sizeOfResult(result);
  return size === undefined ? isSurelyLarger(result, maxBytes) : size > maxBytes;
}

function createRun({ metrics: { executions, interpretations }, log, bounds }: Dependencies): Execute {
  const execute = createExecutor(schema, {
    onExecution: (path, reason, field) => {
      executions.inc({ path });
      if (path === 'interpreted') interpretations.inc({ reason });
      if (reason) log.debug({ path, reason, field }, 'graphql execution');
    },
    inputBounds: WORK,
    sizeOf: (value) => sizeOf(value, bounds.answerBytes),
    // The reads of the failed compiled execution do not count.
    beforeRetry: (args) => operationOf(args).budget.renew(),
  });
  return async (args) => {
    const result = withRefusalFirst(await execute(args), args);
    if (result.errors) noteRefusals(result.errors, operationOf(args));
    return result;
  };
}

/** The context that resolvers get. */
const operationOf = ({ contextValue }: ExecutionArgs): OperationContext => contextValue as OperationContext;

/** Invalid variables are found before any field is executed. As for other input, a missing right to the field is reported first. */
function withRefusalFirst(result: ExecutionResult, args: ExecutionArgs): ExecutionResult {
  if (result.data !== undefined) return result;
  const { actor, onRefusal } = operationOf(args);
  const refusal = refusalOfRoot(args, actor);
  if (!refusal) return result;
  const { name, fieldName, error } = refusal;
  onRefusal(error, fieldName);
  // The status applies if the media type has statuses for request errors (GraphQL over HTTP, section 6.4).
  const extensions = { code: error.code, http: { spec: true, status: error.status } };
  return { errors: [new GraphQLError(error.graphqlMessage, { path: [name], extensions })] };
}

/** Records refusals for the audit log. Typed errors of mutations are recorded where they are thrown. */
function noteRefusals(errors: readonly GraphQLError[], { onRefusal }: OperationContext): void {
  for (const { originalError, nodes } of errors) {
    const [node] = nodes ?? [];
    // The name of the field in the schema, because an alias is text of the caller.
    if (originalError) onRefusal(originalError, node?.kind === Kind.FIELD ? node.name.value : 'graphql');
  }
}

async function perform(
  run: Execute,
  args: ExecutionArgs,
  { operation, headers, logs, onWrite, onError }: GraphQLCall,
  dependencies: Dependencies,
): Promise<ExecutionResult> {
  if (getOperationAST(args.document, args.operationName)?.operation !== OperationTypeNode.MUTATION) {
    operation.budget.expectAnswerOf(args.document, { isOfCaller: true });
    const result = masked(await run({ ...args, contextValue: readingContext(operation, dependencies) }), logs);
    return onError === 'HALT' ? halted(result) : result;
  }
  onWrite();
  const runMutation: Execute = async (given) => {
    const result = masked(await (onError === 'HALT' ? runHalting(run, given) : run(given)), logs);
    const maxBytes = operation.budget.answerRoom;
    return isSurelyShort(result, maxBytes) ? result : shortened(result, given, maxBytes);
  };
  if (!headers.has(IDEMPOTENCY_KEY_HEADER)) return runMutation({ ...args, contextValue: operation });
  return executeIdempotent(dependencies.idempotency, {
    run: runMutation,
    args,
    context: operation,
    headers,
    log: logs.log,
  });
}

/** Once a write is committed, its payload is answered, and errors make their own field null. */
async function runHalting(run: Execute, args: ExecutionArgs): Promise<ExecutionResult> {
  const context = operationOf(args);
  let hasWritten = false;
  const onSuccess = () => {
    hasWritten = true;
    context.onSuccess?.();
  };
  const result = await run({ ...args, contextValue: context.with({ onSuccess }) });
  return hasWritten ? result : halted(result);
}

const isSurelyShort = (result: ExecutionResult, maxBytes: number): boolean => !isLarger(result, maxBytes / MAX_ESCAPE);

/** Runs a subscription until it ends, or its client disconnects. */
async function follow(
  args: ExecutionArgs,
  { operation, headers, logs, onError }: GraphQLCall,
  { pricing, cost }: { readonly pricing: Pricing; readonly cost: number },
): Promise<ExecutionResult | AsyncIterable<ExecutionResult>> {
  const gone = new AbortController();
  const resumption: Resumption = { lastEventId: headers.get(LAST_EVENT_ID_HEADER) };
  if (resumption.lastEventId === END_ID) return AFTER_THE_END;
  const contextValue = followingContext(operation, gone.signal, resumption);
  const results = await withBoundedErrors({ ...args, contextValue }, subscribe, WORK);
  if (!(Symbol.asyncIterator in results)) {
    noteRefusals(results.errors ?? [], operation);
    return masked(results, logs);
  }
  if (resumption.lastEventId !== null && resumption.hasEnded === true) {
    gone.abort();
    operation.budget.close();
    return AFTER_THE_END;
  }
  const paid = pricing.metered(results, { sender: operation.actor, cost, signal: gone.signal });
  const events = withEventIds(
    maskedStream(paid, { logs, isHalting: onError === 'HALT' }, contextValue.budget),
    resumption,
  );
  return {
    [Symbol.asyncIterator]: () => ({
      next: () => events.next(),
      return() {
        gone.abort();
        operation.budget.close();
        return events.return(undefined);
      },
    }),
  };
}

/**
 * Returns the id to resume from. Each result is read before the source yields the next event, so the current id belongs to the result.
 */
async function* withEventIds(
  results: AsyncIterable<ExecutionResult>,
  resumption: Resumption,
): AsyncGenerator<ExecutionResult, string | undefined, undefined> {
  let last: string | undefined;
  for await (const result of results) {
    // An error at the end of the stream belongs to no event.
    yield withEventId(result, resumption.eventId === last ? undefined : resumption.eventId);
    last = resumption.eventId;
  }
  return resumption.eventId;
}
