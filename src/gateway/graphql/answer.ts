import { type ExecutionResult, GraphQLError } from 'graphql';
import { type FetchAPI, type YogaServerInstance, getSSEProcessor, processRegularResult } from 'graphql-yoga';
import type { Logger } from 'pino';
import { type HttpAnswer, answerWith } from '../../core/http/messages.ts';
import { EVENT_STREAM_HEADERS } from '../../core/http/server-sent-events.ts';
import { masked, toJson } from './errors.ts';
import { EVENT_STREAM } from './media-types.ts';
import { subscriptionStream } from './subscription-stream.ts';

/** What an execution, or what stopped it, becomes as an HTTP answer. */

export type Result = Awaited<ReturnType<YogaServerInstance<object, object>['getResultForParams']>>;

interface AnswerOptions {
  /** Of a result that is no stream. */
  readonly mediaType: string;
  readonly requestId: string;
  readonly logs: { readonly log: Logger };
}

/** Takes the place of fetch's `Response`, which costs as much as a small query. */
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

// All that Yoga's processors use of the fetch API.
const fetchAPI = { Response: PlainResponse, ReadableStream, TextEncoder } as unknown as FetchAPI;
const processEvents = getSSEProcessor();

/** Yoga finds the status and the headers that errors ask for. The events of a subscription are written here, with their ids. */
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

/** Every answer says which request it was. */
function finishedResult(result: ExecutionResult, { requestId, logs }: AnswerOptions) {
  const finished = masked(result, logs);
  for (const error of finished.errors ?? []) markLimit(error);
  return {
    ...finished,
    extensions: { requestId, ...finished.extensions },
    stringify: (answered: ExecutionResult) => toJson(answered, logs),
  };
}

/** A broken limit is 400 in both media types, unlike errors of the language (GraphQL over HTTP, section 6.4.1), as which Yoga marks it. */
function markLimit({ extensions }: GraphQLError): void {
  if (extensions['limit'] !== undefined && extensions['http']) Object.assign(extensions['http'], { spec: false });
}

/** 406: none of the media types that the client accepts fits. */
export function notAcceptable(message: string): GraphQLError {
  return new GraphQLError(message, { extensions: { code: 'NOT_ACCEPTABLE', http: { status: 406 } } });
}
