import { DomainError, invalid } from '../core/errors.ts';

/** Bodies over 4 MiB are refused, on both doors. */
export const MAX_BODY_BYTES = 4 * 1024 * 1024;

/**
 * The JSON of a body; undefined when there is none.
 * @throws DomainError 415 for another media type, charset or encoding; 413 over the bound, without reading further; 400 for malformed JSON.
 */
export async function readJson(request: Request): Promise<unknown> {
  const text = await readText(request);
  if (text === '') return undefined;
  checkMediaType(request.headers);
  try {
    return JSON.parse(text);
  } catch {
    throw invalid('', 'the body is not well-formed JSON');
  }
}

/** @throws ValidationError (400) for anything but a JSON object. */
export function requireObject(body: unknown): object {
  if (typeof body !== 'object' || body === null || Array.isArray(body))
    throw invalid('', 'the body must be a JSON object');
  return body;
}

function checkMediaType(headers: Headers): void {
  const [mediaType = '', ...parameters] = (headers.get('content-type') ?? '')
    .split(';')
    .map((part) => part.trim().toLowerCase());
  const charset =
    parameters
      .find((parameter) => parameter.startsWith('charset='))
      ?.slice('charset='.length)
      .replaceAll('"', '') ?? 'utf-8';
  if (
    !/^application\/(?:json|[\w.+-]+\+json)$/.test(mediaType) ||
    charset !== 'utf-8' ||
    headers.has('content-encoding')
  ) {
    throw new DomainError(
      'unsupportedMediaType',
      'the body must be sent as application/json, in UTF-8, without content encoding',
    );
  }
}

async function readText(request: Request): Promise<string> {
  // An announced length is refused before anything is read, and the server holds the peer to it; only one that is not announced is counted.
  const announced = request.headers.get('content-length');
  if (announced !== null && Number(announced) > MAX_BODY_BYTES) throw tooLarge();
  const bytes = announced === null ? await readCounted(request.body) : await readWhole(request);
  if (bytes.length > MAX_BODY_BYTES) throw tooLarge();
  try {
    return new TextDecoder('utf-8', { fatal: true }).decode(bytes);
  } catch {
    throw invalid('', 'the body is not well-formed UTF-8');
  }
}

async function readWhole(request: Request): Promise<Buffer> {
  try {
    return Buffer.from(await request.arrayBuffer());
  } catch {
    throw invalid('', 'the body ended before it was complete');
  }
}

async function readCounted(body: ReadableStream<Uint8Array> | null): Promise<Buffer> {
  if (!body) return Buffer.alloc(0);
  const chunks: Uint8Array[] = [];
  let length = 0;
  for await (const chunk of body) {
    length += chunk.byteLength;
    if (length > MAX_BODY_BYTES) throw tooLarge();
    chunks.push(chunk);
  }
  return Buffer.concat(chunks);
}

function tooLarge(): DomainError {
  return new DomainError('tooLarge', `the body must be at most ${MAX_BODY_BYTES} bytes (4 MiB)`);
}
