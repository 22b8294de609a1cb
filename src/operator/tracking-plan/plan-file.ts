import { Document, parseDocument, visit } from 'yaml';
import { z } from 'zod';
import { type Fault, type InputFault, ValidationError, invalid, relocated } from '../../core/errors.ts';
import { parseInput } from '../../core/input/validation.ts';
import { isObject } from '../../core/is-object.ts';
import {
  type PlannedDefinition,
  plannedDefinition,
  requireMatchingProperty,
} from '../../domains/event-definitions/public.ts';
import { UsageError } from '../command-arguments.ts';
import { type Plan, type PlannedEvent, type PlannedProperty, sortedByName } from './plan.ts';

/** The file of a tracking plan: YAML, or JSON, which is YAML too. */

const file = z.strictObject({
  version: z.literal(1, 'must be 1'),
  // Not a record, which ignores the key `__proto__` instead of refusing it.
  events: z.custom<Readonly<Record<string, unknown>>>(isObject, 'must be an object of events by name'),
});

/** The longest file. A request to the gateway has at most 4 MiB, but a plan can have many unchanged events. */
const MAX_FILE_BYTES = 32 * 2 ** 20;
const MAX_SHOWN_FAULTS = 20;

/**
 * Reads a plan. The rules for events are those of the gateway.
 * @throws UsageError that names each fault by its position in the file.
 */
export function parsePlan(text: string, path: string): Plan {
  if (Buffer.byteLength(text) > MAX_FILE_BYTES) throw new UsageError(`${path}: must be at most 32 MiB`);
  // Only the types of JSON: the tag of another type is a warning here.
  const document = parseDocument(text, { version: '1.2', schema: 'core', resolveKnownTags: false });
  const [mistake] = [...document.errors, ...document.warnings];
  if (mistake) throw new UsageError(`${path}: ${mistake.message.trim()}`);
  const changed = changedNumber(document);
  if (changed !== undefined)
    throw new UsageError(`${path}: the number ${changed} must be quoted, because it would be changed`);
  try {
    const { events } = parseInput(file, toPlain(document));
    return sortedByName(eventsOf(events));
  } catch (error) {
    if (!(error instanceof ValidationError)) throw error;
    throw new UsageError(describe(error.faults, path), { cause: error });
  }
}

/** The first number that is not printed as it is written, such as 007, 1.10 or one of too many digits: as the value of an option it is text. */
function changedNumber(document: ReturnType<typeof parseDocument>): string | undefined {
  let found: string | undefined;
  visit(document, {
    Scalar(_, { value, source = '' }) {
      if (typeof value !== 'number' || String(value) === source) return undefined;
      found = source;
      return visit.BREAK;
    },
  });
  return found;
}

/** @throws ValidationError for aliases that would make the document much larger. */
function toPlain(document: ReturnType<typeof parseDocument>): unknown {
  try {
    return document.toJS({ maxAliasCount: 100 });
  } catch (error) {
    throw invalid('', error instanceof Error ? error.message : String(error));
  }
}

function describe(faults: readonly InputFault[], path: string): string {
  const shown = faults.slice(0, MAX_SHOWN_FAULTS).map(({ path: position, message }) => {
    const text = typeof message === 'string' ? message : message.rest;
    return position.length === 0 ? `${path}: ${text}` : `${path}: ${position.join('.')}: ${text}`;
  });
  const more = faults.length - shown.length;
  return [...shown, ...(more > 0 ? [`${path}: and ${more} more`] : [])].join('\n');
}

function eventsOf(events: Readonly<Record<string, unknown>>): PlannedEvent[] {
  const faults: InputFault[] = [];
  const parsed = Object.entries(events).flatMap(([name, event]) => {
    try {
      return eventOf(name, event);
    } catch (error) {
      const located = relocated(error, (fault) => ({ ...fault, path: ['events', name, ...fault.path] }));
      if (!(located instanceof ValidationError)) throw located;
      for (const fault of located.faults) faults.push(fault);
      return [];
    }
  });
  if (faults.length > 0) throw new ValidationError(faults);
  return parsed;
}

/** Fields of the gateway's input that have another form in the file. */
const NOT_IN_FILE = new Set(['name', 'propertyDefinitions', 'expectedUpdatedAt']);

function eventOf(name: string, given: unknown): PlannedEvent {
  if (!isObject(given)) throw invalid('', 'must be an object with a label', 'WRONG_TYPE');
  for (const field of Object.keys(given))
    if (NOT_IN_FILE.has(field)) throw invalid(field, 'is not a known property', 'UNKNOWN_FIELD');
  const { properties = {}, customMatchingId, ...event } = given;
  if (!isObject(properties ?? {})) throw invalid('properties', 'must be an object', 'WRONG_TYPE');
  const names = Object.keys(properties ?? {});
  const input = {
    ...event,
    name,
    customMatchingId: customMatchingId == null ? undefined : { primaryObjectRule: customMatchingId },
    propertyDefinitions: names.map((each) => propertyInput(each, (properties as Record<string, unknown>)[each])),
  };
  try {
    const planned = parseInput(plannedDefinition, input);
    requireMatchingProperty(planned);
    return toEvent(planned);
  } catch (error) {
    throw relocated(error, (fault) => ({ ...fault, path: pathInFile(fault, names) }));
  }
}

function propertyInput(name: string, given: unknown): unknown {
  if (!isObject(given)) return given;
  // Its name is its key.
  if (Object.hasOwn(given, 'name'))
    throw invalid(`properties.${name}.name`, 'is not a known property', 'UNKNOWN_FIELD');
  return { ...given, name };
}

function pathInFile({ path: [first = '', second = '', ...rest] }: Fault, names: readonly string[]): readonly string[] {
  if (first === 'propertyDefinitions') {
    const name = names[Number(second)];
    return name === undefined ? ['properties'] : ['properties', name, ...rest.filter((step) => step !== 'name')];
  }
  if (first === 'customMatchingId') return [first, ...rest];
  if (first === 'name') return [];
  return [first, second, ...rest].filter((step) => step !== '');
}

function toEvent(planned: PlannedDefinition): PlannedEvent {
  const { name, label, description, primaryObject, includeDefaultProperties, customMatchingId } = planned;
  return {
    name,
    label,
    description: description ?? '',
    primaryObject,
    includeDefaultProperties,
    customMatchingId: customMatchingId?.primaryObjectRule,
    properties: sortedByName(
      planned.propertyDefinitions.map((property) => ({
        name: property.name,
        label: property.label,
        type: property.type,
        description: property.description ?? '',
        options: (property.options ?? []).map((option, index) => ({
          value: option.value,
          label: option.label,
          description: option.description ?? '',
          hidden: option.hidden ?? false,
          displayOrder: option.displayOrder ?? index,
        })),
      })),
    ),
  };
}

/** The file of a plan. Equal plans have equal files. */
export function printPlan(plan: Plan): string {
  const events = Object.fromEntries([...plan].map(([name, event]) => [name, eventInFile(event)]));
  // Texts such as `no` are quoted, because older readers of YAML take them for booleans.
  return new Document({ version: 1, events }, { version: '1.2', compat: 'yaml-1.1' }).toString({ lineWidth: 0 });
}

function eventInFile(event: PlannedEvent): object {
  const properties = [...event.properties].map(([name, property]) => [name, propertyInFile(property)]);
  return {
    label: event.label,
    ...(event.description !== '' && { description: event.description }),
    primaryObject: event.primaryObject,
    ...(event.customMatchingId && { customMatchingId: event.customMatchingId }),
    includeDefaultProperties: event.includeDefaultProperties,
    ...(properties.length > 0 && { properties: Object.fromEntries(properties) }),
  };
}

function propertyInFile({ label, type, description, options }: PlannedProperty): object {
  return {
    label,
    type,
    ...(description !== '' && { description }),
    ...(options.length > 0 && {
      options: options.map(({ value, label: shown, description: meaning, hidden, displayOrder }, index) => ({
        value,
        label: shown,
        ...(meaning !== '' && { description: meaning }),
        ...(hidden && { hidden }),
        ...(displayOrder !== index && { displayOrder }),
      })),
    }),
  };
}
