import { NOT_KNOWN } from '../../core/validation.ts';
import type { HeldDefinition } from '../event-definitions/operations.ts';
import type { SendEventOccurrenceInput } from './input.ts';
import { type PropertyValue, checkValue } from './property-values.ts';

/** A fault of one occurrence, in the form that the validation of inputs reports. */
export interface OccurrenceIssue {
  readonly code: 'custom' | 'unrecognized_keys';
  readonly path: readonly string[];
  readonly message: string;
  readonly keys?: readonly string[];
}

/** Which object an occurrence is to be linked to: the one that has this value of this unique property. */
export interface Link {
  readonly objectType: string;
  readonly propertyName: string;
  readonly value: string;
}

export interface CheckedOccurrence {
  readonly issues: readonly OccurrenceIssue[];
  readonly properties: Readonly<Record<string, PropertyValue>>;
  /** Set when custom matching has to find the object: when the occurrence carries its property and no object id of its own. */
  readonly link: Link | undefined;
}

/** Checks an occurrence by its definition: its identifiers, and the name and value of every property. */
export function checkOccurrence(definition: HeldDefinition, input: SendEventOccurrenceInput): CheckedOccurrence {
  const { issues, properties } = checkProperties(definition, input.properties);
  return {
    issues: [...checkIdentifiers(definition, input), ...issues],
    properties,
    link: input.objectId === undefined ? linkOf(definition, properties) : undefined,
  };
}

function checkProperties(
  definition: HeldDefinition,
  given: Readonly<Record<string, unknown>>,
): Pick<CheckedOccurrence, 'issues' | 'properties'> {
  const issues: OccurrenceIssue[] = [];
  const values: [string, PropertyValue][] = [];
  for (const [name, value] of Object.entries(given)) {
    const property = definition.properties.get(name);
    if (!property) {
      issues.push({ code: 'unrecognized_keys', path: ['properties'], keys: [name], message: NOT_KNOWN });
    } else if (value !== null) {
      const checked = checkValue(property, value);
      if ('value' in checked) values.push([name, checked.value]);
      else issues.push({ code: 'custom', path: ['properties', name], message: checked.fault });
    }
  }
  return { issues, properties: Object.fromEntries(values) };
}

const IDENTIFIERS = ['email', 'utk', 'objectId'] as const;

/**
 * Who it happened to: a contact by `email`, `utk` or `objectId`, any other object by `objectId`, nobody for `NO_OBJECT`. Where custom
 * matching finds the object, none is needed.
 */
function checkIdentifiers(
  { primaryObject, customMatchingId }: HeldDefinition,
  input: SendEventOccurrenceInput,
): OccurrenceIssue[] {
  const allowed = IDENTIFIERS.filter((name) => identifies(name, primaryObject));
  const given = IDENTIFIERS.filter((name) => input[name] !== undefined);
  const refused = given
    .filter((name) => !allowed.includes(name))
    .map((name) => issue(name, `must not be given for an event of the primary object ${primaryObject}`));
  if (customMatchingId !== null || allowed.length === 0 || given.some((name) => allowed.includes(name))) return refused;
  const missing =
    primaryObject === 'CONTACT'
      ? issue('', 'one of email, utk and objectId is required for an event of the primary object CONTACT')
      : issue('objectId', `is required for an event of the primary object ${primaryObject}`);
  return [...refused, missing];
}

function identifies(name: (typeof IDENTIFIERS)[number], primaryObject: string): boolean {
  return primaryObject !== 'NO_OBJECT' && (name === 'objectId' || primaryObject === 'CONTACT');
}

function issue(name: string, message: string): OccurrenceIssue {
  return { code: 'custom', path: name === '' ? [] : [name], message };
}

function linkOf(
  { primaryObject, customMatchingId }: HeldDefinition,
  properties: CheckedOccurrence['properties'],
): Link | undefined {
  if (!customMatchingId) return undefined;
  const { targetObjectPropertyName, eventPropertyName } = customMatchingId.primaryObjectRule;
  const value = properties[eventPropertyName];
  return value === undefined
    ? undefined
    : { objectType: primaryObject, propertyName: targetObjectPropertyName, value: String(value) };
}
