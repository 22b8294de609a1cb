import { type RequiredEntityData, raw } from '@mikro-orm/postgresql';
import type { SessionId } from '../../core/ids.ts';
import { enumValue, enumValues, wording } from '../../core/text/wording.ts';
import { ConflictError, NotFoundError, notFound, limitReached } from '../../core/errors.ts';
import { requireOrganization } from '../../core/access.ts';
import { type OperationContext, defineOperation } from '../../core/operation.ts';
import { type AuditTarget } from '../../core/audit.ts';
import { artifactRow, pullRequestRow } from './artifact-queries.ts';
import { Artifact, Project, PullRequest, Session, SessionSearch, SessionStream } from './entity.ts';
import { createSessionInput, recordArtifactInput, recordPullRequestInput, transitionSessionInput } from './input.ts';
import { redactValue } from '../../core/redaction/redact.ts';
import { resolveMcpConnections } from '../mcp-connections/public.ts';
import { describe, lockSession, lockSessionWithStream } from './operations.ts';
import { sessionTopic, sessionsTopic } from './topics.ts';
import { RECORD_SESSIONS, sessionNotFound } from './policy.ts';
import { SESSIONS, type SessionRow } from './queries.ts';
import { type CountedSession, countSession } from './usage-sums.ts';
import { NEXT_STATES, isFinished } from './vocabulary.ts';

/** Operations for agent runners: create sessions, change their state, and record their results. */

export const createSession = defineOperation({
  name: 'createSession',
  description: wording`Creates a session of the caller in the state \`${enumValue('queued')}\`, for agent runners. It has no events. Texts of the shapes of known credentials are replaced by \`[redacted]\`.`,
  access: RECORD_SESSIONS,
  input: createSessionInput,
  prepare: (context, input) => {
    // Names of connections are looked up as they are.
    const { mcpServers: _mcpServers, ...texts } = input;
    const description = input.description ?? (input.richContent ? describe(input.richContent) : null);
    return redactValue(context, { ...texts, description });
  },
  run: async (context, { mcpServers: names }, input) => {
    const { em, actor, now, newId } = context;
    const organization = requireOrganization(actor);
    const mcpServers = await resolveMcpConnections(context, names, 'mcpServers');
    const at = now();
    const { project, source, ...fields } = input;
    if (project)
      await em.upsert(
        Project,
        { ...project, organization: organization.id, createdAt: at, updatedAt: at },
        { onConflictExcludeFields: ['createdAt'] },
      );
    return insertSession(context, {
      ...fields,
      mcpServers,
      id: newId(),
      projectId: project?.id ?? input.projectId,
      source: source
        ? { ...source, id: source.id ?? newId() }
        : { id: newId(), name: 'API', type: 'api', repositories: [] },
      createdAt: at,
    });
  },
  target: ({ id, visibility }) => ({ ...ofSession(id), detail: visibility }),
  afterCommit: async (context, { id, organization }) => {
    context.notifier.publish(sessionsTopic(organization.id));
    return readRecorded(context, id);
  },
});

type NewSession = Omit<
  RequiredEntityData<Session>,
  'organization' | 'creator' | 'state' | 'isPinned' | 'updatedAt' | 'lastQueuedAt' | 'lastSeenAt'
>;

/** Inserts a queued session of the caller, without events, and counts it on the day of its creation. */
export async function insertSession({ em, actor, now, newId }: OperationContext, fields: NewSession): Promise<Session> {
  const organization = requireOrganization(actor).id;
  const at = now();
  const session = em.create(Session, {
    ...fields,
    organization,
    creator: actor.userId,
    state: 'queued',
    isPinned: false,
    updatedAt: at,
    lastQueuedAt: at,
    lastSeenAt: at,
  });
  em.create(SessionStream, { session, organization, lastId: 0, isClosed: false });
  em.create(SessionSearch, { session, organization, indexedId: 0, version: newId() });
  await countSession(em, 'sessions', countedOf(session), session.createdAt);
  return session;
}

/** Notifies the followers of the sessions of the organization. */
export function publishSessions({ notifier, actor }: OperationContext): void {
  notifier.publish(sessionsTopic(requireOrganization(actor).id));
}

export function countedOf({ id, organization, creator, agent, projectId }: Session): CountedSession {
  return {
    id,
    organizationId: organization.id,
    creatorId: creator?.id ?? null,
    agent: agent ?? null,
    projectId: projectId ?? null,
  };
}

/** Reads the session again after the commit. */
export async function readRecorded(context: OperationContext, id: SessionId): Promise<SessionRow> {
  const [row] = await SESSIONS.find(context, [id]);
  if (!row) throw sessionNotFound();
  return row;
}

function ofSession(id: SessionId): AuditTarget {
  return { type: 'Session', id };
}

/** No events can be appended to a finished session until it is queued again. */
export const transitionSession = defineOperation({
  name: 'transitionSession',
  description: wording`Moves a session to another state. A session that is \`${enumValue('queued')}\` can become \`${enumValue('inProgress')}\` or \`${enumValue('cancelled')}\`; one that is \`${enumValue('inProgress')}\` can become \`${enumValue('completed')}\`, \`${enumValue('failed')}\` or \`${enumValue('cancelled')}\`; and one in any of these three states can become \`${enumValue('queued')}\` again. Only the creator and administrators can change a session.`,
  access: RECORD_SESSIONS,
  input: transitionSessionInput,
  errors: [NotFoundError, ConflictError],
  run: async ({ em, actor, now }, { sessionId, state }) => {
    const { session } = await lockSessionWithStream(em, actor, sessionId);
    if (!NEXT_STATES[session.state].includes(state)) {
      throw new ConflictError(
        'WRONG_STATE',
        wording`a session that is ${enumValue(session.state)} can become ${enumValues(NEXT_STATES[session.state], ' or ')}, not ${enumValue(state)}`,
        ['state'],
      );
    }
    const at = now();
    session.state = state;
    session.updatedAt = at;
    // A transcript keeps its place in time.
    if (!session.source.transcript) session.lastSeenAt = at;
    em.assign(session, { handledBy: null, handledAt: null });
    if (state === 'queued') session.lastQueuedAt = at;
    // In the same transaction, so that a concurrent append either commits before the session is finished, or is refused.
    await em.nativeUpdate(
      SessionStream,
      { session: sessionId, organization: session.organization.id },
      {
        isClosed: isFinished(state),
        ...(isFinished(state) && { endedId: raw('last_id'), endedAt: at }),
      },
    );
    if (state === 'failed') await countSession(em, 'failedSessions', countedOf(session), at);
    return session;
  },
  target: ({ id, state }) => ({ ...ofSession(id), detail: state }),
  afterCommit: async (context, { id, organization }) => {
    for (const topic of [sessionTopic(id), sessionsTopic(organization.id)]) context.notifier.publish(topic);
    return readRecorded(context, id);
  },
});

/** Maximum lengths of the lists of a session. REST returns both lists completely with the session. */
const MAX_ARTIFACTS = 1000;
const MAX_PULL_REQUESTS = 100;

export const recordArtifact = defineOperation({
  name: 'recordArtifact',
  description:
    'Records a result of a session. A session has at most 1,000 artifacts. Only the creator and administrators can change a session.',
  access: RECORD_SESSIONS,
  input: recordArtifactInput,
  errors: [NotFoundError, ConflictError],
  run: async ({ em, actor, now, newId }, { sessionId, type }) => {
    const session = await lockSession(em, actor, sessionId);
    if ((await em.count(Artifact, { session })) >= MAX_ARTIFACTS)
      throw limitReached(MAX_ARTIFACTS, `a session has at most ${MAX_ARTIFACTS} artifacts`);
    const at = now();
    session.updatedAt = at;
    const artifact = em.create(Artifact, {
      id: newId(),
      organization: session.organization,
      session,
      type,
      createdAt: at,
      updatedAt: at,
    });
    return artifactRow(artifact);
  },
  target: ({ sessionId, type }) => ({ ...ofSession(sessionId), detail: type }),
  afterCommit: notifyOfResult,
});

export const recordPullRequest = defineOperation({
  name: 'recordPullRequest',
  description:
    'Records a pull request of an artifact, or updates the pull request with the same `url`. An artifact has at most 100 pull requests. Only the creator of the session and administrators can change it.',
  access: RECORD_SESSIONS,
  input: recordPullRequestInput,
  errors: [NotFoundError, ConflictError],
  prepare: async (context, { title, sourceBranch, baseBranch, agent, diff }) =>
    redactValue(context, { title, sourceBranch, baseBranch, agent, diff }),
  run: async ({ em, actor, now, newId }, { artifactId, ...given }, texts) => {
    const input = { ...given, ...texts };
    const artifact = await em.findOne(Artifact, { id: artifactId, organization: requireOrganization(actor).id });
    if (!artifact) throw notFound('artifact');
    // The lock prevents concurrent requests from recording the same pull request twice. It also checks that the caller
    // can change the session.
    const session = await lockSession(em, actor, artifact.session.id, 'artifact');
    const at = now();
    session.updatedAt = at;
    const known = await em.findOne(PullRequest, { artifact, url: input.url });
    if (!known && (await em.count(PullRequest, { artifact })) >= MAX_PULL_REQUESTS)
      throw limitReached(MAX_PULL_REQUESTS, `an artifact has at most ${MAX_PULL_REQUESTS} pull requests`);
    const pullRequest =
      known ??
      em.create(PullRequest, {
        ...input,
        id: newId(),
        organization: artifact.organization,
        artifact,
        createdAt: at,
        updatedAt: at,
      });
    if (known) em.assign(known, { ...input, updatedAt: at });
    artifact.updatedAt = at;
    return { artifact: artifactRow(artifact), pullRequest: pullRequestRow(pullRequest) };
  },
  target: ({ artifact, pullRequest }) => ({ ...ofSession(artifact.sessionId), detail: pullRequest.status }),
  afterCommit: notifyOfResult,
});

function notifyOfResult<Result>(context: OperationContext, result: Result): Promise<Result> {
  publishSessions(context);
  return Promise.resolve(result);
}
