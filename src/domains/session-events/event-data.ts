import { z } from 'zod';
import type { InputFault } from '../../core/errors.ts';
import { described } from '../../core/documents.ts';
import { isExactNumber } from '../../core/text/exact-json.ts';
import { rule, withDefault } from '../../core/input/validation.ts';
import { EVENT_DATA_TEXTS, PROVIDER_EVENT_TEXTS, SCOPE_TEXTS, TOOL_RESULT_TEXTS } from './texts.ts';

/** Replaces what PostgreSQL cannot store in texts and names: NUL characters and lone surrogates become U+FFFD. */

const REPLACEMENT = '\uFFFD';

interface Repaired<Value> {
  readonly value: Value;
  /** How many texts were changed. */
  readonly repairedTexts: number;
}

/** @param value JSON; it is returned itself when nothing has to be repaired */
function repairTexts<Value>(value: Value): Repaired<Value> {
  let repairedTexts = 0;
  const repair = (part: unknown): unknown => {
    if (typeof part === 'string') {
      if (part.isWellFormed() && !part.includes('\0')) return part;
      repairedTexts += 1;
      return part.toWellFormed().replaceAll('\0', REPLACEMENT);
    }
    if (typeof part !== 'object' || part === null || isExactNumber(part)) return part;
    if (Array.isArray(part)) return part.map(repair);
    const properties = new Map<string, unknown>();
    for (const [name, item] of Object.entries(part)) {
      let repairedName = String(repair(name));
      while (properties.has(repairedName)) repairedName += REPLACEMENT;
      properties.set(repairedName, repair(item));
    }
    return Object.fromEntries(properties);
  };
  const repaired = repair(value);
  // Only texts have changed.
  return { value: repairedTexts === 0 ? value : (repaired as Value), repairedTexts };
}

/**
 * The data of recorded events (workspace management API, section 6). The types of documented fields are checked. Unknown fields and unknown
 * values of enumerations are stored, because model providers add new ones. `null` is accepted for every optional field and stored.
 */

/** Maximum size of the data of an event, as JSON in UTF-8: 1 MiB. */
export const MAX_EVENT_BYTES = 1024 * 1024;
/** Maximum number of nested objects and arrays. The data itself is the first level. */
export const MAX_EVENT_DEPTH = 100;

export const SCOPE_KINDS = ['foreground', 'subagent', 'background'] as const;
export const DELIVERIES = ['realtime', 'persist'] as const;
export const DELTA_TYPES = ['text_delta', 'input_json_delta'] as const;
export const RESPONSE_PHASES = ['commentary', 'final_answer'] as const;
export const TOOL_RESULT_STATUSES = ['running', 'completed', 'error'] as const;

const anyText = z.string().nullish();
/** For text with known values. Other values are accepted, because providers add new ones. */
const oneOf = (known: readonly string[]) => `One of ${known.join(', ')}, or another value that a provider has added.`;
/** An integer of at most 64 bits, which can be larger than a JavaScript number represents exactly. */
const integer = z
  .unknown()
  .refine((value) => value == null || isInteger64(value), rule('WRONG_TYPE', 'must be an integer of at most 64 bits'))
  .meta({ type: ['integer', 'null'], format: 'int64' })
  .optional();

/** Signed or unsigned. */
function isInteger64(value: unknown): boolean {
  const text = isExactNumber(value) ? value.rawJSON : Number.isInteger(value) ? BigInt(Number(value)).toString() : '';
  if (!/^-?\d{1,20}$/.test(text)) return false;
  const integral = BigInt(text);
  return integral >= -(2n ** 63n) && integral < 2n ** 64n;
}

/** The documented fields of `eventData`, in requests and answers. */
export const eventDataFields = z.looseObject(
  described(EVENT_DATA_TEXTS, {
    type: z.string().min(1, 'must not be empty'),
    scope: z
      .looseObject(
        described(SCOPE_TEXTS, {
          kind: z.string().describe(oneOf(SCOPE_KINDS)),
          parentToolUseId: anyText,
          taskId: anyText,
        }),
      )
      .nullish(),
    source: anyText,
    providerEvent: z.boolean().nullish(),
    delivery: anyText.describe(oneOf(DELIVERIES)),
    event: z
      .looseObject(
        described(PROVIDER_EVENT_TEXTS, {
          event: z.string(),
          message: z.string(),
          provider: anyText,
          messageId: anyText,
        }),
      )
      .nullish(),
    index: integer,
    itemId: anyText,
    sequenceNumber: integer,
    accumulatedText: anyText,
    // Stored whatever they are, as always.
    delta: z.unknown().optional(),
    usage: z.unknown().optional(),
    deltaType: anyText.describe(oneOf(DELTA_TYPES)),
    responsePhase: anyText.describe(oneOf(RESPONSE_PHASES)),
    toolName: anyText,
    toolResult: z
      .looseObject(
        described(TOOL_RESULT_TEXTS, {
          status: z.string().describe(oneOf(TOOL_RESULT_STATUSES)),
          output: anyText,
          exitCode: integer,
          error: anyText,
        }),
      )
      .nullish(),
    snapshotId: anyText,
    snapshotCreatedAt: anyText,
  }),
);

const compiledFields = z.compile(eventDataFields);

/** The documented fields only. Other fields are available as JSON. */
export type EventData = Documented<z.output<typeof eventDataFields>>;

type Documented<Value> = Value extends object
  ? { [Key in keyof Value as string extends Key ? never : Key]: Documented<Value[Key]> }
  : Value;

/** The JSON escape of a NUL character or a lone surrogate. It also matches an escaped backslash before the same characters. */
const ESCAPED = /\\u(?:0000|d[89a-f])/;

/** The schema in openapi.json. */
const DOCUMENTED = {
  type: 'object' as const,
  properties: {
    type: { type: 'string' as const, minLength: 1, description: EVENT_DATA_TEXTS.type },
    delta: { description: EVENT_DATA_TEXTS.delta },
    usage: { description: EVENT_DATA_TEXTS.usage },
  },
  required: ['type'],
  additionalProperties: true,
  description:
    'The data of the event, at most 1 MiB as JSON, with the fields that are documented for reading events. Other fields are stored unchanged. `usage` has the amounts that are added, with their `model`, or the part of each in `costUsd` by name in `costByModel`.',
};

interface EventJson {
  readonly json: string;
  readonly repairedTexts: number;
}

/**
 * The data of one event as JSON text, stored unchanged: at most 1 MiB and 100 levels, without `__proto__`. Only NUL characters, which
 * PostgreSQL cannot query in JSON, and lone surrogates are replaced.
 */
export const eventData = z
  .unknown()
  .meta(DOCUMENTED)
  .transform((value, context): EventJson => {
    const refuse = (fault: JsonFault) => {
      context.addIssue({ code: 'custom', path: fault.path, ...rule(fault.code, fault.message, fault.limit) });
      return z.NEVER;
    };
    const size = { bytes: 0 };
    const fault = shapeFault(value, MAX_EVENT_DEPTH, size);
    // Validating and writing what is larger takes much longer than counting it.
    if (size.bytes > MAX_EVENT_BYTES) return refuse(TOO_LONG);
    for (const issue of compiledFields.safeParse(value).error?.issues ?? []) context.addIssue({ ...issue });
    if (typeof value !== 'object') return z.NEVER;
    if (fault) return refuse(fault);
    // Serialized once: faulty texts are found by searching the result.
    const asGiven = JSON.stringify(value);
    const { value: repaired, repairedTexts } = ESCAPED.test(asGiven) ? repairTexts(value) : { value, repairedTexts: 0 };
    const json = repairedTexts > 0 ? JSON.stringify(repaired) : asGiven;
    // A character has at most three bytes.
    if (json.length * 3 <= MAX_EVENT_BYTES || Buffer.byteLength(json) <= MAX_EVENT_BYTES)
      return { json, repairedTexts };
    return refuse(TOO_LONG);
  });

const recordedAt = z.iso
  .datetime({
    offset: true,
    error: 'must be an ISO 8601 date and time with an offset, such as 2026-03-01T10:20:30.500Z',
  })
  // Most times are already in the stored form, the only one of 24 characters. The library has checked that the date exists.
  .transform((value) => (value.length === 24 ? value : new Date(value).toISOString()))
  .refine((value) => /^(?:19[7-9]|[2-9]\d\d)\d-/.test(value), 'must be between the years 1970 and 9999');

/** Maximum length of the type of an event and of its provider. */
export const MAX_EVENT_NAME = 100;
const name = z.string().min(1, 'must not be empty').max(MAX_EVENT_NAME);

/** One event as a runner sends it. */
export const recordedEventFields = z
  .strictObject({
    eventType: name.describe('Type of the event.'),
    messageId: withDefault(z.uuid().nullable(), null).describe('Id of the message that the event belongs to.'),
    provider: name.nullish().describe('Name of the model provider. When absent, none, as for the result of a tool.'),
    createdAt: withDefault(recordedAt.nullable(), null).describe('When the event happened. When absent, now.'),
    eventData,
  })
  .describe('An event to append to a session.');

export interface RecordedEvent {
  readonly eventType: string;
  readonly messageId: string | null;
  /** Empty for none. */
  readonly provider: string;
  readonly createdAt: string | null;
  /** JSON text. */
  readonly eventData: string;
  /** In how many texts characters were replaced that cannot be stored. */
  readonly repairedTexts: number;
}

/**
 * Without `createdAt` an event gets the time of storing; a given time is converted to UTC with milliseconds. Times need not be ascending,
 * because events are ordered by id. The schema is compiled, which halves the time for a batch of 1000 events.
 */
export const recordedEvent = z.compile(
  recordedEventFields.transform(({ eventData: { json, repairedTexts }, ...fields }): RecordedEvent => {
    const { eventType, provider } = fields;
    const { value: names, repairedTexts: more } = repairTexts({ eventType, provider: provider ?? '' });
    return { ...fields, ...names, eventData: json, repairedTexts: repairedTexts + more };
  }),
);

interface JsonFault extends Pick<InputFault, 'code' | 'limit'> {
  readonly path: string[];
  readonly message: string;
}

const TOO_LONG: JsonFault = {
  path: [],
  code: 'TOO_LONG',
  message: `must be at most ${MAX_EVENT_BYTES} bytes (1 MiB) as JSON in UTF-8`,
  limit: MAX_EVENT_BYTES,
};

/**
 * The first fault of a value other than in its texts: not JSON, too deep, or too large. The recursion is never deeper than `levels`.
 * @param size Counts what the names, commas and colons take at least.
 */
function shapeFault(value: unknown, levels: number, size: { bytes: number }): JsonFault | undefined {
  if (value === null || typeof value === 'string' || typeof value === 'boolean') return undefined;
  // Written as it came.
  if (isExactNumber(value)) return undefined;
  if (typeof value === 'number')
    return Number.isFinite(value) ? undefined : { path: [], code: 'NOT_ALLOWED', message: 'must be a finite number' };
  if (!isContainer(value)) return { path: [], code: 'WRONG_TYPE', message: 'must be JSON' };
  if (levels === 0)
    return {
      path: [],
      code: 'TOO_MANY',
      message: `must not be nested deeper than ${MAX_EVENT_DEPTH} levels`,
      limit: MAX_EVENT_DEPTH,
    };
  // No keys are made for the items of a list, of which there can be hundreds of thousands.
  if (Array.isArray(value)) {
    size.bytes += 2 * value.length;
    for (let index = 0; index < value.length; index += 1) {
      const fault = size.bytes > MAX_EVENT_BYTES ? TOO_LONG : shapeFault(value[index], levels - 1, size);
      if (fault) return within(String(index), fault);
    }
    return undefined;
  }
  // `Object.keys` is a third faster here than `Object.entries`, and this runs for all recorded data.
  for (const key of Object.keys(value)) {
    if (key === '__proto__') return { path: [key], code: 'NOT_ALLOWED', message: 'is not an allowed property name' };
    size.bytes += key.length + 4;
    const fault = size.bytes > MAX_EVENT_BYTES ? TOO_LONG : shapeFault(value[key], levels - 1, size);
    if (fault) return within(key, fault);
  }
  return undefined;
}

const within = (key: string, fault: JsonFault): JsonFault => ({ ...fault, path: [key, ...fault.path] });

/** Whether the value is an object or a list. */
const isContainer = (value: unknown): value is Readonly<Record<string, unknown>> =>
  typeof value === 'object' && value !== null;
