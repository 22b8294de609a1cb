import { type DocumentNode, type ExecutionArgs, type ExecutionResult, GraphQLError, execute } from 'graphql';
import { type Plugin, createYoga } from 'graphql-yoga';
import { LRUCache } from 'lru-cache';
import type { Logger } from 'pino';
import { DomainError } from '../core/errors.ts';
import type { OperationContext } from '../core/operation.ts';
import { MAX_BODY_BYTES } from './body.ts';
import type { Dependencies } from './dependencies.ts';
import { toDomainError } from './failures.ts';
import { checkCost } from './graphql-cost.ts';
import { LIMITS, checkDocument, parseWithinLimits } from './graphql-limits.ts';
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
    maxRequestBodySize: MAX_BODY_BYTES,
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
  return {
    onRequestParse({ request }) {
      if (request.method === 'POST' && !/^application\/(?:json|graphql\+json)\b/i.test(request.headers.get('content-type') ?? '')) {
        // Form-encoded and plain-text posts are what other sites can make a browser send.
        throw httpError(new DomainError('unsupportedMediaType', 'the body must be sent as application/json'));
      }
    },
    onParse({ setParseFn }) {
      setParseFn((source: string) => {
        const document = parseWithinLimits(source);
        checkDocument(document);
        return document;
      });
    },
    onExecute({ args, context, setExecuteFn }) {
      const server = context as unknown as ServerContext;
      server.cost = checkCost({ schema, document: args.document, operationName: args.operationName, variables: args.variableValues });
      metrics.cost.observe(server.cost);
      // graphql's own executor is the faster one; resolvers see the operation's context and nothing of the door.
      setExecuteFn(async (executed: ExecutionArgs) => masked(await execute({ ...executed, contextValue: server.operation }), server.log));
    },
  };
}

/** Says in every answer which request it was and what it cost. */
function extensions(): Plugin<object, ServerContext> {
  return {
    onExecutionResult({ result, setResult, context }) {
      if (!result || Array.isArray(result) || Symbol.asyncIterator in result) return;
      const { operation, cost } = context as unknown as ServerContext;
      setResult({ ...result, extensions: { ...result.extensions, requestId: operation.requestId, ...(cost !== undefined && { cost: { requested: cost, limit: LIMITS.cost } }) } });
    },
  };
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
  return new GraphQLError(domain.message, { nodes, path, extensions: extensionsOf(domain) });
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
