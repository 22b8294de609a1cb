// What other nouns, the gateway and the operator use of the feed.

export { toFeedEntry } from './documents.ts';
export { readFeedPage } from './operations.ts';
export { visibleTypes } from './policy.ts';
export {
  type FeedEntryRow,
  type FeedReader,
  findFeedEntriesById,
  readFeedHead,
  readNumberedFeedHead,
} from './queries.ts';
export { feedEntriesOf } from './flushed-changes.ts';
