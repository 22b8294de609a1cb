// What other nouns, the gateway and the operator use of the feed.

export { readFeedPage } from './operations.ts';
export { visibleTypes } from './policy.ts';
export {
  type FeedEntryRow,
  type FeedReader,
  feedEntryOf,
  findFeedEntriesById,
  readFeedHead,
  readNumberedFeedHead,
} from './queries.ts';
export { feedEntriesOf } from './sources.ts';
