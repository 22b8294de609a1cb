// What other nouns, the gateway and the operator use of broadcasts.

export { Broadcast, BroadcastChannel } from './entity.ts';
export { deleteBroadcastsOf } from './queries.ts';
