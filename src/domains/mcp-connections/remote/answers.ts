import { isObject } from '../../../core/is-object.ts';
import { parsedJson } from '../../../core/outbound/changed-answers.ts';

/** What messages say about the answers of other servers. */

const MAX_SHOWN = 200;

/** Text of a server in a message: one line of printable characters, in quotes and cut. Pages escape it. */
export function shown(text: string | undefined): string {
  if (text === undefined) return 'none';
  const printable = text.replaceAll(/[\p{C}\p{Zl}\p{Zp}]/gu, '?');
  // A character of two code units is not cut in two.
  const cut = printable.slice(0, MAX_SHOWN).replace(/[\uD800-\uDBFF]$/, '');
  return `"${printable.length > MAX_SHOWN ? `${cut}…` : printable}"`;
}

/** The media type of an answer in lower case, without parameters; undefined for a missing or malformed one. */
export function mediaTypeOf(response: Response): string | undefined {
  const type = response.headers.get('content-type')?.split(';')[0]?.trim().toLowerCase();
  return type !== undefined && /^[a-z0-9!#$&^_.+-]{1,60}\/[a-z0-9!#$&^_.+-]{1,60}$/.test(type) ? type : undefined;
}

/** Status and media type: `HTTP 404 (text/html)`; of a redirect where it leads, without the query, which can have a secret. */
export function statusOf(response: Response): string {
  const location = response.headers.get('location');
  if (location !== null) return `HTTP ${response.status} (a redirect to ${shown(location.split(/[?#]/)[0])})`;
  const type = mediaTypeOf(response);
  return `HTTP ${response.status}${type === undefined ? '' : ` (${type})`}`;
}

/** Codes that are safe to show as they are. */
const CODE = /^[A-Za-z0-9_.-]{1,60}$/;

/** An error that a server describes in JSON: an OAuth error (RFC 6749, section 5.2), or an error of JSON-RPC. */
export interface DescribedError {
  readonly code: string | undefined;
  readonly description: string | undefined;
}

export const describedError = (body: string): DescribedError | undefined => describedIn(parsedJson(body));

/** Frameworks describe errors in members of their own. */
export function describedIn(document: unknown): DescribedError | undefined {
  if (!isObject(document)) return undefined;
  const { error, error_description: description, errors } = document;
  const [first] = Array.isArray(errors) ? (errors as readonly unknown[]) : [];
  const nested = [error, first].find(isObject) ?? {};
  const described: DescribedError = {
    code: textIn(error) ?? textIn(nested['code']) ?? textIn(nested['type']),
    description: [description, nested['message'], document['message'], document['detail']].map(textIn).find(Boolean),
  };
  return described.code === undefined && described.description === undefined ? undefined : described;
}

const textIn = (value: unknown): string | undefined =>
  (typeof value === 'string' && value !== '') || typeof value === 'number' ? String(value) : undefined;

/** The code and the description: `invalid_scope: "unknown scope"`. */
export function sayError({ code, description }: DescribedError): string {
  const name = code === undefined || CODE.test(code) ? code : shown(code);
  const parts = [name, description === undefined || description === code ? undefined : shown(description)];
  return parts.filter((part) => part !== undefined).join(': ');
}
