import { z } from 'zod';
import { fileParameters } from '../../core/input/file-parameters.ts';
import type { GroupId, UserId } from '../../core/ids.ts';
import { DAY_MS } from '../../core/text/timestamps.ts';
import { idSchema, rule, text } from '../../core/input/validation.ts';

export const USAGE_GROUPS = ['DAY', 'AGENT', 'MODEL', 'PROJECT', 'CREATOR', 'TOOL'] as const;
export type UsageGroup = (typeof USAGE_GROUPS)[number];

export const MAX_DAYS = 366;

export const FROM = 'The first day, in UTC.';
export const BEFORE = 'The day after the last one, in UTC; at most 366 days after `from`.';
/** PostgreSQL has no year 0. */
const day = z.iso.date().refine((value) => !value.startsWith('0000'), 'must be between the years 1 and 9999');
const groupBy = z.enum(USAGE_GROUPS);
const GROUP_BY = 'What each row is about.';

const name = text({ min: 1, max: 500 });
const userId = idSchema<UserId>(z.uuid().toLowerCase());
const groupId = idSchema<GroupId>(z.uuid().toLowerCase());
const anyOf = <Item extends z.core.$ZodType>(item: Item) => z.array(item).max(100).nullish();

export const usageFilter = z
  .strictObject({
    agents: anyOf(name).describe('Of any of these agents.'),
    models: anyOf(name).describe('Of any of these models. Sessions and tool calls are not counted by model.'),
    projectIds: anyOf(name).describe('Of sessions in any of these projects.'),
    creatorIds: anyOf(userId).describe('Of sessions that any of these people and service accounts have created.'),
    creatorGroupIds: anyOf(groupId).describe('Of sessions whose creator is now in any of these groups.'),
  })
  .describe('Conditions on what is summed. All that are given must be met; one with an empty list matches nothing.');
export type UsageFilter = z.output<typeof usageFilter>;

interface Days {
  readonly from: string;
  readonly before?: string | null | undefined;
  readonly until?: string | null | undefined;
}

/** The day after the last one by its name and by its older name. */
const end = {
  before: day.nullish().describe(BEFORE),
  until: day.nullish().describe('As `before`.').meta({ deprecated: true }),
};

function checkDays({ from, before, until }: Days, context: z.RefinementCtx): void {
  const [given, last] = before == null ? ['until', until] : ['before', before];
  const refuse = (path: string, broken: object) =>
    context.addIssue({ code: 'custom', input: last, path: [path], ...broken });
  if (last == null || (before != null && until != null))
    refuse('before', rule(last == null ? 'REQUIRED' : 'CONFLICTING', 'give either before or until'));
  else if (from >= last) refuse(given, rule('CONFLICTING', 'must be after from'));
  else if (Date.parse(last) - Date.parse(from) > MAX_DAYS * DAY_MS)
    refuse(given, rule('TOO_MANY', `must be at most ${MAX_DAYS} days after from`, MAX_DAYS));
}

const withEnd = <Given extends Days>({ before, until, ...given }: Given) => ({
  ...given,
  before: before ?? until ?? '',
});

export const usageReportInput = z
  .strictObject({
    from: day.describe(FROM),
    ...end,
    groupBy: groupBy.nullish().describe(GROUP_BY),
    filter: usageFilter.nullish(),
  })
  .superRefine(checkDays)
  .transform(withEnd);
export type UsageReportInput = z.output<typeof usageReportInput>;

const repeated = <Item extends z.core.$ZodType>(item: Item, meaning: string) =>
  z.array(item).max(100).optional().describe(`${meaning} Can be repeated, at most 100 times.`);

/** The same as query parameters of REST; a condition with several values is repeated in the query. */
export const usageReportParameters = z
  .strictObject({
    from: day.describe(FROM),
    ...end,
    groupBy: groupBy.default('DAY').describe(GROUP_BY),
    agents: repeated(name, 'Of this agent.'),
    models: repeated(name, 'Of this model. Sessions and tool calls are not counted by model.'),
    projectIds: repeated(name, 'Of sessions in this project.'),
    creatorIds: repeated(userId, 'Of sessions that this person or service account has created.'),
    creatorGroupIds: repeated(groupId, 'Of sessions whose creator is now in this group.'),
    bom: z
      .boolean()
      .optional()
      .describe('Whether CSV begins with a byte order mark, which spreadsheets need to read it as UTF-8.'),
    ...fileParameters('csv'),
  })
  .superRefine(checkDays)
  .transform(withEnd);
