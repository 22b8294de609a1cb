import { z } from 'zod';
import { createdBetween } from '../../core/input/moments.ts';
import type { SessionId } from '../../core/ids.ts';
import { idSchema, optional, rule, text, withDefault } from '../../core/input/validation.ts';
import { cursorSchema } from './cursor.ts';
import { ENTRY_KINDS } from './entry-fold.ts';
import { DELIVERIES, SCOPE_KINDS, recordedEvent } from './event-data.ts';
import { FORMAT_NAMES } from './formats/names.ts';
import { memberTable } from './formats/member-table.ts';
import { listInput } from '../../core/input/lists.ts';
import { sessionConditions } from '../sessions/public.ts';
import { phrasesOf } from './search-text.ts';
import { SEARCHED_TEXT } from './texts.ts';

export const DEFAULT_PAGE = 50;
export const MAX_PAGE = 1000;
export const MAX_BATCH = 1000;

/** Lower case, because notification topics compare ids as text. */
const sessionId = idSchema<SessionId>(z.uuid().toLowerCase()).describe('Id of the session.');
const DIGITS = 'must be a whole number';
const RANGE = `must be from 1 to ${MAX_PAGE}`;

/** Query parameters of a page. The cursor is the id of the last event seen, as a string of digits. */
export const listSessionEventsInput = z.strictObject({
  sessionId,
  limit: z
    .int(DIGITS)
    .min(1, RANGE)
    .max(MAX_PAGE, RANGE)
    .default(DEFAULT_PAGE)
    .describe('Maximum number of events on the page.'),
  cursor: cursorSchema.prefault('0').describe('Id of the last event seen, such as `nextCursor` of the previous page.'),
  messageId: z.uuid().optional().describe('Lists only events of this message.'),
});
export type ListSessionEventsInput = z.output<typeof listSessionEventsInput>;

const batchId = withDefault(text({ min: 1, max: 200 }).nullable(), null).describe(
  'Id of the batch, which the client chooses to make retries safe.',
);

/** Either all events of a batch are stored or none. With a `batchId`, a retry stores nothing and returns the same ids. */
export const appendSessionEventsInput = z.strictObject({
  sessionId,
  batchId,
  events: z.array(recordedEvent).min(1).max(MAX_BATCH).describe('The events, in order.'),
});

export type AppendSessionEventsInput = z.output<typeof appendSessionEventsInput>;

/** A path below a folder, with `/` on every system. */
const fileName = text({ min: 1, max: 500 }).regex(
  /^(?![/\\])(?!.*(?:^|[/\\])\.\.?(?:[/\\]|$))/,
  'must be a path below the folder of the agent',
);

/** The lines of an agent, in a body of the media type `application/x-ndjson`. */
export const appendSessionLinesInput = z
  .strictObject({
    sessionId,
    format: z.enum(FORMAT_NAMES).describe('The agent whose lines these are.'),
    batchId,
    map: optional(memberTable).describe(
      'Only for the format `jsonl`: what its members mean, as `MEMBER=ROLE` or `MEMBER:VALUE=ROLE`, separated by commas.',
    ),
    subagent: optional(text({ min: 1, max: 200 })).describe(
      'Id of the subagent whose lines these are, where they do not say so themselves.',
    ),
    file: fileName
      .optional()
      .describe('The file of a transcript whose lines these are, below the folder that its agent has for the session.'),
    fromLine: z
      .int()
      .min(1)
      .max(2 ** 31 - 1)
      .optional()
      .describe('The number of the first of these lines in the file, from 1. Blank lines count.'),
    pulled: z
      .enum(['true', 'false'])
      .default('false')
      .describe(
        'Whether a pull has written these lines to a file: they are only remembered as forms of the lines there.',
      ),
    resumed: z.enum(['true', 'false']).default('false').describe('Whether the agent goes on with an earlier run.'),
    text: z.string(),
  })
  .refine(({ format, map }) => map === undefined || format === 'jsonl', {
    path: ['map'],
    ...rule('CONFLICTING', 'is only for the format jsonl'),
  })
  .refine(({ file, fromLine }) => (file === undefined) === (fromLine === undefined), {
    path: ['fromLine'],
    ...rule('CONFLICTING', 'file and fromLine belong together'),
  })
  .refine(({ pulled, file }) => pulled === 'false' || file !== undefined, {
    path: ['pulled'],
    ...rule('CONFLICTING', 'needs file and fromLine'),
  });
export type AppendSessionLinesInput = z.output<typeof appendSessionLinesInput>;

export const EXPORT_FORMATS = ['ndjson', 'markdown', 'transcript'] as const;

export const exportSessionInput = z.strictObject({
  sessionId,
  format: z.enum(EXPORT_FORMATS).default('ndjson').describe('The format of the file.'),
});

/** The phrases of a search, all of which must be found. */
const searchText = text({ min: 1, max: 1000 })
  .transform(phrasesOf)
  .refine((phrases) => phrases.length > 0, 'must have at least one letter or digit');

/** Arguments of GraphQL, of which one has an older name. */
export const searchArguments = z
  .strictObject({ search: searchText.nullish(), text: searchText.nullish() })
  .refine(({ search, text: older }) => (search == null) !== (older == null), {
    path: ['search'],
    ...rule('CONFLICTING', 'give either search or text'),
  });
/** Query parameters of the REST list. */
export const searchSessionsInput = z.strictObject({
  text: searchText.describe(SEARCHED_TEXT),
  ...sessionConditions,
  ...listInput,
});

const IS_EVENT_ID = 'must be the id of an event';
/** A global id of an event begins with the session. */
const eventId = z
  .union([z.int().min(1), z.string().regex(/^(?:[0-9a-f-]{36}:)?[1-9]\d{0,14}$/i, IS_EVENT_ID)], IS_EVENT_ID)
  .transform((given) => {
    const [id = '', of = null] = String(given).toLowerCase().split(':').toReversed();
    return { sessionId: of, id: Number(id) };
  });

export const redactedText = text({ min: 4, max: 10_000 });

/** Exactly one of `text` and `eventIds`. */
export const redactSessionEventsInput = z
  .strictObject({
    sessionId,
    text: optional(redactedText).describe('The text to replace wherever it occurs.'),
    eventIds: optional(z.array(eventId).min(1).max(1000)).describe('Events of which every text is replaced.'),
  })
  .refine((given) => (given.text === undefined) !== (given.eventIds === undefined), {
    path: ['text'],
    ...rule('CONFLICTING', 'give either text or eventIds'),
  });

const names = z
  .array(text({ max: 100 }))
  .max(100)
  .nullish();

/** All conditions that are given must be met; null is the same as absent. */
export const sessionEventFilter = z
  .strictObject({
    eventTypes: names.describe('Events of any of these types.'),
    providers: names.describe('Events of any of these providers.'),
    messageId: z.uuid().nullish().describe('Events of this message.'),
    delivery: z.enum(DELIVERIES).nullish().describe('Events with this delivery.'),
    itemIds: z
      .array(text({ max: 1000 }))
      .max(100)
      .nullish()
      .describe('Events of any of these items, such as the call of a tool with its result.'),
    scope: z.enum(SCOPE_KINDS).nullish().describe('Events with this kind of scope.'),
    isError: z
      .boolean()
      .nullish()
      .describe(
        'True lists only events that report an error: a call of a tool whose status is `error` or whose exit code is not 0, or an event that is neither a call nor a message, whose name at the provider, or else whose type, has `error` or `fail` in it. False lists only the others. When absent, both are listed.',
      ),
    text: searchText.nullish().describe('As `search`.'),
    search: searchText
      .nullish()
      .describe(
        `Events whose text has this: ${SEARCHED_TEXT} Events are found some seconds after they were recorded. Not possible in subscriptions.`,
      ),
    ...createdBetween,
  })
  .describe(
    'Conditions on events. An event is included when it meets all of them. A condition with an empty list matches nothing.',
  );
export type SessionEventFilter = z.output<typeof sessionEventFilter>;

const subagentId = text({ min: 1, max: 2000 });

const turnNumber = z
  .int()
  .min(0)
  .max(2 ** 31 - 1);
export const sessionEntryFilter = z
  .strictObject({
    kinds: z.array(z.enum(ENTRY_KINDS)).max(ENTRY_KINDS.length).nullish().describe('Entries of any of these kinds.'),
    isFailed: z.boolean().nullish().describe('Whether the entry has failed.'),
    toolNames: z
      .array(text({ max: 200 }))
      .max(100)
      .nullish()
      .describe('Calls of any of these tools.'),
    subagentIds: z.array(subagentId).max(100).nullish().describe('Entries of any of these subagents.'),
    search: searchText
      .nullish()
      .describe(
        `Entries whose text has this: ${SEARCHED_TEXT} Entries are found some seconds after they were recorded.`,
      ),
    turnFrom: turnNumber.nullish().describe('Entries of this turn and of later ones.'),
    turnBefore: turnNumber.nullish().describe('Entries of turns before this one.'),
  })
  .describe(
    'Conditions on entries. An entry is included when it meets all of them. A condition with an empty list matches nothing.',
  );
export type SessionEntryFilter = z.output<typeof sessionEntryFilter>;

/** Values that are repeated in the query, or separated by commas. */
const listed = <Item extends z.ZodType<unknown, string>>(item: Item, meaning: string) =>
  z
    .array(z.string().max(10_000))
    .max(100)
    .transform((given) => given.flatMap((some) => some.split(',')))
    .pipe(z.array(item).max(100))
    .optional()
    .describe(`${meaning} Several are separated by commas.`);

/** Entries of a page. */
export const MAX_ENTRIES = 500;
const { shape: conditions } = sessionEntryFilter;
const ENTRY_RANGE = `must be from 1 to ${MAX_ENTRIES}`;

/** Query parameters of a page of entries. The cursor is the id of the last entry; for the live stream that of the last event. */
export const listSessionEntriesInput = z.strictObject({
  sessionId,
  limit: z
    .int(DIGITS)
    .min(1, ENTRY_RANGE)
    .max(MAX_ENTRIES, ENTRY_RANGE)
    .default(DEFAULT_PAGE)
    .describe('Maximum number of entries on the page.'),
  cursor: cursorSchema.prefault('0').describe('Id of the last entry seen, such as `nextCursor` of the previous page.'),
  kinds: listed(z.enum(ENTRY_KINDS), 'Entries of these kinds.'),
  isFailed: z.boolean().optional().describe('Whether the entry has failed.'),
  toolNames: listed(text({ max: 200 }), 'Calls of these tools.'),
  subagentIds: listed(subagentId, 'Entries of these subagents.'),
  search: searchText.optional().describe(conditions.search.description ?? ''),
  turnFrom: turnNumber.optional().describe(conditions.turnFrom.description ?? ''),
  turnBefore: turnNumber.optional().describe(conditions.turnBefore.description ?? ''),
});
export type ListSessionEntriesInput = z.output<typeof listSessionEntriesInput>;
