import { NotFoundError, notFound } from '../../core/errors.ts';
import { hasAccess } from '../../core/access.ts';
import { type OperationContext, defineOperation } from '../../core/operation.ts';
import { type ArtifactWithPullRequests, artifactsWithPullRequestsOf } from './artifact-queries.ts';
import { isUuid } from '../../core/text/uuids.ts';
import { sessionReference } from './input.ts';
import { readSessions } from './operations.ts';
import { READ_SESSION_CONTENT } from './policy.ts';
import { type ProjectRow, projectsOf } from './project-queries.ts';
import type { SessionRow } from './queries.ts';

/** Sessions with their project, artifacts and pull requests, as REST returns them. */

export interface SessionDetails {
  readonly session: SessionRow;
  readonly artifacts: readonly ArtifactWithPullRequests[];
  readonly project: ProjectRow | undefined;
}

export const readSession = defineOperation({
  name: 'readSession',
  description: 'Reads a session, with its project, its artifacts and their pull requests.',
  access: readSessions.access,
  input: sessionReference,
  errors: [NotFoundError],
  run: async (context, { sessionId }) => {
    const [session] = await readSessions(context, [sessionId]);
    if (!session) throw notFound('session');
    return session;
  },
});

/**
 * Reads the details of sessions in the given order, with two statements for any number of sessions. The caller has
 * checked that the sessions can be read. Without the right to read the content, the content fields are null, because
 * REST cannot return data together with an error.
 */
export async function readSessionDetails(
  context: OperationContext,
  sessions: readonly SessionRow[],
): Promise<SessionDetails[]> {
  if (!hasAccess(context.actor, READ_SESSION_CONTENT))
    return sessions.map((session) => ({ session: { ...session, ...NO_CONTENT }, artifacts: [], project: undefined }));
  const projectIds = new Set(
    sessions.flatMap(({ projectId }) => (projectId !== null && isUuid(projectId) ? [projectId] : [])),
  );
  const [artifacts, projects] = await Promise.all([
    sessions.length > 0 ? artifactsWithPullRequestsOf(context)(sessions.map(({ id }) => id)) : undefined,
    projectIds.size > 0 ? projectsOf(context)([...projectIds]) : undefined,
  ]);
  return sessions.map((session) => ({
    session,
    artifacts: artifacts?.get(session.id) ?? [],
    project: session.projectId === null ? undefined : projects?.get(session.projectId),
  }));
}

/** The columns with content. The fields of GraphQL for them are marked with `CONTENT` in `graphql/fields.ts`. */
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

const NO_CONTENT = Object.fromEntries(CONTENT_COLUMNS.map((name) => [name, null])) as Record<
  (typeof CONTENT_COLUMNS)[number],
  null
>;
