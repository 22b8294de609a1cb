import { lexicographicSortSchema, printSchema } from 'graphql';
import { openApiDocument } from './rest/openapi.ts';
import { routes } from './routes.ts';
import { schema } from './schema.ts';

/** Prints the two published contracts, in the form that is checked in. */
export const contracts = {
  'schema.graphql': () => `${printSchema(lexicographicSortSchema(schema))}\n`,
  'openapi.json': () => `${JSON.stringify(openApiDocument(routes), null, 2)}\n`,
} satisfies Readonly<Record<string, () => string>>;
