import { createHash } from 'node:crypto';
import { redactDocuments } from '../../core/redaction/redact.ts';
import { itemsOf, membersOf } from '../../core/text/json-scanner.ts';

/** Maximum size of arguments that somebody can be asked to approve. */
export const MAX_ARGUMENTS = 64 * 1024;
const MAX_PREVIEW = 4 * 1024;

/** A member that occurs twice means different things to different parsers. */
export class DuplicateMember extends Error {
  constructor(name: string) {
    super(`the member ${name.slice(0, 100)} of the arguments occurs twice`);
  }
}

/** SHA-256 of arguments as they are sent: members sorted, numbers as their text. @throws DuplicateMember */
export const argumentsDigest = (json: string): string => createHash('sha256').update(canonical(json)).digest('hex');

function canonical(json: string): string {
  if (json.startsWith('[')) return `[${[...itemsOf(json)].map(canonical).join(',')}]`;
  if (json.startsWith('"')) return JSON.stringify(JSON.parse(json));
  if (!json.startsWith('{')) return json;
  const members = new Map<string, string>();
  for (const { name, text } of membersOf(json)) {
    if (members.has(name)) throw new DuplicateMember(name);
    members.set(name, canonical(text));
  }
  const sorted = [...members].toSorted(([one], [other]) => (one < other ? -1 : 1));
  return `{${sorted.map(([name, text]) => `${JSON.stringify(name)}:${text}`).join(',')}}`;
}

/** The beginning of arguments without credentials, as it is stored. */
export async function previewOf(json: string): Promise<string> {
  const {
    documents: [redacted = ''],
  } = await redactDocuments([json]);
  const text = redacted.toWellFormed().replaceAll('\0', '');
  if (Buffer.byteLength(text) <= MAX_PREVIEW) return text;
  // A character that was cut becomes a replacement character, which is removed.
  return Buffer.from(text)
    .subarray(0, MAX_PREVIEW)
    .toString()
    .replace(/\uFFFD$/, '');
}
