import { FeedEntry, FeedStream, feedTopic } from '../../core/feed.ts';
import { DELETION_BATCH, type Module, deletionStep } from '../../core/module.ts';
import { DAY_MS } from '../../core/text/timestamps.ts';
import { deleteFeedEntries, deleteFeedOf, forgetUserInFeed, readFeedVersions } from './queries.ts';
import { feedRoutes } from './rest.ts';

const KEPT_MS = 30 * DAY_MS;

export const feed = {
  entities: [FeedStream, FeedEntry],
  graphql: () => import('./graphql.ts'),
  routes: feedRoutes,
  pages: [],
  jobs: () => [],
  cleanups: { 'feed entries': (em, at, batch) => deleteFeedEntries(em, new Date(at.getTime() - KEPT_MS), batch) },
  topics: [{ topicOf: feedTopic, read: readFeedVersions }],
  deletionSteps: {
    ofUser: [deletionStep('feed entries', ({ em }, { id }) => forgetUserInFeed(em, id, DELETION_BATCH))],
    ofOrganization: [deletionStep('feed entries', ({ em }, { id }) => deleteFeedOf(em, id, DELETION_BATCH))],
  },
  exports: [],
  replays: {},
} as const satisfies Module;
