import { type ExecutionResult, GraphQLError } from 'graphql';
import { type FetchAPI, type YogaServerInstance, getSSEProcessor, processRegularResult } from 'graphql-yoga';
import type { Logger } from 'pino';
import { type HttpAnswer, answerWith } from '../../core/http/messages.ts';
import { EVENT_STREAM_HEADERS } from '../../core/http/server-sent-events.ts';
import { masked, toJson } from './errors.ts';
import { EVENT_STREAM } from './media-types.ts';
import { subscriptionStream } from './subscription-stream.ts';

/** Converts the result of an execution, or the error that prevented it, to an HTTP response. */

export type Result = Awaited<ReturnType<YogaServerInstance<object, object>['getResultForParams']>>;

interface AnswerOptions {
  /** Media type of a result that is not a stream. */
  readonly mediaType: string;
  readonly requestId: string;
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

// The parts of the fetch API that Yoga's result processors use.
const fetchAPI = { Response: PlainResponse, ReadableStream, TextEncoder } as unknown as FetchAPI;
const processEvents = getSSEProcessor();

/** Yoga determines the status and the headers. The events of a subscription are written here, with their ids. */
export function answerResult(result: Result, options: AnswerOptions): HttpAnswer {
  if (result !== undefined && Symbol.asyncIterator in result) {
    const events = subscriptionStream(result, (event) => toJson(event, options.logs));
    return answerWith(events, { headers: EVENT_STREAM_HEADERS });
  }
  const finished = finishedResult(result ?? {}, options);
  const response =
    options.mediaType === EVENT_STREAM
      ? processEvents(finished, fetchAPI, EVENT_STREAM)
      : processRegularResult(finished, fetchAPI, options.mediaType);
  const { status, headers, body } = response as unknown as PlainResponse;
  return answerWith(body, { status, headers });
}

/** Adds the request id to the result. */
function finishedResult(result: ExecutionResult, { requestId, logs }: AnswerOptions) {
  const finished = masked(result, logs);
  for (const error of finished.errors ?? []) markLimit(error);
  return {
    ...finished,
    extensions: { requestId, ...finished.extensions },
    stringify: (answered: ExecutionResult) => toJson(answered, logs),
  };
}

/** An exceeded limit is 400 in both media types. Yoga would treat it as a GraphQL error, which is 200 in one of them (GraphQL over HTTP, section 6.4.1). */
function markLimit({ extensions }: GraphQLError): void {
  if (extensions['limit'] !== undefined && extensions['http']) Object.assign(extensions['http'], { spec: false });
}

/** 406: the client accepts none of the offered media types. */
export function notAcceptable(message: string): GraphQLError {
  return new GraphQLError(message, { extensions: { code: 'NOT_ACCEPTABLE', http: { status: 406 } } });
}
