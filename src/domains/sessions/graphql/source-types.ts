import { shown } from '../../../core/graphql/derived-fields.ts';
import { exposed } from '../../../core/graphql/fields.ts';
import { needs } from '../../../core/graphql/selection.ts';
import type { GraphQLContext } from '../../../core/graphql/builder.ts';
import { uuidsOf } from '../../../core/graphql/global-ids.ts';
import { nodeType } from '../../../core/graphql/nodes.ts';
import type { SessionId } from '../../../core/ids.ts';
import type { SessionSource, SourcePullRequest } from '../entity.ts';
import type { ProjectRow, SessionRow } from '../queries.ts';
import { readProjects, readSessions } from '../operations.ts';
import './enums.ts';
import { pullRequestFields } from './value-types.ts';
import { projectDocument, repositoryDocument, sourceDocument } from '../documents.ts';

/** GraphQL types for the origin of sessions. Objects that are stored in the row of a session have its id in their global id. */

export const ProjectType = nodeType<ProjectRow>('Project', {
  stored: { table: 'project' },
  description: 'A group of sessions. A runner creates it together with the first session of the project.',
  keyOf: ({ id }) => id,
  load: async (context, keys) => [...(await readProjects(context, uuidsOf(keys))).values()],
  fields: (t) => ({
    databaseId: t.expose('id', { type: 'DatabaseId', description: 'The id that REST uses. The runner chose it.' }),
    ...shown(t, projectDocument, ['name', 'icon', 'color']),
    ...exposed(t, {
      createdAt: ['DateTime', 'When the first session of the project was created.'],
      updatedAt: ['DateTime', 'When the last session of the project was created.'],
    }),
  }),
});

interface OfSession {
  readonly sessionId: SessionId;
}
type SourceRow = SessionSource & OfSession;
type RepositoryRow = SessionSource['repositories'][number] & OfSession;
type SourcePullRequestRow = SourcePullRequest & OfSession;

const SourceRepositoryType = nodeType<RepositoryRow>('SourceRepository', {
  description: 'A repository that a session works on, as the runner described it.',
  keyOf: ({ sessionId, id }) => `${sessionId}:${id}`,
  keyColumns: ['sessionId', 'id'],
  load: async (context, keys) => {
    const sources = await loadSources(context, [...new Set(keys.map((key) => key.slice(0, key.indexOf(':'))))]);
    return sources.flatMap(repositoriesOf).filter(({ sessionId, id }) => keys.includes(`${sessionId}:${id}`));
  },
  fields: (t) => ({
    databaseId: t.expose('id', { type: 'DatabaseId', description: 'The id that REST uses. The runner chose it.' }),
    ...shown(t, repositoryDocument, ['name', 'provider']),
  }),
});

export const SessionSourceType = nodeType<SourceRow>('SessionSource', {
  description: 'Where a session was started from.',
  keyOf: ({ sessionId }) => sessionId,
  keyColumns: ['sessionId'],
  load: loadSources,
  fields: (t) => ({
    databaseId: t.expose('id', { type: 'DatabaseId', description: 'The id that REST uses.' }),
    ...shown(t, sourceDocument, ['name', 'type']),
    repositories: t.field({
      type: [SourceRepositoryType],
      description: sourceDocument.shape.repositories.description,
      extensions: needs<SourceRow>('repositories', 'sessionId'),
      resolve: repositoriesOf,
    }),
  }),
});

export const SourcePullRequestType = nodeType<SourcePullRequestRow>('SourcePullRequest', {
  description: 'The pull request that a session was started from.',
  keyOf: ({ sessionId }) => sessionId,
  keyColumns: ['sessionId'],
  load: async (context, keys) => {
    const sessions = await readSessions(context, uuidsOf(keys), ['id', 'sourcePullRequest']);
    return sessions.flatMap((session) => sourcePullRequestOf(session) ?? []);
  },
  fields: (t) => ({
    databaseId: t.expose('id', { type: 'DatabaseId', description: 'The id that REST uses. The runner chose it.' }),
    ...pullRequestFields(t),
  }),
});

async function loadSources(context: GraphQLContext, keys: readonly string[]): Promise<SourceRow[]> {
  return (await readSessions(context, uuidsOf(keys), ['id', 'source'])).map(sourceOf);
}

export function sourceOf({ id, source }: Pick<SessionRow, 'id' | 'source'>): SourceRow {
  return { ...source, sessionId: id };
}

export function sourcePullRequestOf({
  id,
  sourcePullRequest,
}: Pick<SessionRow, 'id' | 'sourcePullRequest'>): SourcePullRequestRow | null {
  return sourcePullRequest && { ...sourcePullRequest, sessionId: id };
}

function repositoriesOf({ repositories, sessionId }: SourceRow): RepositoryRow[] {
  return repositories.map((repository) => ({ ...repository, sessionId }));
}
