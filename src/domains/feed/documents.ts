import { z } from 'zod';
import { answering } from '../../core/documents.ts';
import { FEED_SUBJECTS, FEED_TYPES } from '../../core/feed.ts';
import type { FeedEntryRow } from './queries.ts';

/** An entry as both APIs answer it, and messages to webhooks have it. */
export const feedEntryDocument = z
  .strictObject({
    id: z
      .int()
      .describe(
        'Number of the entry in the feed of the organization, in the order in which they became visible. Numbers are left out now and then, so a gap does not mean that an entry is missing. It is also the cursor.',
      )
      .meta({ example: 1207 }),
    type: z.enum(FEED_TYPES).describe('What has changed.').meta({ example: 'session.state_changed' }),
    createdAt: z.iso.datetime().describe('When it changed.').meta({ example: '2026-03-01T10:20:31.000Z' }),
    subjectType: z
      .enum(FEED_SUBJECTS)
      .describe('Type of the changed object, as in the audit log.')
      .meta({ example: 'Session' }),
    subjectId: z
      .uuid()
      .nullable()
      .describe('Id of the changed object, which may have been deleted since. Null for a deleted account.')
      .meta({ example: '0c2f8f0e-5a0f-4c0c-9a5e-2f1d6b7c8a10' }),
    data: z
      .record(z.string(), z.union([z.string(), z.number(), z.null()]))
      .describe('States and ids, depending on the type; never texts or addresses.')
      .meta({ example: { state: 'completed', previousState: 'inProgress' } }),
  })
  .meta({ id: 'FeedEntry' });

export const toFeedEntry = answering<FeedEntryRow, typeof feedEntryDocument>(feedEntryDocument, () => ({}));
