import { unlessTooLarge } from '../../core/answer-size.ts';
import { NotFoundError } from '../../core/errors.ts';
import { hasAccess } from '../../core/access.ts';
import { type OperationContext, defineOperation } from '../../core/operation.ts';
import {
  type ArtifactInSession,
  PULL_REQUESTS,
  type PullRequestRow,
  readArtifactsInSessions,
} from './artifact-queries.ts';
import { NO_CONTENT } from './content-columns.ts';
import { SESSION_COLUMNS } from './entity.ts';
import { isUuid } from '../../core/ids.ts';
import { readList } from '../../core/input/lists.ts';
import { listPullRequestsInput, sessionReference } from './input.ts';
import { readSessions } from './operations.ts';
import { READ_SESSION_CONTENT, sessionNotFound } from './policy.ts';
import { recordPrivateReads } from './private-reads.ts';
import { type ProjectRow, SESSIONS, type SessionRow, projectsOf } from './queries.ts';

/** Sessions with their project, artifacts and pull requests, as REST returns them. */

export interface SessionDetails {
  readonly session: SessionRow;
  /** Null when they are larger than a page. */
  readonly artifacts: readonly ArtifactInSession[] | null;
  readonly project: ProjectRow | undefined;
}

export const readSession = defineOperation({
  name: 'readSession',
  description: 'Reads a session, with its project, its artifacts and their pull requests.',
  access: readSessions.access,
  input: sessionReference,
  errors: [NotFoundError],
  run: async (context, { sessionId }) => {
    const [session] = await readSessions(context, [sessionId], DOCUMENT_COLUMNS);
    if (!session) throw sessionNotFound();
    return session;
  },
});

/**
 * Reads the details of sessions in the given order, with two statements for any number of sessions. The caller has
 * checked that the sessions can be read. Without the right to read the content, the content fields are null, because
 * REST cannot return data together with an error. Sessions beyond the maximum size of a page are left out, but never the
 * first one.
 */
export async function readSessionDetails(
  context: OperationContext,
  sessions: readonly SessionRow[],
): Promise<SessionDetails[]> {
  if (sessions.length === 0) return [];
  if (!hasAccess(context.actor, READ_SESSION_CONTENT))
    return sessions.map((session) => ({ session: { ...session, ...NO_CONTENT }, artifacts: [], project: undefined }));
  const projectIds = new Set(
    sessions.flatMap(({ projectId }) => (projectId !== null && isUuid(projectId) ? [projectId] : [])),
  );
  const sessionIds = sessions.map(({ id }) => id);
  const [found, projects] = await Promise.all([
    // A session may have been changed, so it must be answered.
    unlessTooLarge(readArtifactsInSessions(context, sessionIds)),
    projectIds.size > 0 ? unlessTooLarge(projectsOf(context)([...projectIds])) : undefined,
  ]);
  const complete = found?.complete ?? 0;
  return sessions.slice(0, Math.max(1, complete)).map((session) => ({
    session,
    artifacts: found && complete > 0 ? (found.artifacts.get(session.id) ?? []) : null,
    project: session.projectId === null ? undefined : projects?.get(session.projectId),
  }));
}

export const listPullRequests = defineOperation({
  name: 'listPullRequests',
  description: 'Lists the pull requests of a session with their whole diffs, in the order of recording.',
  access: READ_SESSION_CONTENT,
  input: listPullRequestsInput,
  errors: [NotFoundError],
  run: async (context, { sessionId, ...list }) => {
    const [session] = await SESSIONS.find(context, [sessionId], ['id', 'visibility']);
    if (!session) throw sessionNotFound();
    if (session.visibility === 'private') await recordPrivateReads(context, [sessionId]);
    return readList(
      list,
      async (page) => ({ page: await PULL_REQUESTS.page(context, { filter: { sessionId }, page, isJson: true }) }),
      (pullRequest: PullRequestRow) => pullRequest,
    );
  },
});

export const DOCUMENT_COLUMNS = SESSION_COLUMNS.filter((name) => name !== 'richContent' && name !== 'agentOptions');
