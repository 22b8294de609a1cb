import { eventStream, writeEvent } from '../../core/http/server-sent-events.ts';
import type { OperationContext } from '../../core/operation.ts';
import type { SessionEventRow } from './queries.ts';
import { eventToJson } from './rest-document.ts';

/**
 * Converts pages of events to server-sent events. The SSE id of an event is its cursor, so that a client can resume. `event: end` follows the
 * last event. `event: error` contains the reason when the stream ends early.
 */
export function toEventStream(
  { toDomainError }: Pick<OperationContext, 'toDomainError'>,
  pages: AsyncGenerator<readonly SessionEventRow[], void, undefined>,
  onCancel: () => void,
): ReadableStream<Uint8Array> {
  return eventStream(partsOf(pages, toDomainError), onCancel);
}

async function* partsOf(
  pages: AsyncIterable<readonly SessionEventRow[]>,
  toDomainError: OperationContext['toDomainError'],
): AsyncGenerator<string, void, undefined> {
  try {
    for await (const events of pages)
      yield events.map((event) => writeEvent({ id: event.id, data: eventToJson(event) })).join('');
    yield writeEvent({ event: 'end', data: '{}' });
  } catch (error) {
    // The HTTP status is already sent.
    yield writeEvent({ event: 'error', data: JSON.stringify({ error: toDomainError(error).message }) });
  }
}
