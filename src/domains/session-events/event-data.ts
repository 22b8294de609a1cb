import { z } from 'zod';
import { text, withDefault } from '../../core/validation.ts';

/**
 * What is recorded of a session: workspace management API, section 6, and the decisions on section 4 ("event data"). The documented fields
 * are checked, fields that are not documented are kept, on every level, and the data stays as it was recorded, down to the order of its
 * fields. `null` is taken for every optional field, because recorders in many languages write it, and is kept too.
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
/** Of 32 bits with sign, as GraphQL's Int, so that whatever is recorded can be read. */
const integer = z.int32().nullish();

/** The documented fields: the shape that `eventData` is checked against, and that an answer's `eventData` has. */
export const eventDataFields = z.looseObject({
  type: z.string().min(1, 'must not be empty'),
  scope: z.looseObject({ kind: z.enum(SCOPE_KINDS), parentToolUseId: anyText, taskId: anyText }).nullish(),
  source: anyText,
  providerEvent: z.boolean().nullish(),
  delivery: z.enum(DELIVERIES).nullish(),
  event: z.looseObject({ event: z.string(), message: z.string(), provider: anyText, messageId: anyText }).nullish(),
  index: integer,
  itemId: anyText,
  sequenceNumber: integer,
  accumulatedText: anyText,
  deltaType: z.enum(DELTA_TYPES).nullish(),
  responsePhase: z.enum(RESPONSE_PHASES).nullish(),
  toolName: anyText,
  toolResult: z
    .looseObject({ status: z.enum(TOOL_RESULT_STATUSES), output: anyText, exitCode: integer, error: anyText })
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

/**
 * The data of one event, given back as it came: at most 1 MiB as JSON, 100 levels deep, without `__proto__`, NUL characters (PostgreSQL
 * cannot query JSON that holds one), lone surrogates and numbers that JSON cannot write.
 */
export const eventData = z.custom<EventData>().superRefine((value: unknown, context) => {
  for (const issue of compiledFields.safeParse(value).error?.issues ?? []) context.addIssue({ ...issue });
  if (typeof value !== 'object') return;
  const size = { bound: 0 };
  const fault = jsonFault(value, MAX_EVENT_DEPTH, size);
  if (fault) context.addIssue({ code: 'custom', ...fault });
  // Only data that may be over the bound is written out to be measured.
  else if (size.bound > MAX_EVENT_BYTES && Buffer.byteLength(JSON.stringify(value)) > MAX_EVENT_BYTES) {
    context.addIssue({ code: 'custom', message: `must be at most ${MAX_EVENT_BYTES} bytes (1 MiB) as JSON in UTF-8` });
  }
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

interface JsonFault {
  readonly path: string[];
  readonly message: string;
}

/**
 * The first thing that keeps a value from being stored as JSON; itself never recurses further than `levels`. Adds to `size` what the value
 * takes at most: an escaped UTF-16 code unit has six bytes, a number, with the signs around it, fewer than 32.
 */
function jsonFault(value: unknown, levels: number, size: { bound: number }): JsonFault | undefined {
  if (typeof value === 'string') {
    size.bound += value.length * 6 + 3;
    return isStorable(value) ? undefined : { path: [], message: 'must be well-formed text without NUL characters' };
  }
  size.bound += 32;
  if (value === null || typeof value === 'boolean') return undefined;
  // JSON reads 1e999 as Infinity, and would write it as null.
  if (typeof value === 'number')
    return Number.isFinite(value) ? undefined : { path: [], message: 'must be a finite number' };
  if (!isContainer(value)) return { path: [], message: 'must be JSON' };
  if (levels === 0) return { path: [], message: `must not be nested deeper than ${MAX_EVENT_DEPTH} levels` };
  return childFault(value, levels, size);
}

function childFault(
  parent: Readonly<Record<string, unknown>>,
  levels: number,
  size: { bound: number },
): JsonFault | undefined {
  // Keys rather than entries: this runs over everything that is recorded, and is a third faster so.
  for (const key of Object.keys(parent)) {
    if (key === '__proto__') return { path: [key], message: 'is not an allowed property name' };
    if (!isStorable(key))
      return { path: [], message: 'must have property names of well-formed text without NUL characters' };
    size.bound += key.length * 6 + 4;
    const fault = jsonFault(parent[key], levels - 1, size);
    if (fault) return { path: [key, ...fault.path], message: fault.message };
  }
  return undefined;
}

/** An object or a list. */
function isContainer(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null;
}

/** A lone surrogate is not Unicode, and PostgreSQL takes neither it nor NUL out of JSON. */
function isStorable(value: string): boolean {
  return !value.includes('\0') && value.isWellFormed();
}
