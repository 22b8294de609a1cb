// What other nouns, the gateway and the operator use of the feed.

export { feedEntriesOf } from './sources.ts';
