import { z } from 'zod';
import { type SumField, usageDocument } from '../sessions/public.ts';

/** What both APIs answer. */

const { cacheWriteTokens: _cacheWriteTokens, ...used } = usageDocument.shape;
const count = (text: string, example: number) => z.int().nullable().describe(text).meta({ example });

export const totalsDocument = z
  .strictObject({
    sessions: count('Sessions that were created. Null where sessions are not counted: by model and by tool.', 14),
    failedSessions: count(
      'How often sessions have failed. Null where sessions are not counted: by model and by tool.',
      1,
    ),
    ...used,
  } satisfies Record<Exclude<SumField, 'cacheWriteTokens'>, z.ZodType>)
  .meta({ id: 'UsageReportTotals' });

export const rowDocument = z
  .strictObject({
    key: z
      .string()
      .nullable()
      .describe(
        'The day, the name of the agent, model or tool, or the id of the project or creator. Null for what has none. The last of 1,000 rows is `other`, with the sum of all rows that are smaller.',
      )
      .meta({ example: 'coder' }),
    label: z
      .string()
      .describe(
        'The key as people read it: the name of a project, the e-mail address of a creator, or the name of a service account. The key where that is not known.',
      )
      .meta({ example: 'coder' }),
    ...totalsDocument.shape,
  })
  .meta({ id: 'UsageReportRow' });

export const reportDocument = z
  .strictObject({
    rows: z
      .array(rowDocument)
      .describe(
        'A row for each day, agent, model, project, creator or tool, the largest first: by cost, then tokens, tool calls and sessions. At most 1,000.',
      ),
    totals: totalsDocument.describe('The sums of all rows.'),
  })
  .meta({ id: 'UsageReport' });

/** In GraphQL alone. */
export const sessionCountDocument = z.strictObject({
  key: z
    .string()
    .nullable()
    .describe(
      'The day of creation in UTC, the name of the agent, model or tool, or the id of the project or creator. Null for sessions that have none.',
    ),
  sessions: z.int().describe('Sessions in any state.'),
  queued: z.int().describe('Sessions that wait for a runner.'),
  inProgress: z.int().describe('Sessions that are running.'),
  completed: z.int().describe('Sessions that have succeeded.'),
  failed: z.int().describe('Sessions that have failed.'),
  cancelled: z.int().describe('Sessions that were canceled.'),
});
