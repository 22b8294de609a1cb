import { type InputFault } from '../../core/errors.ts';
import { z } from 'zod';
import { NOT_STORABLE, isStorable, text, withDefault, rule } from '../../core/validation.ts';

/**
 * The data of recorded events: workspace management API, section 6. Documented fields are checked for their type. Unknown fields, and unknown
 * values of enumerated fields, are kept, because model providers add new ones. `null` is accepted for every optional field, and kept.
 */

/** Bytes of one event's data as JSON in UTF-8: 1 MiB. */
export const MAX_EVENT_BYTES = 1024 * 1024;
/** Levels of objects and arrays; the data itself is the first. */
export const MAX_EVENT_DEPTH = 100;

export const SCOPE_KINDS = ['foreground', 'subagent', 'background'] as const;
export const DELIVERIES = ['realtime', 'persist'] as const;
export const DELTA_TYPES = ['text_delta', 'input_json_delta'] as const;
export const RESPONSE_PHASES = ['commentary', 'final_answer'] as const;
export const TOOL_RESULT_STATUSES = ['running', 'completed', 'error'] as const;

const anyText = z.string().nullish();
/** Text with known values, beside which providers add others. */
const oneOf = (known: readonly string[]) =>
  z.string().meta({ description: `One of ${known.join(', ')}, or a value that a provider has added.` });
/** Within 32 bits with sign, as GraphQL's Int. */
const integer = z.int32().nullish();

/** The documented fields: the shape that `eventData` is checked against, and that an answer's `eventData` has. */
export const eventDataFields = z.looseObject({
  type: z.string().min(1, 'must not be empty'),
  scope: z.looseObject({ kind: oneOf(SCOPE_KINDS), parentToolUseId: anyText, taskId: anyText }).nullish(),
  source: anyText,
  providerEvent: z.boolean().nullish(),
  delivery: oneOf(DELIVERIES).nullish(),
  event: z.looseObject({ event: z.string(), message: z.string(), provider: anyText, messageId: anyText }).nullish(),
  index: integer,
  itemId: anyText,
  sequenceNumber: integer,
  accumulatedText: anyText,
  deltaType: oneOf(DELTA_TYPES).nullish(),
  responsePhase: oneOf(RESPONSE_PHASES).nullish(),
  toolName: anyText,
  toolResult: z
    .looseObject({ status: oneOf(TOOL_RESULT_STATUSES), output: anyText, exitCode: integer, error: anyText })
    .nullish(),
  snapshotId: anyText,
  snapshotCreatedAt: anyText,
});

const compiledFields = z.compile(eventDataFields);

/** The documented fields alone; the fields beside them are kept and read as JSON. */
export type EventData = Documented<z.output<typeof eventDataFields>>;

type Documented<Value> = Value extends object
  ? { [Key in keyof Value as string extends Key ? never : Key]: Documented<Value[Key]> }
  : Value;

/** What JSON writes a NUL character or a lone surrogate as; or what looks like one, where a backslash stands before it. */
const ESCAPED = /\\u(?:0000|d[89a-f])/;

/** For the reader of openapi.json. */
const DOCUMENTED = {
  type: 'object' as const,
  properties: { type: { type: 'string' as const, minLength: 1 } },
  required: ['type'],
  additionalProperties: true,
  description: 'The data of the event, with the fields that its reading documents. Other fields are kept as they came.',
};

/**
 * The data of one event as JSON text, stored as it was sent: at most 1 MiB, 100 levels deep, without `__proto__`, NUL
 * characters (PostgreSQL cannot query JSON that contains one), lone surrogates and numbers that JSON cannot write.
 */
export const eventData = z
  .unknown()
  .meta(DOCUMENTED)
  .transform((value, context): string => {
    for (const issue of compiledFields.safeParse(value).error?.issues ?? []) context.addIssue({ ...issue });
    if (typeof value !== 'object') return z.NEVER;
    const refuse = (fault: JsonFault) => {
      context.addIssue({ code: 'custom', path: fault.path, ...rule(fault.code, fault.message, fault.limit) });
      return z.NEVER;
    };
    const fault = shapeFault(value, MAX_EVENT_DEPTH);
    if (fault) return refuse(fault);
    // Written once: what is wrong with texts is found in what is to be stored of them all.
    const json = JSON.stringify(value);
    const unstorable = ESCAPED.test(json) && textFault(value);
    if (unstorable) return refuse(unstorable);
    if (Buffer.byteLength(json) <= MAX_EVENT_BYTES) return json;
    return refuse({
      path: [],
      code: 'TOO_LONG',
      message: `must be at most ${MAX_EVENT_BYTES} bytes (1 MiB) as JSON in UTF-8`,
      limit: MAX_EVENT_BYTES,
    });
  });

const recordedAt = z.iso
  .datetime({
    offset: true,
    error: 'must be an ISO 8601 date and time with its offset, such as 2026-03-01T10:20:30.500Z',
  })
  // Most come in our own form; the library has checked the calendar.
  .transform((value) => (value.length === 24 && value.endsWith('Z') ? value : new Date(value).toISOString()))
  .refine((value) => /^(?:19[7-9]|[2-9]\d\d)\d-/.test(value), 'must be from 1970 to 9999');

/**
 * One event as a runner records it. Without `createdAt` it is as old as its recording; a given one is taken over to the millisecond, in UTC.
 * Times need not rise: ids, not times, order the events of a session. Compiled, because a batch holds a thousand: half the time.
 */
export const recordedEvent = z.compile(
  z.strictObject({
    eventType: text({ min: 1, max: 100 }),
    messageId: withDefault(z.uuid().nullable(), null),
    provider: text({ min: 1, max: 100 }),
    createdAt: withDefault(recordedAt.nullable(), null),
    eventData,
  }),
);

export type RecordedEvent = z.output<typeof recordedEvent>;

interface JsonFault extends Pick<InputFault, 'code' | 'limit'> {
  readonly path: string[];
  readonly message: string;
}

/** The first thing, beside its texts, that keeps a value from being written as JSON; itself never recurses further than `levels`. */
function shapeFault(value: unknown, levels: number): JsonFault | undefined {
  if (value === null || typeof value === 'string' || typeof value === 'boolean') return undefined;
  // JSON reads 1e999 as Infinity, and would write it as null.
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
  // Keys rather than entries: this runs over everything that is recorded, and is a third faster so.
  for (const key of Object.keys(value)) {
    if (key === '__proto__') return { path: [key], code: 'NOT_ALLOWED', message: 'is not an allowed property name' };
    const fault = shapeFault(value[key], levels - 1);
    if (fault) return within(key, fault);
  }
  return undefined;
}

/** The first text that cannot be stored, in a value that has no other fault. */
function textFault(value: unknown): JsonFault | undefined {
  if (typeof value === 'string')
    return isStorable(value) ? undefined : { path: [], code: 'BAD_FORMAT', message: NOT_STORABLE };
  if (!isContainer(value)) return undefined;
  for (const key of Object.keys(value)) {
    if (!isStorable(key))
      return {
        path: [],
        code: 'BAD_FORMAT',
        message: 'must have property names of well-formed text without NUL characters',
      };
    const fault = textFault(value[key]);
    if (fault) return within(key, fault);
  }
  return undefined;
}

const within = (key: string, fault: JsonFault): JsonFault => ({ ...fault, path: [key, ...fault.path] });

/** An object or a list. */
function isContainer(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null;
}
