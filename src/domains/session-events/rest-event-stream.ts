import { eventStream, writeEvent } from '../../core/http/server-sent-events.ts';
import type { OperationContext } from '../../core/operation.ts';
import { type SessionEventRow, eventToJson } from './queries.ts';

/**
 * Pages of events as server-sent events: the id of each is its cursor, so that a client resumes where it was. `event: end` follows the last one;
 * `event: error` gives the reason why there are no more: the caller may not see them, or the gateway failed.
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
    // The status is sent already.
    yield writeEvent({ event: 'error', data: JSON.stringify({ error: toDomainError(error).message }) });
  }
}
