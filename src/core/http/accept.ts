import { type HttpHeaders, isUtf8 } from './messages.ts';

export const JSON_TYPE = 'application/json';

interface MediaRange {
  readonly type: string;
  readonly quality: number;
  /** Position in the header. */
  readonly place: number;
}

/**
 * The offered media type that the client prefers (RFC 9110, section 12.5.1); undefined when it accepts none. Between
 * equal preferences the order in the header decides, then the order of the offer.
 */
export function chooseMediaType(accept: string | null, offered: readonly string[]): string | undefined {
  if (accept === null || accept === '' || accept === '*/*') return offered[0];
  // Fast path: most clients send exactly one media type.
  if (offered.includes(accept)) return accept;
  const ranges = accept.toLowerCase().split(',').flatMap(rangeOf);
  const wanted = offered.flatMap((type) => {
    const range = ranges.filter((one) => matches(one.type, type)).toSorted(bySpecificity)[0];
    return range && range.quality > 0 ? [{ type, range }] : [];
  });
  return wanted.toSorted((a, b) => b.range.quality - a.range.quality || a.range.place - b.range.place)[0]?.type;
}

/** Whether the client prefers another form of an answer to JSON, which it gets without a preference. */
export const prefers = (type: string, headers: Pick<HttpHeaders, 'get'>): boolean =>
  chooseMediaType(headers.get('accept'), [JSON_TYPE, type]) === type;

function rangeOf(text: string, place: number): MediaRange[] {
  const [type = '', ...parameters] = text.split(';').map((part) => part.trim());
  const valueOf = (name: string) =>
    parameters.find((parameter) => parameter.startsWith(`${name}=`))?.slice(name.length + 1);
  // Answers are always in UTF-8.
  if (!isUtf8(valueOf('charset'))) return [];
  const quality = Number(valueOf('q') ?? 1);
  return [{ type, quality: quality >= 0 && quality <= 1 ? quality : 1, place }];
}

function matches(range: string, type: string): boolean {
  return range === '*/*' || range === type || (range.endsWith('/*') && type.startsWith(range.slice(0, -1)));
}

const specificityOf = ({ type }: MediaRange) => (type === '*/*' ? 0 : type.endsWith('/*') ? 1 : 2);
const bySpecificity = (a: MediaRange, b: MediaRange) => specificityOf(b) - specificityOf(a) || a.place - b.place;
