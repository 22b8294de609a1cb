import type { EntityManager } from '@mikro-orm/postgresql';
import type { OrganizationId, ProjectId, SessionId } from '../../core/ids.ts';
import type { OperationContext } from '../../core/operation.ts';
import { Project, Session, SessionStream } from './entity.ts';
import { createSessionInput } from './input.ts';
import { countedOf, insertSession } from './recording-operations.ts';
import { countSession } from './usage-sums.ts';
import { type SessionState, isFinished } from './vocabulary.ts';

/** Sessions of the past, many in a transaction: for the demo workspace, which has a month of them. */

export interface PastSession {
  /** Its actor has created the session, at its time. */
  readonly context: OperationContext;
  readonly title: string;
  readonly agent: string;
  readonly projectId: ProjectId | null;
  readonly isWaiting: boolean;
}

export interface PastProject extends Pick<Project, 'id' | 'name' | 'icon' | 'color'> {
  readonly createdAt: Date;
}

/** Inserts the sessions of an organization, which run unless they wait. @returns their ids. */
export async function insertPastSessions(
  em: EntityManager,
  organization: OrganizationId,
  { projects, sessions }: { readonly projects: readonly PastProject[]; readonly sessions: readonly PastSession[] },
): Promise<SessionId[]> {
  for (const project of projects) em.create(Project, { ...project, organization, updatedAt: project.createdAt });
  const ids: SessionId[] = [];
  for (const { context, title, agent, projectId, isWaiting } of sessions) {
    const { newId, now } = context;
    const session = await insertSession(context.with({ em }), {
      ...createSessionInput.parse({ title, agent, projectId, visibility: 'public' }),
      id: newId(),
      createdAt: now(),
      source: { id: newId(), name: 'API', type: 'api', repositories: [] },
    });
    if (!isWaiting) session.state = 'inProgress';
    ids.push(session.id);
  }
  return ids;
}

export interface PastEnd {
  readonly id: SessionId;
  readonly state: SessionState;
  readonly at: Date;
}

/** Moves sessions to their last state, at a time of the past. */
export async function endPastSessions(
  em: EntityManager,
  organization: OrganizationId,
  ends: readonly PastEnd[],
): Promise<void> {
  const ids = ends.map(({ id }) => id);
  const sessions = new Map((await em.find(Session, { id: ids, organization })).map((session) => [session.id, session]));
  const streams = await em.find(SessionStream, { session: ids, organization });
  const streamOf = new Map(streams.map((stream) => [stream.session.id, stream]));
  for (const { id, state, at } of ends) {
    const [session, stream] = [sessions.get(id), streamOf.get(id)];
    if (!session || !stream) continue;
    session.state = state;
    session.updatedAt = at;
    session.lastSeenAt = at;
    if (isFinished(state)) stream.close(at);
    else stream.isClosed = false;
    if (state === 'failed') await countSession(em, 'failedSessions', countedOf(session), at);
  }
}
