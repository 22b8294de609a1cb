// What other nouns, the gateway and the operator use of api lifecycle.

export { describeRemoval, removedApiAt } from './lifecycle.ts';
