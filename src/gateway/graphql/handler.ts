import type { ExecutionResult } from 'graphql';
import type { GraphQLParams } from 'graphql-yoga';
import type { HttpAnswer, HttpRequest } from '../../core/http/messages.ts';
import type { OperationContext } from '../../core/operation.ts';
import { findPublishedDocument } from '../../domains/operation-manifests/public.ts';
import type { RateLimits } from '../admission/rate-limits.ts';
import type { Dependencies } from '../dependencies.ts';
import { type Result, answerResult, notAcceptable } from './answer.ts';
import { masked, toHttpError } from './errors.ts';
import { type GraphQLCall, createExecution } from './execution.ts';
import { JSON_TYPE, MEDIA_TYPES, resultTypeFor } from './media-types.ts';
import { type FindPublished, createDocuments } from './documents.ts';
import { namedClientOf } from './named-client.ts';
import { createPipeline } from './pipeline.ts';
import { readGraphQLRequest, requireQuery } from './request.ts';

/** Runs a document as a GraphQL request does: with the same rights, cost and limits. Subscriptions are refused. */
export type RunDocument = (params: GraphQLParams, request: HttpRequest, call: GraphQLCall) => Promise<ExecutionResult>;

export interface GraphQLApi {
  readonly answer: AnswerGraphQL;
  readonly run: RunDocument;
}

type AnswerGraphQL = (
  request: HttpRequest,
  /** Creates the context after the body was read, with the caller's rights at that time. */
  openOperation: () => Promise<OperationContext>,
  call: Omit<GraphQLCall, 'operation' | 'headers'> & { readonly requestId: string },
) => Promise<HttpAnswer>;

/** GraphQL over HTTP for authenticated callers: reads a request, runs the pipeline, and answers. */
export function createGraphQLApi(dependencies: Dependencies, limits: RateLimits | undefined): GraphQLApi {
  const { config, trustedDocuments, bounds } = dependencies;
  const findDocument = createDocuments(trustedDocuments, config.PERSISTED_OPERATIONS_MODE);
  const runPipeline = createPipeline(createExecution(dependencies, limits));

  const findFor = (params: GraphQLParams, { headers }: HttpRequest, operation: OperationContext) => {
    const organizationId = operation.actor.organization?.id;
    const named = namedClientOf(headers);
    const findPublished: FindPublished = async (id) =>
      organizationId && (await findPublishedDocument(operation, organizationId, id, named));
    return findDocument(params, { named, findPublished });
  };

  const answerGraphQL: AnswerGraphQL = async (request, openOperation, { requestId, ...call }) => {
    const mediaType = resultTypeFor(request.headers.get('accept'));
    const { logs } = call;
    const answer = (result: Result) =>
      answerResult(result, { mediaType: mediaType ?? JSON_TYPE, requestId, maxBytes: bounds.answerBytes, logs });
    if (mediaType === undefined)
      return answer({ errors: [notAcceptable(`Answers can be ${MEDIA_TYPES.join(', ')}; accept one of them.`)] });
    const reading = readGraphQLRequest(request);
    // Errors of the request are reported after the rights were checked again.
    await reading.catch(() => undefined);
    const operation = await openOperation();
    let result: Result;
    try {
      const found = findFor(await reading, request, operation);
      const params = requireQuery(found instanceof Promise ? await found : found);
      result = await runPipeline(params, request, { operation, headers: request.headers, ...call });
    } catch (error) {
      result = { errors: [toHttpError(error)] };
    }
    // A subscription continues to read, so its budget stays open.
    if (!result || !(Symbol.asyncIterator in result)) operation.budget.close();
    return answer(result);
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
