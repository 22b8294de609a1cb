import { createHash } from 'node:crypto';
import { promisify } from 'node:util';
import { brotliCompress, constants, gzip } from 'node:zlib';
import { type HttpAnswer, type HttpRequest, answerWith } from './messages.ts';

/** Content that is the same for every client: kept in memory, compressed once, validated by its hash. */
export interface StaticFile {
  /** The first 16 hexadecimal digits of the content's SHA-256. */
  readonly hash: string;
  readonly content: Buffer;
  answer(request: Pick<HttpRequest, 'headers'>): Promise<HttpAnswer>;
}

interface StaticFileOptions {
  /** The URL contains the hash, so browsers never need to revalidate it. */
  readonly isImmutable?: boolean;
  readonly headers?: Readonly<Record<string, string>>;
}

const IMMUTABLE = 'public, max-age=31536000, immutable';
const MIN_COMPRESSED_BYTES = 512;
/** Above this size the best compression takes seconds and saves little. */
const LARGE_BYTES = 512 * 1024;

export function staticFile(
  content: Buffer | string,
  type: string,
  { isImmutable = false, headers = {} }: StaticFileOptions = {},
): StaticFile {
  const bytes = Buffer.from(content);
  const hash = createHash('sha256').update(bytes).digest('hex').slice(0, 16);
  const common = {
    'Content-Type': type,
    'Cache-Control': isImmutable ? IMMUTABLE : 'no-cache',
    // Weak, because all encodings share it (RFC 9110, section 8.8.1).
    ETag: `W/"${hash}"`,
    Vary: 'Accept-Encoding',
    ...headers,
  };
  const isCompressible = bytes.length >= MIN_COMPRESSED_BYTES && /^text\/|[/+](?:json|svg|xml|javascript)/.test(type);
  const compressed = new Map<Encoding, Promise<Buffer>>();

  return {
    hash,
    content: bytes,
    async answer({ headers: asked }) {
      if (matches(asked.get('if-none-match') ?? '', hash)) return answerWith(null, { status: 304, headers: common });
      const encoding = isCompressible ? encodingFor(asked.get('accept-encoding') ?? '') : undefined;
      if (!encoding) return answerWith(bytes, { headers: common });
      const body = compressed.get(encoding) ?? compress(bytes, encoding);
      compressed.set(encoding, body);
      return answerWith(await body, { headers: { ...common, 'Content-Encoding': encoding } });
    },
  };
}

type Encoding = 'br' | 'gzip';

/** The smallest encoding that the client accepts (RFC 9110, section 12.5.3). */
function encodingFor(accepted: string): Encoding | undefined {
  const offers = accepted.split(',').map((offer) =>
    offer
      .trim()
      .toLowerCase()
      .split(/\s*;\s*/),
  );
  const takes = (name: Encoding) =>
    offers.some(([coding, weight]) => coding === name && !/^q=0(?:\.0*)?$/.test(weight ?? ''));
  return (['br', 'gzip'] as const).find(takes);
}

/** Weak comparison with each of a list of entity tags (RFC 9110, section 13.1.2). */
const matches = (tags: string, hash: string): boolean =>
  tags.split(',').some((tag) => ['*', `"${hash}"`].includes(tag.trim().replace(/^W\//, '')));

function compress(bytes: Buffer, encoding: Encoding): Promise<Buffer> {
  if (encoding === 'gzip') return promisify(gzip)(bytes, { level: constants.Z_BEST_COMPRESSION });
  const quality = bytes.length > LARGE_BYTES ? 9 : constants.BROTLI_MAX_QUALITY;
  return promisify(brotliCompress)(bytes, { params: { [constants.BROTLI_PARAM_QUALITY]: quality } });
}
