import { type ExecutionResult, GraphQLError } from 'graphql';
import { type FetchAPI, type YogaServerInstance, processRegularResult } from 'graphql-yoga';
import type { Logger } from 'pino';
import { type HttpAnswer, answerWith } from '../../core/http/messages.ts';
import { EVENT_STREAM_HEADERS, STOP_RECONNECTING, writeEvent } from '../../core/http/server-sent-events.ts';
import { masked, toJson } from './errors.ts';
import { EVENT_STREAM, JSON_TYPE } from './media-types.ts';
import { complete, isAfterTheEnd, subscriptionStream } from './subscription-stream.ts';

/** Converts the result of an execution, or the error that prevented it, to an HTTP response. */

export type Result = Awaited<ReturnType<YogaServerInstance<object, object>['getResultForParams']>>;

interface AnswerOptions {
  /** Media type of a result that is not a stream. */
  readonly mediaType: string;
  readonly requestId: string;
  readonly maxBytes: number;
  readonly logs: { readonly log: Logger };
}

/** Replaces the `Response` of the fetch API, which costs as much as a small query. */
class PlainResponse {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string | AsyncIterable<Uint8Array> | null;

  constructor(body: PlainResponse['body'], init: { status: number; headers: Readonly<Record<string, string>> }) {
    this.status = init.status;
    this.headers = init.headers;
    this.body = body;
  }
}

// The part of the fetch API that Yoga's result processor uses.
const fetchAPI = { Response: PlainResponse } as unknown as FetchAPI;

/** Yoga determines the status and the headers. The events of a subscription are written here, with their ids. */
export function answerResult(result: Result, options: AnswerOptions): HttpAnswer {
  if (result !== undefined && isAfterTheEnd(result)) return STOP_RECONNECTING;
  if (result !== undefined && Symbol.asyncIterator in result) {
    const events = subscriptionStream(result as AsyncIterable<ExecutionResult, unknown>, (event) =>
      toJson(withoutStatus(event), options.logs, options.maxBytes),
    );
    return answerWith(events, { headers: EVENT_STREAM_HEADERS });
  }
  const finished = finishedResult(result ?? {}, options);
  const isEvent = options.mediaType === EVENT_STREAM;
  const regular = processRegularResult(finished, fetchAPI, isEvent ? JSON_TYPE : options.mediaType);
  const { status, headers, body } = regular as unknown as PlainResponse;
  if (!isEvent || typeof body !== 'string') return answerWith(body, { status, headers });
  // One text, which is counted until the client has read it. Yoga would send it as a stream.
  const event = `:\n\n${writeEvent({ event: 'next', data: body })}${complete()}`;
  return answerWith(event, {
    status,
    headers: { ...headers, 'Content-Type': EVENT_STREAM, 'Cache-Control': 'no-cache' },
  });
}

/** An event has no HTTP status, which an error contains for Yoga. */
function withoutStatus(event: ExecutionResult): ExecutionResult {
  for (const { extensions } of event.errors ?? []) delete extensions['http'];
  return event;
}

/** Adds the request id to the result. */
function finishedResult(result: ExecutionResult, { requestId, logs, maxBytes }: AnswerOptions) {
  const finished = masked(result, logs);
  for (const error of finished.errors ?? []) correctStatus(error);
  return {
    ...finished,
    extensions: { requestId, ...finished.extensions },
    stringify: (answered: ExecutionResult) => toJson(answered, logs, maxBytes),
  };
}

/**
 * Corrects what Yoga says of errors of the request (GraphQL over HTTP, section 6.4.1). An exceeded limit is 400 in both media types; an
 * operation that the document does not contain is 200 in `application/json`, like every other fault of the document.
 */
function correctStatus({ extensions }: GraphQLError): void {
  const http: { status?: number; spec?: boolean } | undefined = extensions['http'] ?? undefined;
  if (http === undefined) return;
  if (extensions['limit'] !== undefined) http.spec = false;
  if (extensions['code'] === 'OPERATION_RESOLUTION_FAILURE') http.spec = true;
  if (http.status === 405) extensions['code'] = 'METHOD_NOT_ALLOWED';
}

/** 406: the client accepts none of the offered media types. */
export const notAcceptable = (message: string): GraphQLError =>
  new GraphQLError(message, { extensions: { code: 'NOT_ACCEPTABLE', http: { status: 406 } } });
