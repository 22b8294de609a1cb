import { z } from 'zod';
import { FEED_SUBJECTS, FEED_TYPES } from '../../core/feed.ts';
import { documentOf } from '../../core/http/documents.ts';
import { FEED_TEXTS } from './texts.ts';

/** An entry as REST shows it, and messages to webhooks. */
export const feedEntryDocument = documentOf(FEED_TEXTS, {
  id: z.int(),
  type: z.enum(FEED_TYPES),
  createdAt: z.iso.datetime(),
  subjectType: z.enum(FEED_SUBJECTS),
  subjectId: z.uuid().nullable(),
  data: z.record(z.string(), z.union([z.string(), z.number(), z.null()])),
}).meta({ id: 'FeedEntry' });
