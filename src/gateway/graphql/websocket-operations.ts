import { type ExecutionArgs, type ExecutionResult, GraphQLError, type GraphQLFormattedError, parse } from 'graphql';
import type { SubscribePayload } from 'graphql-ws';
import { createParser } from 'eventsource-parser';
import { CODE_OF } from '../../core/errors.ts';
import type { HttpAnswer, HttpRequest } from '../../core/http/messages.ts';
import { IDEMPOTENCY_KEY_HEADER, MAX_IDEMPOTENCY_KEY } from '../request-headers.ts';
import { schema } from '../schema.ts';
import { EVENT_STREAM, RESPONSE_TYPE } from './media-types.ts';
import { type Connection, requestOf } from './websocket-connection.ts';

/** The library wants a document for each operation. What it would execute has been executed. */
const EXECUTED = parse('{ __typename }');

/** An operation that was refused, or ended with an error. */
class Refused extends GraphQLError {
  readonly formatted: readonly GraphQLFormattedError[];

  constructor(formatted: readonly GraphQLFormattedError[]) {
    super('refused');
    this.formatted = formatted;
  }
}

export interface OperationParts {
  /** Answers a request over HTTP. */
  readonly answer: (request: HttpRequest) => Promise<HttpAnswer>;
  readonly maxOperationsOfSocket: number;
}

/** Runs an operation. Its result, or the stream of its results, is in the context of what is returned. */
export async function startOperation(
  connection: Connection,
  payload: SubscribePayload,
  { answer, maxOperationsOfSocket }: OperationParts,
): Promise<ExecutionArgs | readonly GraphQLError[]> {
  const headers = new Map(connection.headers)
    .set('content-type', 'application/json')
    .set('accept', `${RESPONSE_TYPE}, ${EVENT_STREAM};q=0.9`);
  const fault =
    connection.running.size < maxOperationsOfSocket
      ? faultOfKey(payload)
      : { message: `at most ${maxOperationsOfSocket} operations of a WebSocket at once`, code: CODE_OF.rateLimited };
  if (fault) return [new Refused([{ message: fault.message, extensions: { code: fault.code } }])];
  const { idempotencyKey } = payload.extensions ?? {};
  if (typeof idempotencyKey === 'string') headers.set(IDEMPOTENCY_KEY_HEADER.toLowerCase(), idempotencyKey);
  const operation = new AbortController();
  connection.running.add(operation);
  const end = () => {
    connection.running.delete(operation);
    operation.abort();
  };
  try {
    const request = requestOf(connection, { headers, signal: operation.signal, text: JSON.stringify(payload) });
    const { body, onClose } = await answer(request);
    if (body !== null && typeof body === 'object' && Symbol.asyncIterator in body)
      return started(new Results(resultsOf(body), end));
    const json = typeof body === 'string' ? body : Buffer.from(body ?? '').toString();
    const errors = errorsOf(json);
    if (!errors) return started(new Results(onlyResult(json, onClose), end));
    onClose?.();
    end();
    return [new Refused(errors)];
  } catch (error) {
    end();
    throw error;
  }
}

function faultOfKey({ extensions }: SubscribePayload): { readonly message: string; readonly code: string } | undefined {
  const key = extensions?.['idempotencyKey'] ?? undefined;
  const isValid = typeof key === 'string' && key !== '' && key.length <= MAX_IDEMPOTENCY_KEY;
  if (key === undefined || isValid) return undefined;
  const message = `extensions.idempotencyKey: must be a string of 1 to ${MAX_IDEMPOTENCY_KEY} characters`;
  return { message, code: CODE_OF.invalid };
}

const started = (results: Results): ExecutionArgs => ({ schema, document: EXECUTED, contextValue: results });

export function startedBy({ contextValue }: ExecutionArgs): Results {
  // Set by `started`.
  return contextValue as Results;
}

/** The results of an operation for the library, which calls `return` when the client or the socket ends the operation. */
class Results implements AsyncGenerator<ExecutionResult, void, undefined> {
  readonly #json: AsyncGenerator<string, void, undefined>;
  readonly #end: () => void;

  constructor(json: AsyncGenerator<string, void, undefined>, end: () => void) {
    this.#json = json;
    this.#end = end;
  }

  async next(): Promise<IteratorResult<ExecutionResult, void>> {
    try {
      const { done, value } = await this.#json.next();
      if (done !== true) return { done: false, value: { extensions: { json: value } } };
    } catch (error) {
      this.#end();
      throw error;
    }
    this.#end();
    return { done: true, value: undefined };
  }

  /** Ends the source first: a generator that waits for its source cannot return. */
  async return(): Promise<IteratorResult<ExecutionResult, void>> {
    this.#end();
    await this.#json.return(undefined);
    return { done: true, value: undefined };
  }

  async throw(error: unknown): Promise<never> {
    await this.return();
    throw error;
  }

  [Symbol.asyncIterator](): this {
    return this;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.return();
  }
}

/** `onClose` is called when the result was sent, or will not be sent. */
async function* onlyResult(json: string, onClose: HttpAnswer['onClose']): AsyncGenerator<string, void, undefined> {
  try {
    yield await Promise.resolve(json);
  } finally {
    onClose?.();
  }
}

/** The JSON of each result in a stream of server-sent events. @throws Refused for an event with only errors, which is the last one */
async function* resultsOf(body: AsyncIterable<Uint8Array>): AsyncGenerator<string, void, undefined> {
  const decoder = new TextDecoder();
  let received: string[] = [];
  const parser = createParser({
    onEvent: ({ event, data }) => {
      if (event === 'next') received.push(data);
    },
  });
  for await (const part of body) {
    parser.feed(decoder.decode(part, { stream: true }));
    const results = received;
    received = [];
    for (const json of results) {
      const errors = errorsOf(json);
      if (errors) throw new Refused(errors);
      yield json;
    }
  }
}

interface Answered {
  readonly data?: unknown;
  readonly errors?: readonly GraphQLFormattedError[];
  readonly extensions?: { readonly requestId?: string };
}

/** The errors of a result without data, with the request id, for which a message with errors has no other place. */
function errorsOf(json: string): readonly GraphQLFormattedError[] | undefined {
  if (!json.startsWith('{"errors"')) return undefined;
  // Written by the gateway.
  const { data, errors = [], extensions: { requestId } = {} } = JSON.parse(json) as Answered;
  if (data !== undefined) return undefined;
  return requestId === undefined
    ? errors
    : errors.map((error) => ({ ...error, extensions: { ...error.extensions, requestId } }));
}

/** The errors of a message with errors. */
export function refusalOf(error: GraphQLError): readonly GraphQLFormattedError[] {
  const refused = error instanceof Refused ? error : error.cause;
  return refused instanceof Refused
    ? refused.formatted
    : [{ message: 'internal error', extensions: { code: CODE_OF.internal } }];
}
