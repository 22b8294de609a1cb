import { createHash } from 'node:crypto';
import type { EntityManager } from '@mikro-orm/postgresql';
import { hasAccess, requireOrganization } from '../../core/access.ts';
import { ConflictError, NotFoundError } from '../../core/errors.ts';
import type { ProjectId, SessionId } from '../../core/ids.ts';
import { type OperationContext, defineOperation, unchanged } from '../../core/operation.ts';
import { redactValue } from '../../core/redaction/redact.ts';
import type { Readable } from '../../core/postgres/reading/queries.ts';
import { type EnsuredSession, Project, SessionSearch, type SessionTables } from './entity.ts';
import { createSessionInput, ensureSessionInput } from './input.ts';
import { lockSession } from './operations.ts';
import { READ_SESSION_CONTENT, RECORD_SESSIONS } from './policy.ts';
import { SESSIONS } from './queries.ts';
import { insertSession, publishSessions, readRecorded } from './recording-operations.ts';

/** The session of a transcript, which is created once, however often and by however many processes the transcript is imported. */
export const ensureSession = defineOperation({
  name: 'ensureSession',
  description:
    'Creates the session of a transcript that an agent has left on disk, or finds the one that was created before. A transcript has one session in an organization for the account that owns the key; an existing session is not changed, except its title if `previousTitle` is given. When the session was deleted, it is not created again (409), so that no import brings back what a person has deleted.',
  access: RECORD_SESSIONS,
  input: ensureSessionInput,
  errors: [NotFoundError, ConflictError],
  prepare: (context, { title, previousTitle, project, branchName }) =>
    redactValue(context, { title, previousTitle, project, branchName }),
  run: async (
    context,
    { agent, sourceId, startedAt, visibility, continuedFrom },
    { title, previousTitle, project, branchName },
  ) => {
    const { em, actor, now, newId } = context;
    const organization = requireOrganization(actor).id;
    const key = { organization, ownerId: actor.userId, agent, sourceId };
    const sessionId: SessionId = newId();
    // The unique key decides: a concurrent request waits here for the other one, and then finds its session.
    if (!(await claim(em, { ...key, sessionId }))) {
      const found = { id: await claimed(em, key), isNew: false };
      return (await isRenamed(context, found.id, title, previousTitle)) ? found : unchanged(found);
    }
    if (continuedFrom != null) await requireContent(context, continuedFrom);
    const started = new Date(startedAt ?? now());
    const session = createSessionInput.parse({
      title: title ?? `${agent} ${sourceId}`,
      agent,
      branchName,
      projectId: project == null ? null : await ensureProject(context, project),
      visibility,
    });
    const transcript = { agent, id: sourceId, ...(continuedFrom != null && { continuedFrom }) };
    const created = await insertSession(context, {
      ...session,
      id: sessionId,
      // A clock that is ahead must not put the session before all others.
      createdAt: started < now() ? started : now(),
      source: { id: newId(), name: agent, type: 'transcript', repositories: [], transcript },
    });
    created.lastSeenAt = created.createdAt;
    return { id: sessionId, isNew: true };
  },
  target: ({ id, isNew }, { visibility }) => ({
    type: 'Session',
    id,
    ...(isNew ? { detail: visibility } : { changedFields: ['title'] }),
  }),
  afterCommit: async (context, { id, isNew }, { previousTitle }) => {
    if (isNew || previousTitle != null) publishSessions(context);
    return { session: await readRecorded(context, id), isNew };
  },
});

/** @throws NotFoundError (404) unless the caller can read the content of the session */
async function requireContent(context: OperationContext, sessionId: SessionId): Promise<void> {
  const [session] = hasAccess(context.actor, READ_SESSION_CONTENT)
    ? await SESSIONS.find(context, [sessionId], ['id'])
    : [];
  if (!session) throw new NotFoundError([{ path: ['continuedFrom'], code: 'NOT_FOUND', message: 'session not found' }]);
}

/** Gives a session the new title of its transcript, unless it has another one than the transcript had. */
async function isRenamed(
  { em, actor, now, newId }: OperationContext,
  id: SessionId,
  title: string | null | undefined,
  previousTitle: string | null | undefined,
): Promise<boolean> {
  if (title == null || previousTitle == null || title === previousTitle) return false;
  const session = await lockSession(em, actor, id);
  if (session.title !== previousTitle) return false;
  session.title = title;
  session.updatedAt = now();
  // Searches find the new title.
  await em.nativeUpdate(SessionSearch, { session: id, organization: session.organization.id }, { version: newId() });
  return true;
}

type Key = Pick<EnsuredSession, 'ownerId' | 'agent' | 'sourceId'> & { readonly organization: string };

const tablesOf = (em: EntityManager) => em.getKysely<Readable<SessionTables>>();

/** @returns whether no session was known for the transcript */
async function claim(em: EntityManager, { organization, ...key }: Key & { sessionId: SessionId }): Promise<boolean> {
  const { numInsertedOrUpdatedRows } = await tablesOf(em)
    .insertInto('ensured_session')
    .values({
      organization_id: organization,
      owner_id: key.ownerId,
      agent: key.agent,
      source_id: key.sourceId,
      session_id: key.sessionId,
    })
    .onConflict((conflict) => conflict.doNothing())
    .executeTakeFirst();
  return numInsertedOrUpdatedRows === 1n;
}

async function claimed(em: EntityManager, key: Key): Promise<SessionId> {
  const found = await tablesOf(em)
    .selectFrom('ensured_session as e')
    .innerJoin('session as s', (join) =>
      join.onRef('s.id', '=', 'e.session_id').onRef('s.organization_id', '=', 'e.organization_id'),
    )
    .select('s.id')
    .where('e.organization_id', '=', key.organization)
    .where('e.owner_id', '=', key.ownerId)
    .where('e.agent', '=', key.agent)
    .where('e.source_id', '=', key.sourceId)
    .executeTakeFirst();
  if (found) return found.id;
  throw new ConflictError(
    'NAME_USED_BEFORE',
    'the session of this transcript was deleted, and is not created again; record the transcript into another session',
    ['sourceId'],
  );
}

/** The id of the oldest project with the name. The id of a new one follows from the name, so that concurrent requests create one. */
async function ensureProject({ em, actor, now }: OperationContext, name: string): Promise<ProjectId> {
  const organization = requireOrganization(actor).id;
  const known = await em.findOne(Project, { organization, name }, { orderBy: { createdAt: 'asc' } });
  if (known) return known.id;
  const at = now();
  const id = projectIdOf(name);
  await em.upsert(
    Project,
    { id, organization, name, icon: 'folder', color: 'neutral', createdAt: at, updatedAt: at },
    { onConflictAction: 'ignore' },
  );
  return id;
}

function projectIdOf(name: string): ProjectId {
  const hex = createHash('sha256').update(`project ${name}`).digest('hex');
  return `${hex.slice(0, 8)}-${hex.slice(8, 12)}-8${hex.slice(13, 16)}-a${hex.slice(17, 20)}-${hex.slice(20, 32)}`;
}

/** Forgets a batch of the transcripts of a deleted account. @returns those */
export function forgetSourcesOf(em: EntityManager, ownerId: string, batch: number): Promise<readonly unknown[]> {
  const tables = tablesOf(em);
  const some = tables
    .selectFrom('ensured_session')
    .select(['organization_id', 'agent', 'source_id'])
    .where('owner_id', '=', ownerId)
    .limit(batch);
  return tables
    .deleteFrom('ensured_session')
    .where((eb) =>
      eb(
        eb.refTuple('organization_id', 'agent', 'source_id'),
        'in',
        some.$asTuple('organization_id', 'agent', 'source_id'),
      ),
    )
    .where('owner_id', '=', ownerId)
    .returning('source_id')
    .execute();
}
