import type { SessionRow } from './queries.ts';

/** The columns with content. The fields of GraphQL for them are marked with `CONTENT` in `graphql/types.ts`. */
export const CONTENT_COLUMNS = [
  'agentOptions',
  'description',
  'diffSummary',
  'externalId',
  'externalUrl',
  'projectId',
  'richContent',
  'sourcePullRequest',
] as const satisfies readonly (keyof SessionRow)[];

/** Null for each of them. */
export const NO_CONTENT = Object.fromEntries(CONTENT_COLUMNS.map((name) => [name, null])) as Record<
  (typeof CONTENT_COLUMNS)[number],
  null
>;
