import {
  type DocumentNode,
  type ExecutionArgs,
  type ExecutionResult,
  type GraphQLSchema,
  OperationTypeNode,
  type ValidationRule,
  getOperationAST,
  subscribe,
  validate,
} from 'graphql';
import { type GraphQLParams, type Plugin, createYoga } from 'graphql-yoga';
import type { Logger } from 'pino';
import { isSurelyLarger } from '../../core/answer-size.ts';
import { type HttpAnswer, type HttpHeaders, type HttpRequest, answerWith } from '../../core/http/messages.ts';
import { LARGE_BYTES } from '../../core/postgres/large-answers.ts';
import type { OperationContext } from '../../core/operation.ts';
import { type Dependencies, followingContext, readingContext } from '../dependencies.ts';
import { createExecutor } from '../../graphql-executor/executor.ts';
import { type CostedRequest, adviceFor, checkCost } from './cost.ts';
import { createKnownDocuments } from './known-documents.ts';
import { createDocuments } from './persisted-documents.ts';
import { masked, maskedStream, toGraphQLError, toHttpError, toJson, withoutFoundValue } from './errors.ts';
import { createGraphQLObserver } from './observer.ts';
import { LIMITS, checkDocument, explained, parseWithinLimits, withoutRepeats } from './limits.ts';
import { isPlain, plainMediaType, readGraphQLRequest } from './request.ts';
import { KEY_HEADER, REPLAYED_HEADER } from '../request-headers.ts';
import { executeWithKey } from './keyed-mutation.ts';
import type { RateLimits } from '../admission/rate-limits.ts';
import { schema } from '../schema.ts';
import { costExceeded } from './pricing.ts';
import { subscriptionBody } from './subscription-body.ts';

/** What the door knows of a request; resolvers get the operation's context and nothing of the door. */
interface ServerContext {
  readonly operation: OperationContext;
  /** Whose log writes the request id into every line; made when something is logged. */
  readonly logs: { readonly log: Logger };
  readonly headers: HttpHeaders;
  /** What is asked for; rejected when it cannot be read. */
  readonly params: Promise<GraphQLParams>;
  /** What the operation cost, once that is known, and what is left. */
  cost?: ToldCost;
  /** Ends a subscription whose events nobody will read. */
  readonly following: { gone?: AbortController };
  /** The answer as text, once it is made. */
  readonly made: { json?: string };
  /** What came of the operation, where it has been run already. */
  result?: ExecutionResult;
  /** Whether that is the stored answer of an earlier request with the same idempotency key. An object, since Yoga copies this context. */
  readonly replay: { isReplayed: boolean };
}

/**
 * `extensions.cost`, in points. `limit` is the key's budget a minute, of which `remaining` is left until `resetAt`; with that turned off,
 * it is the most that one operation may cost.
 */
interface ToldCost {
  readonly requested: number;
  readonly limit: number;
  readonly remaining?: number;
  readonly resetAt?: Date;
}

export type GraphQLDoor = (
  request: HttpRequest,
  /** For the caller as they are once the body has been read. */
  openOperation: () => Promise<OperationContext>,
  logs: { readonly log: Logger },
) => Promise<HttpAnswer>;

/**
 * The GraphQL door: GraphQL over HTTP for callers who have been authenticated. Yoga is the protocol: it negotiates, parses, validates,
 * streams, and words what is wrong. A document that has been found valid once is run at once when it comes again.
 */
export function createGraphQLDoor(dependencies: Dependencies, limits: RateLimits | undefined): GraphQLDoor {
  const { config, metrics, tracing, idempotency, trustedDocuments, log: gatewayLog } = dependencies;
  const findDocument = createDocuments(trustedDocuments, config.PERSISTED_OPERATIONS_MODE);
  const run = createExecutor(schema, {
    onExecution: (path, reason, field) => {
      metrics.executions.inc({ path });
      if (path === 'interpreted') metrics.interpretations.inc({ reason });
      if (reason) gatewayLog.debug({ path, reason, field }, 'graphql execution');
    },
    // What was read for nothing does not count.
    beforeRetry: ({ contextValue }) => (contextValue as OperationContext).budget.renew(),
  });
  const observe = createGraphQLObserver({ metrics, tracing });
  const known = createKnownDocuments();

  /** Judges the cost of an operation, and has it paid. */
  function price(
    {
      document,
      operationName,
      variableValues: variables,
    }: Pick<ExecutionArgs, 'document' | 'operationName' | 'variableValues'>,
    server: ServerContext,
  ): Promise<void> | undefined {
    const request = { schema, document, operationName, variables };
    const requested = checkCost(request);
    metrics.cost.observe(requested);
    server.cost = { requested, limit: LIMITS.cost };
    return limits && pay(limits, request, requested, server);
  }

  async function observed(args: ExecutionArgs, server: ServerContext): Promise<ExecutionResult> {
    const result = await observe(args, () => perform(args, server));
    // Also where little was read, and is answered many times.
    if (isSurelyLarger(result, LARGE_BYTES)) await server.operation.budget.becomeLarge();
    return result;
  }

  async function perform(args: ExecutionArgs, server: ServerContext): Promise<ExecutionResult> {
    if (getOperationAST(args.document, args.operationName)?.operation !== OperationTypeNode.MUTATION)
      return masked(await run({ ...args, contextValue: readingContext(server.operation, dependencies) }), server.logs);
    if (!server.headers.has(KEY_HEADER)) return masked(await run(args), server.logs);
    const { result, isReplayed } = await executeWithKey(idempotency, {
      schema,
      args,
      context: server.operation,
      headers: server.headers,
      log: server.logs.log,
    });
    server.replay.isReplayed = isReplayed;
    return result;
  }

  const plugin: Plugin<object, ServerContext> = {
    onRequestParse({ serverContext, setRequestParser }) {
      setRequestParser(() => serverContext.params.catch((error: unknown) => Promise.reject(toHttpError(error))));
    },
    onParams({ context, setResult }) {
      const { result } = asServer(context);
      if (result) setResult(result);
    },
    onParse({ setParseFn }) {
      setParseFn((source: string) => {
        const document = parseWithinLimits(source);
        checkDocument(document);
        return withoutRepeats(document);
      });
    },
    onValidate({ setValidationFn }) {
      setValidationFn((given: GraphQLSchema, document: DocumentNode, rules?: readonly ValidationRule[]) => {
        // Later errors of a document that is wrong already tell little, and finding them costs.
        const found = validate(given, document, rules, { maxErrors: MAX_VALIDATION_ERRORS });
        const errors = found.map((error) => withoutFoundValue(explained(error)));
        // What is refused is forgotten: Yoga keeps errors as long as their document, and an error holds by its stack all of the request.
        if (errors.length === 0 && document.loc) known.set(document.loc.source.body, document);
        return errors;
      });
    },
    onExecute({ args, context, setExecuteFn }) {
      const server = asServer(context);
      setExecuteFn((executed: ExecutionArgs) => observed({ ...executed, contextValue: server.operation }, server));
      return price(args, server);
    },
    onSubscribe({ args, context, setSubscribeFn }) {
      const server = asServer(context);
      setSubscribeFn(async (executed: ExecutionArgs) => {
        const contextValue = followingContext(server.operation, (server.following.gone = new AbortController()).signal);
        const result = await subscribe({ ...executed, contextValue });
        if (!(Symbol.asyncIterator in result)) return masked(result, server.logs);
        return maskedStream(result, server.logs, contextValue.budget);
      });
      return price(args, server);
    },
    onResultProcess(processed) {
      const { result, serverContext } = processed;
      if (Array.isArray(result) || Symbol.asyncIterator in result) return;
      for (const { extensions } of result.errors ?? []) {
        // A broken limit is 400 in both media types, unlike errors of the language (GraphQL over HTTP, section 6.4.1), as which Yoga marks it.
        if (extensions?.['limit'] !== undefined && extensions['http'])
          Object.assign(extensions['http'], { spec: false });
      }
      processed.setResult({
        ...result,
        extensions: { ...result.extensions, ...told(serverContext) },
        // Kept, since Yoga makes a response around it, out of which a large text would be copied again.
        stringify: (answered: ExecutionResult) => (serverContext.made.json = toJson(answered, serverContext.logs)),
      });
    },
  };

  const yoga = createYoga<ServerContext>({
    schema,
    graphiql: false,
    landingPage: false,
    cors: false,
    multipart: false,
    batching: false,
    logging: false,
    // The request is read by `readGraphQLRequest`, which has the bound.
    maxRequestBodySize: false,
    parserAndValidationCache: {
      documentCache: { ...FORGETFUL, get: (text) => known.get(text) },
      errorCache: FORGETFUL,
    },
    maskedErrors: { errorMessage: 'internal error', maskError: (error) => toGraphQLError(error, gatewayLog) },
    plugins: [plugin],
  });

  /** Runs a known document; undefined when the request needs Yoga, which then may find the result here already. */
  async function runKnown(request: HttpRequest, server: ServerContext): Promise<HttpAnswer | undefined> {
    const mediaType = plainMediaType(request);
    const params = mediaType && (await server.params.catch(() => undefined));
    const document = params && isPlain(params) ? known.get(params.query) : undefined;
    if (!params || !document) return undefined;
    const { operationName, variables } = params;
    if (!isRunAtOnce(document, operationName)) return undefined;
    const result = await runWithin(
      { schema, document, operationName, variableValues: variables, contextValue: server.operation },
      server,
    );
    if (result.errors) {
      server.result = result;
      return undefined;
    }
    const body = toJson({ data: result.data, extensions: told(server) }, server.logs);
    return answerWith(body, { headers: { 'Content-Type': `${mediaType}; charset=utf-8` } });
  }

  async function askYoga({ method, url, headers, signal }: HttpRequest, server: ServerContext): Promise<HttpAnswer> {
    // All that it looks at: it is given what the body says.
    const accept = headers.get('accept');
    const asked = new yoga.fetchAPI.Request(url, { method, signal, headers: accept === null ? {} : { accept } });
    const response = await yoga.handle(asked, server);
    const isStream = /^(?:text\/event-stream|multipart\/mixed)/.test(response.headers.get('content-type') ?? '');
    // Where no media type for events was asked for, Yoga refuses after it has subscribed.
    const { gone } = server.following;
    if (!isStream) gone?.abort();
    // The length is told of what is sent, by who sends it.
    response.headers.delete('content-length');
    const head = { status: response.status, headers: Object.fromEntries(response.headers) };
    if (isStream && response.body) return answerWith(subscriptionBody(response.body, gone), head);
    return answerWith(server.made.json ?? (await response.text()), head);
  }

  async function runWithin(args: ExecutionArgs, server: ServerContext): Promise<ExecutionResult> {
    try {
      await price(args, server);
    } catch (error) {
      return { errors: [toGraphQLError(error, server.logs.log)] };
    }
    return observed(args, server);
  }

  return async (request, openOperation, logs) => {
    const params = readGraphQLRequest(request).then(findDocument);
    // What is wrong with it is said where it is used.
    await params.catch(() => undefined);
    const operation = await openOperation();
    const server: ServerContext = {
      operation,
      logs,
      headers: request.headers,
      following: {},
      made: {},
      replay: { isReplayed: false },
      params,
    };
    const answered = async () => (await runKnown(request, server)) ?? (await askYoga(request, server));
    const answer = await answered().finally(() => {
      // A subscription goes on reading.
      if (server.following.gone?.signal.aborted !== false) operation.budget.close();
    });
    return server.replay.isReplayed ? { ...answer, headers: { ...answer.headers, [REPLAYED_HEADER]: 'true' } } : answer;
  };
}

const MAX_VALIDATION_ERRORS = 20;
const FORGETFUL = { get: () => undefined, set: () => undefined };

function asServer(context: unknown): ServerContext {
  return context as ServerContext;
}

/** @throws GraphQLError `RATE_LIMITED` with status 429 when less is left of the minute's budget. */
async function pay(
  limits: RateLimits,
  request: CostedRequest,
  requested: number,
  server: ServerContext,
): Promise<void> {
  const budget = await limits.payCost(server.operation.actor.keyId, requested);
  const { limit, remaining, resetAt } = budget;
  server.cost = { requested, limit, remaining, resetAt };
  if (!budget.isPaid) throw toHttpError(costExceeded(requested, budget, adviceFor(request, remaining)));
}

function isRunAtOnce(document: DocumentNode, operationName: string | undefined): boolean {
  const operation = getOperationAST(document, operationName)?.operation;
  return operation === OperationTypeNode.QUERY || operation === OperationTypeNode.MUTATION;
}

/** Every answer says which request it was and what it cost. */
function told({ operation, cost }: ServerContext): Record<string, unknown> {
  return { requestId: operation.requestId, ...(cost && { cost }) };
}
