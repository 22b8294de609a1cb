// Sends the operations of GraphiQL: GraphQL over HTTP, and subscriptions over server-sent events.
import { EventSourceParserStream } from 'eventsource-parser/stream';

export interface FetcherParams {
  readonly query: string;
  readonly operationName?: string | null;
  readonly variables?: unknown;
}

interface Nodes<Node> {
  readonly nodes: readonly Node[];
}

/** The parts of a result that the page reads. */
interface Result {
  readonly data?: {
    readonly viewer?: {
      readonly organization?: {
        readonly sessions?: Nodes<{ readonly databaseId: string }> | null;
        readonly eventDefinitions?: Nodes<{ readonly name: string }> | null;
      } | null;
    };
  } | null;
}

const MAX_SHOWN = 50;

function post(params: FetcherParams, headers: Readonly<Record<string, string>>, accept: string, signal?: AbortSignal) {
  return fetch('/graphql', {
    method: 'POST',
    headers: { 'Content-Type': 'application/json', Accept: accept, ...headers },
    body: JSON.stringify(params),
    signal,
  });
}

export async function request(params: FetcherParams, headers: Readonly<Record<string, string>>): Promise<Result> {
  const response = await post(params, headers, 'application/graphql-response+json, application/json');
  const result: Result = await response.json();
  return result;
}

/** Yields the recent events after each event, latest first, because GraphiQL shows only the last result. */
export async function* subscribe(
  params: FetcherParams,
  headers: Readonly<Record<string, string>>,
): AsyncGenerator<object, void, undefined> {
  const gone = new AbortController();
  try {
    const response = await post(params, headers, 'text/event-stream', gone.signal);
    if (!response.body || !response.headers.get('content-type')?.startsWith('text/event-stream')) {
      yield await response.json();
      return;
    }
    const latest: unknown[] = [];
    let received = 0;
    const events = response.body
      .pipeThrough(new TextDecoderStream())
      .pipeThrough(new EventSourceParserStream())
      .getReader();
    for (;;) {
      const { done, value } = await events.read();
      if (done || value.event === 'complete') break;
      received += 1;
      latest.unshift(JSON.parse(value.data));
      latest.length = Math.min(latest.length, MAX_SHOWN);
      yield { received, latestFirst: [...latest] };
    }
    yield { received, ended: true, latestFirst: latest };
  } finally {
    gone.abort();
  }
}
