import type { ExecutionResult } from 'graphql';
import { eventStream, writeEvent } from '../../core/http/server-sent-events.ts';

/** The id of the event that a result is of, where the events of the subscription have ids. */
const EVENT_ID = Symbol('event id');

type FollowedResult = ExecutionResult & { readonly [EVENT_ID]?: string | undefined };

/** Marks a result with the id of its event. JSON leaves it out. */
export function withEventId(result: ExecutionResult, id: string | undefined): FollowedResult {
  return id === undefined ? result : { ...result, [EVENT_ID]: id };
}

/**
 * The results of a subscription as server-sent events (GraphQL over SSE, distinct connections mode). A result carries the id of its event, so that
 * a client goes on behind it with `Last-Event-ID`.
 */
export function subscriptionStream(
  results: AsyncIterable<FollowedResult>,
  toJson: (result: ExecutionResult) => string,
): ReadableStream<Uint8Array> {
  const source = results[Symbol.asyncIterator]();
  return eventStream(partsOf(source, toJson), () => void source.return?.());
}

async function* partsOf(
  source: AsyncIterator<FollowedResult>,
  toJson: (result: ExecutionResult) => string,
): AsyncGenerator<string, void, undefined> {
  for (let next = await source.next(); next.done !== true; next = await source.next())
    yield writeEvent({ event: 'next', id: next.value[EVENT_ID], data: toJson(next.value) });
  yield 'event: complete\ndata:\n\n';
}
