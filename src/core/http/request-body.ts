import { isObject } from '../is-object.ts';
import { type HttpHeaders, type HttpRequest, isUtf8 } from './messages.ts';
import { DomainError, ForbiddenError, ValidationError, invalid } from '../errors.ts';
import { type JsonBounds, JsonBoundError } from '../text/json-scanner.ts';
import { FREE_JSON, parseWithin } from '../text/json-slices.ts';
import { WORK } from '../work-budget.ts';

/** Both APIs refuse bodies over 4 MiB. */
export const MAX_BODY_BYTES = 4 * 1024 * 1024;

/**
 * Reads a JSON body; undefined if there is none. A number that JavaScript would change is an `ExactNumber`, which only schemas of free JSON
 * accept.
 * @throws DomainError 415 for another media type, charset or encoding; 413 over the bound, without reading further; 400 for malformed JSON,
 * and for JSON beyond the bounds of work.
 */
export async function readJson(request: HttpRequest, maxBytes = MAX_BODY_BYTES): Promise<unknown> {
  // Checks the announced length before reading anything.
  if (Number(request.headers.get('content-length')) > maxBytes) throw tooLarge(maxBytes);
  const chunks = await readChunks(request, maxBytes);
  if (chunks.length === 0) return undefined;
  checkMediaType(request.headers);
  return parseBody(decode(chunks));
}

/** All bodies are objects whose properties a schema names. What is in them may be free JSON. */
const BODY_BOUNDS: JsonBounds = { ...FREE_JSON, rootMembers: WORK.properties };

/** Parses a JSON text that a client has sent as a body. @throws ValidationError (400) if it is malformed, or beyond a bound of work. */
export async function parseBody(text: string): Promise<unknown> {
  try {
    return await parseWithin(text, BODY_BOUNDS);
  } catch (error) {
    if (!(error instanceof JsonBoundError)) throw invalid('', 'the body is not well-formed JSON');
    const { path, message, limit } = error;
    const fault = path.length === 0 ? `the body ${message}` : message;
    throw new ValidationError([{ path, code: 'TOO_MANY', message: fault, limit }]);
  }
}

/**
 * Reads a body of lines. Bytes that are no UTF-8 become U+FFFD, because one such byte must not lose the other lines.
 * @throws DomainError 413 over the bound; 415 for a content encoding.
 */
export async function readLines(request: HttpRequest): Promise<string> {
  if (Number(request.headers.get('content-length')) > MAX_BODY_BYTES) throw tooLarge(MAX_BODY_BYTES);
  const encoding = request.headers.get('content-encoding') ?? 'identity';
  if (encoding.toLowerCase() !== 'identity')
    throw new DomainError('unsupportedMediaType', 'the body must be sent without content encoding', {
      headers: { 'Accept-Encoding': 'identity' },
    });
  // A byte order mark is a character of the first line like any other.
  return new TextDecoder('utf-8', { ignoreBOM: true }).decode(join(await readChunks(request, MAX_BODY_BYTES)));
}

/** The media type of a body in lower case, and its parameters as they are. */
export function mediaTypeOf(headers: HttpHeaders): { mediaType: string; parameters: Record<string, string> } {
  const [mediaType = '', ...parameters] = (headers.get('content-type') ?? '').split(';').map((part) => part.trim());
  return {
    mediaType: mediaType.toLowerCase(),
    parameters: Object.fromEntries(
      parameters.flatMap((parameter) => {
        const [, name, quoted, plain] = /^([^=\s]+)=(?:"([^"]*)"|(\S*))$/.exec(parameter) ?? [];
        return name === undefined ? [] : [[name.toLowerCase(), quoted ?? plain ?? '']];
      }),
    ),
  };
}

/**
 * Reads a body as text, of any media type.
 * @throws DomainError 413 over the bound; 400 if it is not UTF-8.
 */
export const readText = async (request: HttpRequest, maxBytes: number): Promise<string> =>
  decode(await readChunks(request, maxBytes));

/** Reads a body as bytes, of any media type. @throws DomainError 413 over 4 MiB, without reading further. */
export async function readBytes(request: HttpRequest): Promise<Uint8Array> {
  if (Number(request.headers.get('content-length')) > MAX_BODY_BYTES) throw tooLarge(MAX_BODY_BYTES);
  const chunks = await readChunks(request, MAX_BODY_BYTES);
  const [first, ...others] = chunks;
  return first && others.length === 0 ? first : Buffer.concat(chunks);
}

/**
 * Reads a form that a page of the gateway sent (HTML, section 4.10.21), which needs no key.
 * @throws DomainError 403 if the browser reports another site as its origin; 415 if it is not a form; 413 over 8 KiB.
 */
export async function readForm(request: HttpRequest): Promise<URLSearchParams> {
  const site = request.headers.get('sec-fetch-site');
  if (site !== null && site !== 'same-origin' && site !== 'none')
    throw new ForbiddenError('this form must be sent from a page of the gateway itself');
  if (!/^application\/x-www-form-urlencoded\b/i.test(request.headers.get('content-type') ?? ''))
    throw new DomainError('unsupportedMediaType', 'the body must be sent as application/x-www-form-urlencoded');
  return new URLSearchParams(await readText(request, WORK.keylessBytes));
}

/** Each name of a query is looked up among all of its parameters. @throws ValidationError (400) for more than 500 parameters. */
export function requireBoundedQuery({ size }: URLSearchParams): void {
  const limit = WORK.properties;
  if (size > limit) throw invalid('', `the query must have at most ${limit} parameters`, 'TOO_MANY', limit);
}

/** @throws ValidationError (400) for anything but a JSON object. */
export function requireObject(body: unknown): object {
  if (!isObject(body)) throw invalid('', 'the body must be a JSON object');
  return body;
}

function checkMediaType(headers: HttpHeaders): void {
  // Some clients send the header twice, and Node.js joins both by a comma.
  const [given = ''] = (headers.get('content-type') ?? '').split(',');
  const [mediaType = '', ...parameters] = given.split(';').map((part) => part.trim().toLowerCase());
  const charset = parameters.find((parameter) => parameter.startsWith('charset='))?.slice('charset='.length);
  if (
    !/^application\/(?:json|[\w.+-]+\+json)$/.test(mediaType) ||
    !isUtf8(charset) ||
    (headers.get('content-encoding') ?? 'identity').toLowerCase() !== 'identity'
  ) {
    throw new DomainError(
      'unsupportedMediaType',
      'the body must be sent as application/json, in UTF-8, without content encoding',
      // RFC 9110, section 12.5.3: the content encodings that are accepted.
      { headers: { 'Accept-Encoding': 'identity' } },
    );
  }
}

const decoder = new TextDecoder('utf-8', { fatal: true });

function decode(chunks: readonly Uint8Array[]): string {
  try {
    return decoder.decode(join(chunks));
  } catch {
    throw invalid('', 'the body is not well-formed UTF-8');
  }
}

const SHARED_BYTES = 1024 * 1024;
let shared: Buffer | undefined;

/**
 * The bytes of all chunks, to be used before anything else runs: bodies of up to 1 MiB share one buffer. New memory for each body takes
 * longer than copying it.
 */
function join(chunks: readonly Uint8Array[]): Uint8Array {
  const [first, ...others] = chunks;
  if (first && others.length === 0) return first;
  const length = chunks.reduce((sum, chunk) => sum + chunk.byteLength, 0);
  if (length > SHARED_BYTES) return Buffer.concat(chunks);
  shared ??= Buffer.allocUnsafeSlow(SHARED_BYTES);
  let at = 0;
  for (const chunk of chunks) {
    shared.set(chunk, at);
    at += chunk.byteLength;
  }
  return shared.subarray(0, length);
}

/** The chunks of the body that are not empty. */
async function readChunks(request: HttpRequest, maxBytes: number): Promise<readonly Uint8Array[]> {
  const whole = request.takeArrived?.();
  if (whole && whole.byteLength > maxBytes) throw tooLarge(maxBytes);
  if (whole) return [whole];
  const { body } = request;
  if (!body) return [];
  const chunks: Uint8Array[] = [];
  let length = 0;
  try {
    for await (const chunk of body) {
      if (chunk.byteLength === 0) continue;
      length += chunk.byteLength;
      if (length > maxBytes) throw tooLarge(maxBytes);
      chunks.push(chunk);
    }
  } catch (error) {
    // The client disconnected or was too slow. This is not an error of the gateway.
    throw error instanceof DomainError ? error : invalid('', 'the body ended before it was complete');
  }
  return chunks;
}

function tooLarge(maxBytes: number): DomainError {
  const unit = maxBytes >= 1024 * 1024 ? `${maxBytes / 1024 / 1024} MiB` : `${maxBytes / 1024} KiB`;
  return new DomainError('tooLarge', `the body must be at most ${maxBytes} bytes (${unit})`);
}
