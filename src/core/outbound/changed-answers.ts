import { JsonBoundError, countMembers } from '../text/json-scanner.ts';
import { FREE_JSON } from '../text/json-slices.ts';
import { OutboundError } from './outbound.ts';

/** Helpers for answers of other servers that are changed before a library reads them. */

/** The same answer with another body. With a media type, the body is of that type. */
export function withBody(
  { status, statusText, headers: given }: Response,
  body: string | ReadableStream<Uint8Array> | null,
  mediaType?: string,
): Response {
  const headers = new Headers([...given]);
  // The body is decoded, and can have another length.
  headers.delete('content-encoding');
  headers.delete('content-length');
  if (mediaType !== undefined) headers.set('content-type', mediaType);
  return new Response(body, { status, statusText, headers });
}

/** An answer in place of one that does not count. */
export const emptyAnswer = (status: number): Response => new Response(null, { status });

/** The value of a JSON text; undefined for any other text. */
export function parsedJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

/** The same within the bounds of work. @throws OutboundError beyond them. */
export function boundedJson(host: string, text: string): unknown {
  try {
    countMembers(text, FREE_JSON);
  } catch (error) {
    if (!(error instanceof JsonBoundError)) throw error;
    throw new OutboundError(`the JSON of ${host} ${error.message}`, { cause: error });
  }
  return parsedJson(text);
}

/** @throws OutboundError if a document of another server is nested too deeply to be processed. */
export function withinStack<Result>(host: string, run: () => Result): Result {
  try {
    return run();
  } catch (error) {
    if (error instanceof RangeError)
      throw new OutboundError(`${host} answers with JSON that is nested too deeply`, { cause: error });
    throw error;
  }
}
