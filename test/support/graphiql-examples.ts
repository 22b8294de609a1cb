import { readFileSync } from 'node:fs';
import { examplesIn } from '../../src/gateway/pages/browser/graphiql-examples.ts';

/** The examples that the page of GraphiQL offers. */
export const EXAMPLES = examplesIn(
  readFileSync(new URL('../../src/gateway/pages/browser/graphiql-examples.graphql', import.meta.url), 'utf8'),
);
