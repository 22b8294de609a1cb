import { z } from 'zod';
import { FEED_TYPES } from '../../core/feed.ts';
import { splitByComma } from '../../core/input/lists.ts';
import { createdBetween } from '../../core/input/moments.ts';
import { cursorSchema } from '../session-events/public.ts';

export const DEFAULT_PAGE = 50;
export const MAX_PAGE = 1000;

const RANGE = `must be from 1 to ${MAX_PAGE}`;
const types = z.array(z.enum(FEED_TYPES)).max(FEED_TYPES.length);

/** Query parameters of a page. */
export const listFeedInput = z.strictObject({
  limit: z
    .int('must be a whole number')
    .min(1, RANGE)
    .max(MAX_PAGE, RANGE)
    .default(DEFAULT_PAGE)
    .describe('Maximum number of entries on the page.'),
  cursor: cursorSchema.prefault('0').describe('Id of the last entry seen, such as `nextCursor` of the previous page.'),
  types: z
    .preprocess(splitByComma, types)
    .optional()
    .describe('Lists only entries of these types, separated by commas.'),
});
export type ListFeedInput = z.output<typeof listFeedInput>;

export const feedFilter = z
  .strictObject({ types: types.nullish().describe('Entries of any of these types.'), ...createdBetween })
  .describe('Conditions on entries of the feed. An empty list matches nothing.');
export type FeedFilter = z.output<typeof feedFilter>;
