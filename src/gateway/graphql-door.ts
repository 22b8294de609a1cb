import { type DocumentNode, type ExecutionArgs, type ExecutionResult, GraphQLError, subscribe, validate } from 'graphql';
import { type Plugin, createYoga } from 'graphql-yoga';
import { LRUCache } from 'lru-cache';
import type { Logger } from 'pino';
import { DomainError } from '../core/errors.ts';
import type { OperationContext } from '../core/operation.ts';
import { stringifyWithRawJson } from '../core/raw-json.ts';
import type { Dependencies } from './dependencies.ts';
import { createExecutor } from './executor.ts';
import { toDomainError } from './failures.ts';
import { checkCost } from './graphql-cost.ts';
import { LIMITS, checkDocument, parseWithinLimits } from './graphql-limits.ts';
import { readGraphQLRequest } from './graphql-request.ts';
import { schema } from './schema.ts';

/** What the door is told with each request; resolvers get the operation's context. */
interface ServerContext {
  readonly operation: OperationContext;
  /** Writes the request id into every line. */
  readonly log: Logger;
  /** What the operation cost, once that is known. */
  cost?: number;
}

export type GraphQLDoor = (request: Request, operation: OperationContext, log: Logger) => Promise<Response>;

/** The GraphQL door: GraphQL over HTTP for callers who have been authenticated. */
export function createGraphQLDoor(dependencies: Dependencies): GraphQLDoor {
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
    parserAndValidationCache: { documentCache: createDocumentCache(), errorCache: { get: () => undefined, set: () => undefined } },
    maskedErrors: { errorMessage: 'internal error', maskError: (error) => toGraphQLError(error, dependencies.log) },
    plugins: [limits(dependencies), extensions()],
  });
  return async (request, operation, log) => yoga.handle(request, { operation, log });
}

/** Parsed documents, bounded by the memory they hold, which one document could otherwise fill: about 450 bytes a token. */
function createDocumentCache(): LRUCache<string, DocumentNode> {
  return new LRUCache({ maxSize: 32 * 1024 * 1024, sizeCalculation: ({ tokenCount = LIMITS.tokens }, text) => 450 * tokenCount + 2 * text.length + 1000 });
}

/** The published limits, at the one place that every way to send a document passes. */
function limits({ metrics }: Dependencies): Plugin<object, ServerContext> {
  const run = createExecutor(schema);
  return {
    onRequestParse({ setRequestParser }) {
      setRequestParser(async (request) => {
        try {
          return await readGraphQLRequest(request);
        } catch (error) {
          throw error instanceof DomainError ? httpError(error) : error;
        }
      });
    },
    onParse({ setParseFn }) {
      setParseFn((source: string) => {
        const document = parseWithinLimits(source);
        checkDocument(document);
        return document;
      });
    },
    onValidate({ setValidationFn }) {
      // Later errors of a document that is wrong already tell little, and finding them costs.
      setValidationFn((...[given, document, rules]) => validate(given, document, rules, { maxErrors: MAX_VALIDATION_ERRORS }));
    },
    onExecute({ args, context, setExecuteFn }) {
      const server = price(args, context, metrics);
      // Resolvers see the operation's context and nothing of the door.
      setExecuteFn(async (executed: ExecutionArgs) => masked(await run({ ...executed, contextValue: server.operation }), server.log));
    },
    onSubscribe({ args, context, setSubscribeFn }) {
      const server = price(args, context, metrics);
      setSubscribeFn(async (executed: ExecutionArgs) => {
        const result = await subscribe({ ...executed, contextValue: server.operation });
        return Symbol.asyncIterator in result ? maskedStream(result, server.log) : masked(result, server.log);
      });
    },
  };
}

/** Refuses an operation that costs too much, before its first resolver. */
function price(args: ExecutionArgs, context: unknown, metrics: Dependencies['metrics']): ServerContext {
  const server = context as ServerContext;
  server.cost = checkCost({ schema, document: args.document, operationName: args.operationName, variables: args.variableValues });
  metrics.cost.observe(server.cost);
  return server;
}

const MAX_VALIDATION_ERRORS = 20;

/** Says in every answer which request it was and what it cost. */
function extensions(): Plugin<object, ServerContext> {
  return {
    onResultProcess({ result, setResult, serverContext }) {
      if (Array.isArray(result) || Symbol.asyncIterator in result) return;
      const { operation, cost } = serverContext;
      for (const { extensions: told } of result.errors ?? []) {
        // A broken limit is 400 in both media types, unlike errors of the language (GraphQL over HTTP, section 6.4.1), as which Yoga marks it.
        if (told?.['limit'] !== undefined && told['http']) Object.assign(told['http'], { spec: false });
      }
      const told = { ...result.extensions, requestId: operation.requestId, ...(cost !== undefined && { cost: { requested: cost, limit: LIMITS.cost } }) };
      setResult({ ...result, extensions: told, stringify: stringifyWithRawJson });
    },
  };
}

async function* maskedStream(results: AsyncIterable<ExecutionResult>, log: Logger): AsyncGenerator<ExecutionResult, void, undefined> {
  try {
    for await (const result of results) yield masked(result, log);
  } catch (error) {
    yield { errors: [toGraphQLError(error, log)] };
  }
}

function masked(result: ExecutionResult, log: Logger): ExecutionResult {
  return result.errors ? { ...result, errors: result.errors.map((error) => toGraphQLError(error, log)) } : result;
}

/**
 * What a caller sees of an error: errors of the language itself as they are; domain errors with their code; a failure of ours without detail.
 */
function toGraphQLError(error: unknown, log: Logger): GraphQLError {
  const original = error instanceof GraphQLError ? error.originalError : error;
  if (error instanceof GraphQLError && (original == null || original instanceof GraphQLError)) return error;
  const domain = toDomainError(original, log);
  const { nodes, path } = error instanceof GraphQLError ? error : {};
  const http = domain.kind === 'unavailable' && { http: { status: domain.status, headers: domain.headers } };
  return new GraphQLError(domain.message, { nodes, path, extensions: { ...extensionsOf(domain), ...http } });
}

function extensionsOf({ code, path }: DomainError): Record<string, unknown> {
  return { code, ...(path.length > 0 && { path }) };
}

function httpError(error: DomainError): GraphQLError {
  return new GraphQLError(error.message, { extensions: { ...extensionsOf(error), http: { status: error.status, headers: error.headers } } });
}

/** An error that stopped a request before its document was read, in GraphQL's form. */
export function answerGraphQLError(error: DomainError, requestId: string): Response {
  const body = { errors: [{ message: error.message, extensions: extensionsOf(error) }], extensions: { requestId } };
  return Response.json(body, { status: error.status, headers: error.headers });
}
