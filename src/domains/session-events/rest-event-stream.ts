import { eventStream, writeError, writeEvent } from '../../core/http/server-sent-events.ts';
import type { OperationContext } from '../../core/operation.ts';
import type { Tailed } from './live-tail.ts';
import { eventToJson } from './rest-document.ts';

/**
 * Converts pages of events to server-sent events. The SSE id of an event is its cursor, so that a client can resume.
 * `event: end` follows the last event. `event: error` contains the reason when the stream ends early.
 */
export function toEventStream(
  { toDomainError }: Pick<OperationContext, 'toDomainError'>,
  pages: Tailed['pages'],
  onCancel: () => void,
): ReadableStream<Uint8Array> {
  return eventStream(partsOf(pages, toDomainError), onCancel);
}

async function* partsOf(
  pages: Tailed['pages'],
  toDomainError: OperationContext['toDomainError'],
): AsyncGenerator<string, void, undefined> {
  try {
    let next = await pages.next();
    for (; next.done !== true; next = await pages.next())
      yield next.value.map((event) => writeEvent({ id: event.id, data: eventToJson(event) })).join('');
    // With the id, a client that reconnects by itself resumes at the end, even if a filter excludes the last events.
    yield writeEvent({ event: 'end', id: next.value, data: '{}' });
  } catch (error) {
    yield writeError(toDomainError(error).message);
  }
}
