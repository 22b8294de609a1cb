import type { ExecutionResult } from 'graphql';
import type { GraphQLParams } from 'graphql-yoga';
import type { HttpAnswer, HttpRequest } from '../../core/http/messages.ts';
import type { OperationContext } from '../../core/operation.ts';
import { findPublishedDocument, provideDocumentCheck } from '../../domains/operation-manifests/public.ts';
import type { RateLimits } from '../admission/rate-limits.ts';
import type { Dependencies } from '../dependencies.ts';
import { type Result, answerResult, notAcceptable } from './answer.ts';
import { masked, toHttpError } from './errors.ts';
import { type GraphQLCall, createExecution } from './execution.ts';
import { JSON_TYPE, MEDIA_TYPES, resultTypeFor } from './media-types.ts';
import { type Asking, type FindPublished, createDocuments } from './documents.ts';
import { checkManifestDocument } from './manifest-check.ts';
import { createPipeline } from './pipeline.ts';
import { namedClientOf, readGraphQLRequest, requireQuery } from './request.ts';

/** Runs a document as a GraphQL request does: with the same rights, cost and limits. Subscriptions are refused. */
export type RunDocument = (params: GraphQLParams, request: HttpRequest, call: GraphQLCall) => Promise<ExecutionResult>;

export interface GraphQLApi {
  readonly answer: AnswerGraphQL;
  readonly run: RunDocument;
}

type AnswerGraphQL = (
  request: HttpRequest,
  /** Creates the context after the body was read, with the caller's rights at that time. */
  openOperation: () => OperationContext | Promise<OperationContext>,
  call: Omit<GraphQLCall, 'operation' | 'headers'> & { readonly requestId: string },
) => Promise<HttpAnswer>;

/** GraphQL over HTTP for authenticated callers: reads a request, runs the pipeline, and answers. */
export function createGraphQLApi(dependencies: Dependencies, limits: RateLimits | undefined): GraphQLApi {
  const { config, trustedDocuments, bounds } = dependencies;
  const findDocument = createDocuments(trustedDocuments, config.PERSISTED_OPERATIONS_MODE);
  provideDocumentCheck(checkManifestDocument);
  const runPipeline = createPipeline(createExecution(dependencies, limits));

  const askingOf = ({ headers }: HttpRequest, operation: OperationContext): Asking => {
    const organizationId = operation.actor.organization?.id;
    const named = namedClientOf(headers);
    const findPublished: FindPublished = async (id) =>
      organizationId === undefined ? undefined : findPublishedDocument(operation, organizationId, id, named);
    return { named, findPublished };
  };

  const resultOf = async (given: GraphQLParams, request: HttpRequest, call: GraphQLCall): Promise<Result> => {
    try {
      const found = findDocument(given, () => askingOf(request, call.operation));
      const { params, ...asked } = requireQuery(found instanceof Promise ? await found : found);
      return await runPipeline(params, request, { ...call, ...asked });
    } catch (error) {
      return { errors: [toHttpError(error)] };
    }
  };

  const answerGraphQL: AnswerGraphQL = async (request, openOperation, { requestId, logs, onWrite }) => {
    const { headers } = request;
    const mediaType = resultTypeFor(headers.get('accept'));
    const options = { mediaType: mediaType ?? JSON_TYPE, requestId, maxBytes: bounds.answerBytes, logs };
    if (mediaType === undefined) {
      const message = `Answers can be ${MEDIA_TYPES.join(', ')}; accept one of them.`;
      return answerResult({ errors: [notAcceptable(message)] }, options);
    }
    let params: GraphQLParams | undefined;
    let fault: unknown;
    try {
      params = await readGraphQLRequest(request);
    } catch (error) {
      // Reported after the rights were checked again.
      fault = error;
    }
    const opening = openOperation();
    const operation = opening instanceof Promise ? await opening : opening;
    const result: Result = params
      ? await resultOf(params, request, { operation, headers, logs, onWrite })
      : { errors: [toHttpError(fault)] };
    // A subscription continues to read, so its budget stays open.
    if (!result || !(Symbol.asyncIterator in result)) operation.budget.close();
    return answerResult(result, options);
  };

  const run: RunDocument = async (params, request, call) => {
    try {
      const result = await runPipeline(params, request, call);
      if (!result || Symbol.asyncIterator in result) throw new Error('only queries and mutations can be run');
      return masked(result, call.logs);
    } catch (error) {
      return { errors: [toHttpError(error)] };
    }
  };
  return { answer: answerGraphQL, run };
}
