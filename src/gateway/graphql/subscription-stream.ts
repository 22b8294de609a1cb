import type { ExecutionResult } from 'graphql';
import { END_ID, eventStream, writeEvent } from '../../core/http/server-sent-events.ts';

/** The property with the id of a result's event, if the events of the subscription have ids. */
const EVENT_ID = Symbol('event id');

/** The last event of every stream, with the id to resume from: a client that reconnects by itself is then told to stop. */
export const complete = (id: string = END_ID) => `event: complete\nid: ${id}\ndata:\n\n`;

/** The property of a result that says that the client has resumed after the end. */
const ENDED = Symbol('ended');

/** The result for a client that resumes after the end of a stream. */
export const AFTER_THE_END: ExecutionResult & { readonly [ENDED]: true } = { [ENDED]: true };

export const isAfterTheEnd = (result: object): boolean => ENDED in result;

type FollowedResult = ExecutionResult & { readonly [EVENT_ID]?: string | undefined };

/** Adds the id of the event to a result. It is not part of the JSON. */
export const withEventId = (result: ExecutionResult, id: string | undefined): FollowedResult =>
  id === undefined ? result : { ...result, [EVENT_ID]: id };

/**
 * Converts the results of a subscription to server-sent events (GraphQL over SSE, distinct connections mode). Each has
 * the id of its event, so that a client can resume with `Last-Event-ID`.
 */
export function subscriptionStream(
  results: AsyncIterable<FollowedResult, unknown>,
  toJson: (result: ExecutionResult) => string,
): ReadableStream<Uint8Array> {
  const source = results[Symbol.asyncIterator]();
  return eventStream(partsOf(source, toJson), () => void source.return?.());
}

async function* partsOf(
  source: AsyncIterator<FollowedResult, unknown>,
  toJson: (result: ExecutionResult) => string,
): AsyncGenerator<string, void, undefined> {
  let next = await source.next();
  for (; next.done !== true; next = await source.next())
    yield writeEvent({ event: 'next', id: next.value[EVENT_ID], data: toJson(next.value) });
  yield complete(typeof next.value === 'string' ? next.value : undefined);
}
