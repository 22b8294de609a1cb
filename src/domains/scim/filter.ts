import { ScimError } from './errors.ts';
import { SCHEMA_PREFIX } from './resources.ts';

/** What a filter asks for (RFC 7644, section 3.4.2.2), as Okta and Entra send it: the attribute, in lower case, and the text that it equals. */
export interface Filter {
  readonly attribute: string;
  readonly value: string;
}

const FILTER = /^\s*([a-z.]+|emails\[\s*type\s+eq\s+"work"\s*\]\.value)\s+eq\s+("(?:[^"\\]|\\.)*")\s*$/i;

/** @throws ScimError (400) for another filter than `attribute eq "text"` on one of the attributes. */
export function filterIn(text: string | null, attributes: readonly string[]): Filter | undefined {
  if (text === null || text.trim() === '') return undefined;
  const [, path = '', quoted = ''] = text.length > 2000 ? [] : (FILTER.exec(text.replace(SCHEMA_PREFIX, '')) ?? []);
  const attribute = path.startsWith('emails[') ? 'emails.value' : path.toLowerCase();
  const value = parsed(quoted);
  if (value === undefined || !attributes.includes(attribute))
    throw new ScimError(
      'invalidFilter',
      `filter: must be ATTRIBUTE eq "TEXT", with one of these attributes: ${attributes.join(', ')}`,
    );
  return { attribute, value };
}

function parsed(quoted: string): string | undefined {
  try {
    const value: unknown = JSON.parse(quoted);
    return typeof value === 'string' && value.isWellFormed() && !value.includes('\0') ? value : undefined;
  } catch {
    return undefined;
  }
}
