import { ConflictError } from '../../core/errors.ts';
import { fold } from '../../core/text/fold.ts';
import { cut, firstFree } from '../../core/text/numbered-names.ts';
import { propertyMeantBy } from './default-properties.ts';

/** The form of every event and property name, given or generated (section 2.1). */
export const NAME_PATTERN = /^[a-z][a-z0-9_]{0,49}$/;

/** In characters, which are ASCII and so also bytes. */
export const NAME_MAX_LENGTH = 50;

/** The prefix of the names of default properties (section 2.4). Custom properties cannot have it. */
export const RESERVED_PREFIX = 'svc_';

/**
 * The base name for a label: lower-cased, accents folded, every run of other characters one `_`, cut to 50.
 * Compatibility forms count as the character that they represent (`²` as `2`, a full-width `Ａ` as `a`), letters of
 * other scripts as other characters. A name that would not start with a letter gets `e_` (event) or `p_`
 * (property) in front; so does a property name that belongs to the default properties.
 *
 * The same label always gives the same name, and a generated name gives itself. Returns undefined when the label
 * leaves nothing, such as one of symbols alone.
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

/** As {@link nameFromLabel}, for a label from which the schema of the input has already made a name. */
export function baseNameFor(label: string, kind: 'event' | 'property'): string {
  const name = nameFromLabel(label, kind);
  if (name === undefined) throw new Error('the schema accepted a label that leaves no name');
  return name;
}

/**
 * The first of `base`, `base_2`, `base_3`, … that is not taken. `base` is a name from {@link nameFromLabel}; a long one
 * is shortened to make room for the number, so that every candidate is a valid name. Tries at most one candidate more
 * than there are taken names.
 */
export function firstFreeName(base: string, taken: ReadonlySet<string>): string {
  return firstFree(base, taken, { separator: '_', maxLength: NAME_MAX_LENGTH });
}

/** A free name for a property that was given none. */
export function freePropertyName(label: string, taken: ReadonlySet<string>): string {
  const base = baseNameFor(label, 'property');
  // The numbered names of `svc` would be `svc_2`, `svc_3`, …, which are reserved.
  return firstFreeName(taken.has(base) && isReserved(`${base}_`) ? `p_${base}` : base, taken);
}

function isReserved(propertyName: string): boolean {
  return propertyName.startsWith(RESERVED_PREFIX) || propertyMeantBy(propertyName) !== propertyName;
}

/** Why a given name of an event definition cannot be used. */
export function nameTaken(name: string, byDeleted = false): ConflictError {
  return byDeleted
    ? new ConflictError(
        'NAME_USED_BEFORE',
        `${name} was used by a deleted event definition and can never be used again; choose another name`,
        ['name'],
      )
    : new ConflictError('NAME_TAKEN', `${name} is taken by another event definition; choose another name`, ['name']);
}
