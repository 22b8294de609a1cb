import { ConflictError, nameTaken } from '../../core/errors.ts';
import { cut, firstFree, fold } from '../../core/text/derived-names.ts';
import { propertyMeantBy } from './default-properties.ts';

/** Pattern of all event and property names, whether given or generated (Custom Event Definition API, section 2.1). */
export const NAME_PATTERN = /^[a-z][a-z0-9_]{0,49}$/;

/** Maximum length of a name in characters. Names are ASCII, so this is also the length in bytes. */
export const NAME_MAX_LENGTH = 50;

/** Prefix of the names of default properties (Custom Event Definition API, section 2.4). Custom properties cannot use it. */
export const RESERVED_PREFIX = 'svc_';

/**
 * Generates a name from a label: lower-cased, accents removed, every run of other characters replaced by `_`, and cut to
 * 50 characters. Compatibility characters are replaced (`²` by `2`, a full-width `Ａ` by `a`); letters of other scripts
 * count as other characters. A name that does not start with a letter gets the prefix `e_` (event) or `p_` (property), and
 * so does a property name with the reserved prefix.
 *
 * The same label always gives the same name, and a generated name gives itself. Returns undefined when the label has
 * neither letters nor digits.
 */
export function nameFromLabel(label: string, kind: 'event' | 'property'): string | undefined {
  const words = fold(label)
    .replace(/[^a-z0-9]+/g, '_')
    .replace(/^_|_$/g, '');
  if (words === '') return undefined;
  const startsWithLetter = /^[a-z]/.test(words);
  if (kind === 'event') return cut(startsWithLetter ? words : `e_${words}`, '_', NAME_MAX_LENGTH);
  return cut(startsWithLetter && !isReserved(words) ? words : `p_${words}`, '_', NAME_MAX_LENGTH);
}

/** Like {@link nameFromLabel}, for a label that the input schema has already checked. */
export function baseNameFor(label: string, kind: 'event' | 'property'): string {
  const name = nameFromLabel(label, kind);
  if (name === undefined) throw new Error('the schema accepted a label that gives no name');
  return name;
}

/**
 * The first of `base`, `base_2`, `base_3`, … that is not taken. `base` is a name from {@link nameFromLabel}. A long base
 * is shortened to make room for the number, so that every candidate is a valid name.
 */
export const firstFreeName = (base: string, taken: ReadonlySet<string>): string =>
  firstFree(base, taken, { separator: '_', maxLength: NAME_MAX_LENGTH });

/** A free name for a property that was created without a name. */
export function freePropertyName(label: string, taken: ReadonlySet<string>): string {
  const base = baseNameFor(label, 'property');
  // For `svc` the candidates would be `svc_2`, `svc_3`, …, which have the reserved prefix.
  return firstFreeName(taken.has(base) && isReserved(`${base}_`) ? `p_${base}` : base, taken);
}

const isReserved = (propertyName: string): boolean =>
  propertyName.startsWith(RESERVED_PREFIX) || propertyMeantBy(propertyName) !== propertyName;

/** The error for a name of an event definition that cannot be used. */
export function definitionNameTaken(name: string, byDeleted = false): ConflictError {
  if (!byDeleted) return nameTaken(name, 'another event definition');
  const message = `${name} was used by a deleted event definition and can never be used again; choose another name`;
  return new ConflictError('NAME_USED_BEFORE', message, ['name']);
}
