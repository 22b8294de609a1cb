import { lexicographicSortSchema } from 'graphql';
import { printWithDirectives } from '../core/graphql/published-directives.ts';
import { directivesOf } from './graphql/printed-directives.ts';
import { openApiDocument } from './rest/openapi.ts';
import { routes } from './modules.ts';
import { schema } from './schema.ts';

/** Prints the two published contracts, in the form that is checked in. */
export const contracts = {
  'schema.graphql': () => {
    const sorted = lexicographicSortSchema(schema);
    return printWithDirectives(sorted, directivesOf(sorted));
  },
  'openapi.json': () => `${JSON.stringify(openApiDocument(routes), null, 2)}\n`,
} satisfies Readonly<Record<string, () => string>>;
