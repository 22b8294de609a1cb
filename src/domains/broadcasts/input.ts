import { z } from 'zod';
import type { BroadcastChannelId, BroadcastId } from '../../core/ids.ts';
import { momentInput } from '../../core/input/moments.ts';
import { idSchema, optional, rule, text, refuseExactNumbers } from '../../core/input/validation.ts';
import { BROADCAST_STATUSES, type BroadcastStatus } from './entity.ts';

/** Maximum size of the content of a broadcast, as JSON in UTF-8: 64 KiB. */
const MAX_CONTENT_BYTES = 64 * 1024;
/** Maximum number of nested objects and arrays. The content itself is the first level. */
const MAX_CONTENT_DEPTH = 20;
const DEFAULT_LIMIT = 100;
const MAX_LIMIT = 500;

/** The path parameter is spelled as in the documents. */
export const broadcastReference = z.strictObject({
  broadcast_guid: idSchema<BroadcastId>().describe('Id of the broadcast.'),
});

/** The last two are spellings that older clients use. */
const STATUS_SPELLINGS = [...BROADCAST_STATUSES, 'success', 'error_fatal'] as const;
const statusFilter = z.enum(STATUS_SPELLINGS).transform((status): BroadcastStatus => {
  if (status === 'success') return 'succeeded';
  return status === 'error_fatal' ? 'failed' : status;
});

const limit = z.int().min(1).max(MAX_LIMIT);

export const listBroadcastsInput = z
  .strictObject({
    status: statusFilter.meta({ description: '`success` means `succeeded`, `error_fatal` means `failed`.' }).optional(),
    limit: limit
      .meta({
        description: `Maximum number of broadcasts on the page, 1 to ${MAX_LIMIT}; ${DEFAULT_LIMIT} when absent.`,
      })
      .optional(),
    count: limit.meta({ description: 'Older name of `limit`.' }).optional(),
    since: momentInput()
      .optional()
      .describe('Lists broadcasts created at this time or later: ISO 8601, or milliseconds since 1970.'),
    withChannels: z.boolean().meta({ description: 'Whether each broadcast includes its `channel`.' }).default(false),
    after: idSchema<BroadcastId>()
      .meta({ description: '`broadcastGuid` of the last broadcast of the previous page.' })
      .optional(),
  })
  .refine(({ limit: given, count }) => given === undefined || count === undefined || given === count, {
    path: ['count'],
    error: 'must be the same as limit, or absent',
  })
  .transform(({ count, limit: given, ...input }) => ({ ...input, limit: given ?? count ?? DEFAULT_LIMIT }));
export type ListBroadcastsInput = z.output<typeof listBroadcastsInput>;

/** Other fields than `body` depend on the type of the channel. They are stored unchecked. */
const content = z
  .looseObject({ body: text({ min: 1, max: 10_000 }).describe('The text.') })
  .refine((value) => isWithin(value, MAX_CONTENT_DEPTH), {
    ...rule('TOO_MANY', `must not be nested deeper than ${MAX_CONTENT_DEPTH} levels`, MAX_CONTENT_DEPTH),
    // `JSON.stringify` below would overflow the stack for deeper values.
    abort: true,
  })
  .superRefine(refuseExactNumbers)
  .refine(
    (value) => Buffer.byteLength(JSON.stringify(value)) <= MAX_CONTENT_BYTES,
    rule('TOO_LONG', `must be at most ${MAX_CONTENT_BYTES} bytes (64 KiB) as JSON in UTF-8`, MAX_CONTENT_BYTES),
  );

function isWithin(value: unknown, levels: number): boolean {
  if (typeof value !== 'object' || value === null) return true;
  return levels > 0 && Object.values(value).every((inner) => isWithin(inner, levels - 1));
}

export const createBroadcastInput = z
  .strictObject({
    channelGuid: idSchema<BroadcastChannelId>().describe('Id of the channel.'),
    content: content.describe('What to publish. Other properties than `body` depend on the channel.'),
    triggerAt: optional(momentInput()).describe(
      'When the broadcast is due: ISO 8601, or milliseconds since 1970. When absent, at once.',
    ),
    status: optional(
      z.enum([...STATUS_SPELLINGS, 'DRAFT', 'draft']).meta({
        description:
          'Accepted for older clients. A new broadcast always has the status `waiting`; with `DRAFT`, its `message` says that it was created as a draft.',
      }),
    ),
  })
  .transform(({ status, ...input }) => ({ ...input, isDraft: status?.toUpperCase() === 'DRAFT' }));
