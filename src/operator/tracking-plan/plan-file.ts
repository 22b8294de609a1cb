import { isUtf8 } from 'node:buffer';
import { Document, type Scalar, isScalar, parseDocument, visit } from 'yaml';
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
 * The text of a file. Bytes that are no text would become other names and labels.
 * @throws UsageError unless the file is UTF-8.
 */
export function decodePlan(bytes: Buffer, path: string): string {
  if (bytes.length > MAX_FILE_BYTES) throw new UsageError(`${path}: must be at most 32 MiB`);
  const mark = bytes.subarray(0, 2).toString('hex');
  if (mark === 'fffe' || mark === 'feff') throw new UsageError(`${path}: is UTF-16; save the file as UTF-8`);
  if (bytes.includes(0))
    throw new UsageError(`${path}: has zero bytes, as a file in UTF-16 has; save the file as UTF-8`);
  if (isUtf8(bytes)) return new TextDecoder().decode(bytes);
  let line = 1;
  for (let start = 0; ; line += 1) {
    const end = bytes.indexOf(NEWLINE, start);
    if (end < 0 || !isUtf8(bytes.subarray(start, end))) break;
    start = end + 1;
  }
  throw new UsageError(`${path}: line ${line} is not UTF-8; save the file as UTF-8`);
}

const NEWLINE = 10;

/**
 * Reads a plan. The rules for events are those of the gateway.
 * @throws UsageError that names each fault by its position in the file.
 */
export function parsePlan(text: string, path: string): Plan {
  try {
    return parse(text, path);
  } catch (error) {
    // YAML takes a comment of another language for text, so that its message would be about something else.
    const line = error instanceof UsageError ? lineOfComment(text) : undefined;
    if (line === undefined) throw error;
    throw new UsageError(`${path}: line ${line} has a comment with // or /*; write # instead, or remove it`, {
      cause: error,
    });
  }
}

function parse(text: string, path: string): Plan {
  // Only the types of JSON: the tag of another type is a warning here.
  const document = parseDocument(text, { version: '1.2', schema: 'core', resolveKnownTags: false });
  const [mistake] = [...document.errors, ...document.warnings];
  if (mistake?.code === 'MULTIPLE_DOCS')
    throw new UsageError(`${path}: has several documents (---); a plan is one document`);
  if (mistake) throw new UsageError(`${path}: ${mistake.message.trim()}`);
  const unusable = unusableIn(document, text);
  if (unusable !== undefined) throw new UsageError(`${path}: ${unusable}`);
  try {
    const { events } = parseInput(file, toPlain(document));
    return sortedByName(eventsOf(events));
  } catch (error) {
    if (!(error instanceof ValidationError)) throw error;
    throw new UsageError(describe(error.faults, path), { cause: error });
  }
}

/** JSON, or a file whose first line is a comment of it. In other YAML // is text. */
const JSON_LIKE = /^\s*[[{/]/;
/** A comment outside of quotes. An address such as https://example.com has none. */
const COMMENT = /(?:^|[\s,{}[\]])(?:\/\/|\/\*)/;
const QUOTED = /"(?:[^"\\\n]|\\.)*"|'[^'\n]*'/g;

function lineOfComment(text: string): number | undefined {
  if (!JSON_LIKE.test(text)) return undefined;
  const index = text
    .split('\n')
    .findIndex((line) => COMMENT.test(line.replaceAll(QUOTED, '""').replace(/(^|\s)#.*$/, '')));
  return index < 0 ? undefined : index + 1;
}

/** What is valid YAML, but would not be what its author means; undefined if there is nothing. */
function unusableIn(document: ReturnType<typeof parseDocument>, text: string): string | undefined {
  let found: string | undefined;
  const stopAt = (message: string) => {
    found = message;
    return visit.BREAK;
  };
  const lineOf = ({ range }: Scalar) => text.slice(0, range?.[0]).split('\n').length;
  visit(document, {
    Pair(_, { key }, path) {
      if (!isScalar(key)) return undefined;
      if (key.value === '<<')
        return stopAt(
          `line ${lineOf(key)}: merge keys (<<) are not supported; write the fields, or the alias of a whole value`,
        );
      // The document and its map.
      if (path.length === 2 && String(key.value).startsWith('x-'))
        return stopAt(
          `line ${lineOf(key)}: ${String(key.value)}: a plan has only version and events; write an anchor (&) where its value is first used`,
        );
      return undefined;
    },
    // As the value of an option it is text, which the number would not be: 007, 1.10, or one of too many digits.
    Scalar(_, { value, source = '' }) {
      if (typeof value !== 'number' || String(value) === source) return undefined;
      return stopAt(`the number ${source} must be quoted, because it would be changed`);
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

const propertyInFile = ({ label, type, description, options }: PlannedProperty): object => ({
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
});
