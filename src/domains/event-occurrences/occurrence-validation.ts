import type { InputFault, InputFaultCode } from '../../core/errors.ts';
import { NOT_KNOWN } from '../../core/input/validation.ts';
import { type SharedDefinition, propertyMeantBy } from '../event-definitions/public.ts';
import type { SendEventOccurrenceInput } from './input.ts';
import { type PropertyValue, checkValue } from './property-values.ts';

/** Custom matching: the occurrence is linked to the record that has this value in this unique property. */
export interface Link {
  readonly objectType: string;
  readonly propertyName: string;
  readonly value: string;
}

export interface CheckedOccurrence {
  readonly faults: readonly InputFault[];
  readonly properties: Readonly<Record<string, PropertyValue>>;
  /** Set when custom matching must find the record: the occurrence has a value of the matching property and no object id. */
  readonly link: Link | undefined;
}

/** Checks the identifiers of an occurrence, and the name and value of each of its properties. */
export function checkOccurrence(definition: SharedDefinition, input: SendEventOccurrenceInput): CheckedOccurrence {
  const { faults, properties } = checkProperties(definition, input.properties);
  return {
    faults: [...checkIdentifiers(definition, input), ...faults],
    properties,
    link: input.objectId === undefined ? linkOf(definition, properties) : undefined,
  };
}

function checkProperties(
  { properties }: SharedDefinition,
  given: Readonly<Record<string, unknown>>,
): Pick<CheckedOccurrence, 'faults' | 'properties'> {
  const faults: InputFault[] = [];
  const values: [string, PropertyValue][] = [];
  for (const [name, value] of Object.entries(given)) {
    const property = properties.get(name) ?? properties.get(propertyMeantBy(name));
    if (!property) {
      faults.push({ path: ['properties', name], code: 'UNKNOWN_FIELD', message: NOT_KNOWN });
    } else if (property.name !== name && Object.hasOwn(given, property.name)) {
      faults.push(
        fault(
          ['properties', name],
          'DUPLICATE',
          `is another name of ${property.name}, which is given too; send only one of them`,
        ),
      );
    } else if (value !== null) {
      const checked = checkValue(property, value);
      if ('value' in checked) values.push([property.name, checked.value]);
      else faults.push({ path: ['properties', name], ...checked.fault });
    }
  }
  return { faults, properties: Object.fromEntries(values) };
}

const IDENTIFIERS = ['email', 'utk', 'objectId'] as const;

/**
 * A contact is identified by `email`, `utk` or `objectId`, any other object by `objectId`. `NO_OBJECT` has no identifier. A definition with
 * custom matching needs none.
 */
function checkIdentifiers(
  { primaryObject, customMatchingId }: SharedDefinition,
  input: SendEventOccurrenceInput,
): InputFault[] {
  const allowed = IDENTIFIERS.filter((name) => identifies(name, primaryObject));
  const given = IDENTIFIERS.filter((name) => input[name] !== undefined);
  const refused = given
    .filter((name) => !allowed.includes(name))
    .map((name) =>
      fault([name], 'CONFLICTING', `must not be given for an event of the primary object ${primaryObject}`),
    );
  if (customMatchingId !== null || allowed.length === 0 || given.some((name) => allowed.includes(name))) return refused;
  const missing =
    primaryObject === 'CONTACT'
      ? fault([], 'REQUIRED', 'one of email, utk and objectId is required for an event of the primary object CONTACT')
      : fault(['objectId'], 'REQUIRED', `is required for an event of the primary object ${primaryObject}`);
  return [...refused, missing];
}

const identifies = (name: (typeof IDENTIFIERS)[number], primaryObject: string): boolean =>
  primaryObject !== 'NO_OBJECT' && (name === 'objectId' || primaryObject === 'CONTACT');

const fault = (path: readonly string[], code: InputFaultCode, message: string): InputFault => ({ path, code, message });

function linkOf(
  { primaryObject, customMatchingId }: SharedDefinition,
  properties: CheckedOccurrence['properties'],
): Link | undefined {
  if (!customMatchingId) return undefined;
  const { targetObjectPropertyName, eventPropertyName } = customMatchingId.primaryObjectRule;
  const value = properties[eventPropertyName];
  return value === undefined
    ? undefined
    : { objectType: primaryObject, propertyName: targetObjectPropertyName, value: String(value) };
}
