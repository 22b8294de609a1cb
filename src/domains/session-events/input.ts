import { z } from 'zod';
import { momentInput } from '../../core/moment-input.ts';
import type { SessionId } from '../../core/ids.ts';
import { idSchema, text, withDefault } from '../../core/validation.ts';
import { cursorSchema } from './cursor.ts';
import { DELIVERIES, SCOPE_KINDS, recordedEvent } from './event-data.ts';

export const DEFAULT_PAGE = 50;
export const MAX_PAGE = 1000;
export const MAX_BATCH = 1000;

/** Topics of notifications are compared as text, so ids have one spelling. */
const sessionId = idSchema<SessionId>(z.uuid().toLowerCase());
const DIGITS = 'must be a whole number';
const RANGE = `must be from 1 to ${MAX_PAGE}`;

/** The documented page. The cursor is the id of the last event seen, as a string of digits. */
export const listSessionEventsInput = z.strictObject({
  sessionId,
  limit: z
    .int(DIGITS)
    .min(1, RANGE)
    .max(MAX_PAGE, RANGE)
    .default(DEFAULT_PAGE)
    .meta({ description: 'How many events.' }),
  cursor: cursorSchema.prefault('0').meta({ description: 'Id of the last event seen, as `nextCursor` has it.' }),
  messageId: z.uuid().optional().meta({ description: 'Only events of this message.' }),
});
export type ListSessionEventsInput = z.output<typeof listSessionEventsInput>;

/** A batch is stored whole or not at all; with a `batchId` a retry stores nothing and answers the same. */
export const appendSessionEventsInput = z.strictObject({
  sessionId,
  batchId: withDefault(text({ min: 1, max: 200 }).nullable(), null),
  events: z.array(recordedEvent).min(1).max(MAX_BATCH),
});
export type AppendSessionEventsInput = z.output<typeof appendSessionEventsInput>;

const names = z
  .array(text({ max: 100 }))
  .max(100)
  .nullish();

/** Conditions of a list of events; each absent, null, or given. A list of nothing fits nothing. */
export const sessionEventFilter = z.strictObject({
  eventTypes: names,
  providers: names,
  messageId: z.uuid().nullish(),
  delivery: z.enum(DELIVERIES).nullish(),
  scope: z.enum(SCOPE_KINDS).nullish(),
  createdFrom: momentInput().nullish(),
  createdBefore: momentInput().nullish(),
});
export type SessionEventFilter = z.output<typeof sessionEventFilter>;
