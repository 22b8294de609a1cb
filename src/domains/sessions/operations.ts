import { sessionTopic, sessionsTopic } from './topics.ts';
import { type EntityManager, LockMode } from '@mikro-orm/postgresql';
import { ConflictError, NotFoundError, invalid, notFound } from '../../core/errors.ts';
import { requireUnchanged } from '../../core/input/expected-version.ts';
import { type NameList, pageOfNames } from '../../core/postgres/reading/names.ts';
import { requireOrganization } from '../../core/access.ts';
import { type OperationContext, defineOperation, guarded, requireAuthority } from '../../core/operation.ts';
import { auditEntry, newValues } from '../../core/audit.ts';
import { redactValue } from '../../core/redaction/redact.ts';
import { keysOf } from '../../core/keys-of.ts';
import type { McpConnectionId, OrganizationId, ProjectId, PullRequestId, SessionId } from '../../core/ids.ts';
import type { Columns } from '../../core/postgres/reading/columns.ts';
import type { Readable } from '../../core/postgres/reading/queries.ts';
import { isLongerThan } from '../../core/input/validation.ts';
import { resolveMcpConnections } from '../mcp-connections/public.ts';
import {
  ARTIFACTS,
  PULL_REQUESTS,
  PULL_REQUESTS_OF_REPOSITORY,
  type PullRequestRow,
  findCodeRepositories,
} from './artifact-queries.ts';
import { PULL_REQUEST_COLUMNS, Session, SessionStream, type SessionTables } from './entity.ts';
import { type AgentFilter, MAX_DESCRIPTION, pinSessionInput, updateSessionInput } from './input.ts';
import { READ_SESSIONS, WRITE_SESSIONS, requireChange, sessionNotFound } from './policy.ts';
import {
  PROJECTS,
  SESSIONS,
  type SessionRow,
  agentsOf,
  findStreamHead,
  pageOfSessions,
  projectsOf,
} from './queries.ts';
import { type RichTextDocument, toPlainText } from './rich-text.ts';
import { type SessionChanges, updateSessionRow } from './update-query.ts';
import { isFinished } from './vocabulary.ts';
import { recordPrivateReads } from './private-reads.ts';

/** The sessions with these ids that the caller can read, in any order, with the selected columns or all. */
export const readSessions = guarded(
  READ_SESSIONS,
  async (context: OperationContext, ids: readonly SessionId[], selected?: Columns<SessionRow>) => {
    const hasTask = !selected || selected.includes('description') || selected.includes('richContent');
    const rows = await SESSIONS.find(context, ids, hasTask && selected ? [...selected, 'visibility'] : selected);
    if (hasTask)
      await recordPrivateReads(
        context,
        rows.flatMap(({ id, visibility }) => (visibility === 'private' ? [id] : [])),
      );
    return rows;
  },
);

/**
 * The current end of the event stream of a session, and whether events can still be appended.
 * Whoever reads it reads the events.
 * @throws NotFoundError when the caller cannot read the session.
 */
export async function readStreamHead(
  context: OperationContext,
  sessionId: SessionId,
): Promise<{ isFinished: boolean; lastId: number }> {
  const head = await findStreamHead(context, sessionId);
  if (!head) throw sessionNotFound();
  if (head.visibility === 'private') await recordPrivateReads(context, [sessionId]);
  return { isFinished: isFinished(head.state), lastId: head.lastId };
}

export const listSessions = defineOperation({
  name: 'listSessions',
  description:
    'Lists the public sessions of the organization and the private ones of the caller. Administrators also see the private sessions of other members. Newest first by default.',
  access: READ_SESSIONS,
  run: pageOfSessions,
});

export const listProjects = defineOperation({
  name: 'listProjects',
  description: 'Lists the projects of the organization, by name by default.',
  access: READ_SESSIONS,
  run: PROJECTS.read,
});

export const listSessionAgents = defineOperation({
  name: 'listSessionAgents',
  description:
    'Lists the agents of the sessions that the caller can read, by name: the values of `SessionFilter.agents`.',
  access: READ_SESSIONS,
  run: async (
    context,
    { organizationId, ...list }: NameList & { filter: AgentFilter; organizationId: OrganizationId },
  ) => {
    requireOrganization(context.actor, organizationId);
    return pageOfNames(context.sql, 'SESSION_AGENT', agentsOf(context.actor, list.filter), list);
  },
});

/** The artifacts with these ids whose sessions the caller can read. */
export const readArtifacts = guarded(READ_SESSIONS, ARTIFACTS.find);
/** The pull requests with these ids whose sessions the caller can read. */
export const readPullRequests = guarded(
  READ_SESSIONS,
  async (context: OperationContext, ids: readonly PullRequestId[], selected?: Columns<PullRequestRow>) => {
    const hasDiff = !selected || selected.includes('diff');
    const asked = [...(selected ?? PULL_REQUEST_COLUMNS), ...(hasDiff ? (['foreignSessionId'] as const) : [])];
    const rows = await PULL_REQUESTS.find(context, ids, asked);
    await recordPrivateReads(
      context,
      rows.flatMap(({ foreignSessionId }) => foreignSessionId ?? []),
    );
    return rows;
  },
);

/** The pull requests below artifacts, in GraphQL. */
export const pullRequestsBelow = {
  countsBelow: (...asked: Parameters<typeof PULL_REQUESTS.countsBelow>) => PULL_REQUESTS.countsBelow(...asked),
  pagesBelow: (
    context: OperationContext,
    ...asked: [Parameters<typeof PULL_REQUESTS.pagesBelow>[1], Columns<PullRequestRow>]
  ): ReturnType<typeof PULL_REQUESTS.pagesBelow> => {
    const pages = PULL_REQUESTS.pagesBelow(context, ...asked);
    const [, selected] = asked;
    if (selected && !selected.includes('diff')) return pages;
    return async (ids) => {
      const found = await pages(ids);
      // The list adds it to each row.
      const rows = [...found.values()].flatMap((page) => page.rows as readonly { parentMark?: SessionId | null }[]);
      await recordPrivateReads(
        context,
        rows.flatMap(({ parentMark }) => parentMark ?? []),
      );
      return found;
    };
  },
};
/** The same below repositories. */
export const pullRequestsOfRepositories = {
  countsBelow: (...asked: Parameters<typeof PULL_REQUESTS_OF_REPOSITORY.countsBelow>) =>
    PULL_REQUESTS_OF_REPOSITORY.countsBelow(...asked),
  pagesBelow: (
    context: OperationContext,
    asked: Parameters<typeof PULL_REQUESTS.pagesBelow>[1],
    selected: Columns<PullRequestRow>,
  ): ReturnType<typeof PULL_REQUESTS.pagesBelow> => {
    if (selected && !selected.includes('diff')) return PULL_REQUESTS_OF_REPOSITORY.pagesBelow(context, asked, selected);
    const columns = [...(selected ?? PULL_REQUEST_COLUMNS), 'foreignSessionId'] as const;
    const pages = PULL_REQUESTS_OF_REPOSITORY.pagesBelow(context, asked, columns);
    return async (ids) => {
      const found = await pages(ids);
      await recordPrivateReads(
        context,
        [...found.values()].flatMap(({ rows }) => rows.flatMap(({ foreignSessionId }) => foreignSessionId ?? [])),
      );
      return found;
    };
  },
};
export const readCodeRepositories = guarded(READ_SESSIONS, findCodeRepositories);
/** The projects with these ids in the acting organization. */
export const readProjects = guarded(READ_SESSIONS, (context: OperationContext, ids: readonly ProjectId[]) =>
  projectsOf(context)(ids),
);

/** `mcpServers` replaces the connections that the caller can see; other connections stay. */
export const updateSession = defineOperation({
  name: 'updateSession',
  description:
    'Updates the configuration of a session. An absent field does not change; null clears a nullable field. Texts of the shapes of known credentials are replaced by `[redacted]`. Only the creator and administrators can change a session.',
  access: WRITE_SESSIONS,
  input: updateSessionInput,
  errors: [NotFoundError, ConflictError],
  run: async (
    context,
    { sessionId, expectedUpdatedAt, mcpServers: names, ...given },
    selected?: Columns<SessionRow>,
  ) => {
    const mcpServers = names && (await resolveMcpConnections(context, names, 'mcpServers'));
    const description =
      given.richContent && given.description === undefined ? describe(given.richContent) : given.description;
    const texts = await redactValue(context, { ...given, description });
    const place = { sessionId, expectedUpdatedAt };
    return changeSession(context, 'updateSession', place, { ...texts, mcpServers }, selected);
  },
});

/** The plain text of a rich-text document, as the description; null when it is empty. */
export function describe(richContent: RichTextDocument): string | null {
  const plainText = toPlainText(richContent);
  if (isLongerThan(plainText, MAX_DESCRIPTION))
    throw invalid(
      'richContent',
      `its plain text must be at most ${MAX_DESCRIPTION} characters`,
      'TOO_LONG',
      MAX_DESCRIPTION,
    );
  return plainText || null;
}

export const pinSession = defineOperation({
  name: 'pinSession',
  description:
    'Pins a session to the top of lists for all readers, or unpins it. Only the creator and administrators can change a session.',
  access: WRITE_SESSIONS,
  input: pinSessionInput,
  errors: [NotFoundError, ConflictError],
  run: (context, { isPinned, ...place }, selected?: Columns<SessionRow>) =>
    changeSession(context, 'pinSession', place, { isPinned }, selected),
});

const { sessionId: _sessionId, expectedUpdatedAt: _expectedUpdatedAt, ...CONFIGURATION } = updateSessionInput.shape;
/**
 * The columns that a change can write. Values of `jsonb` columns are JSON text, because the driver would convert lists
 * to PostgreSQL arrays.
 */
const CHANGEABLE = [...keysOf(CONFIGURATION), 'isPinned'] as const satisfies readonly (keyof SessionRow)[];
const AS_JSON: ReadonlySet<string> = new Set<keyof SessionRow>(['agentOptions', 'richContent']);

/** The session to change, and the version of it that the client has read. */
interface Changed {
  readonly sessionId: SessionId;
  readonly expectedUpdatedAt?: string | null | undefined;
}

async function changeSession(
  context: OperationContext,
  operation: string,
  { sessionId, expectedUpdatedAt }: Changed,
  changes: Partial<Record<(typeof CHANGEABLE)[number], unknown>>,
  selected?: Columns<SessionRow>,
): Promise<SessionRow> {
  const given = CHANGEABLE.filter((name) => changes[name] !== undefined);
  if (given.length === 0) {
    context.onChange?.(operation, { type: 'Session', id: sessionId });
    await requireSessionChange(context, sessionId, expectedUpdatedAt);
    const [row] = await SESSIONS.find(context, [sessionId], selected);
    return row ?? refuse(context, sessionId);
  }
  const written: SessionChanges = Object.fromEntries(
    given.map((name): [string, unknown] => {
      const value = changes[name];
      return [name, AS_JSON.has(name) && value !== null ? JSON.stringify(value) : value];
    }),
  );
  const detail = newValues(changes, ['mode', 'sandboxSize', 'visibility', 'isPinned']);
  const target = { type: 'Session' as const, id: sessionId, changedFields: given, detail };
  context.onChange?.(operation, target);
  const row = await updateSessionRow(
    context,
    sessionId,
    { ...written, updatedAt: context.now() },
    { expectedUpdatedAt, entry: auditEntry(context, operation, target), columns: selected },
  );
  if (!row) return refuse(context, sessionId, expectedUpdatedAt);
  // Clients that follow the events may have lost the right to read the session.
  if (changes.visibility !== undefined) context.notifier.publish(sessionTopic(sessionId));
  context.notifier.publish(sessionsTopic(requireOrganization(context.actor).id));
  return row;
}

/**
 * @throws NotFoundError when the caller cannot read the session; ForbiddenError when they can read but not change it;
 * ConflictError when it was changed since `expectedUpdatedAt`.
 */
export async function requireSessionChange(
  context: OperationContext,
  sessionId: SessionId,
  expectedUpdatedAt?: string | null,
): Promise<void> {
  const [session] = await SESSIONS.find(
    context,
    [sessionId],
    ['organizationId', 'creatorId', 'visibility', 'updatedAt'],
  );
  requireChange(context.actor, session);
  requireUnchanged(
    { updatedAt: new Date(session.updatedAt) },
    { expectedUpdatedAt },
    { type: 'Session', key: sessionId },
  );
}

/** The MCP connections of a session that the caller can see. @throws NotFoundError and ForbiddenError like {@link requireSessionChange}. */
export async function readSessionConnections(
  context: OperationContext,
  sessionId: SessionId,
): Promise<readonly McpConnectionId[]> {
  const columns = ['organizationId', 'creatorId', 'visibility', 'mcpServers'] as const;
  const [session] = await SESSIONS.find(context, [sessionId], columns);
  requireChange(context.actor, session);
  return session.mcpServers;
}

/** Throws the error that explains why a session was not changed. */
async function refuse(
  context: OperationContext,
  sessionId: SessionId,
  expectedUpdatedAt?: string | null,
): Promise<never> {
  await requireAuthority(context);
  await requireSessionChange(context, sessionId, expectedUpdatedAt);
  throw new ConflictError(
    'CHANGED_MEANWHILE',
    'the session was changed by another request at the same time; try again',
  );
}

/** The same, with its event stream, which is locked first, in the same order as appending. */
export async function lockSessionWithStream(
  em: EntityManager,
  actor: OperationContext['actor'],
  sessionId: SessionId,
): Promise<{ session: Session; stream: SessionStream | null }> {
  const organization = requireOrganization(actor).id;
  const stream = await em.findOne(
    SessionStream,
    { session: sessionId, organization },
    { lockMode: LockMode.PESSIMISTIC_WRITE },
  );
  return { session: await lockSession(em, actor, sessionId), stream };
}

/** The same, without reading what the session has recorded. @returns what the rights depend on, and whether it is held. */
export async function lockForDeletion(em: EntityManager, actor: OperationContext['actor'], sessionId: SessionId) {
  const organizationId = requireOrganization(actor).id;
  const tables = em.getKysely<Readable<SessionTables>>();
  await tables
    .selectFrom('session_stream')
    .select('session_id')
    .where('session_id', '=', sessionId)
    .where('organization_id', '=', organizationId)
    .forUpdate()
    .execute();
  const session = await tables
    .selectFrom('session')
    .select(['organization_id as organizationId', 'creator_id as creatorId', 'visibility', 'held_at as heldAt'])
    .where('id', '=', sessionId)
    .where('organization_id', '=', organizationId)
    .forUpdate()
    .executeTakeFirst();
  requireChange(actor, session);
  return session;
}

/** Loads and locks a session to change it. When the caller cannot read it, the NotFoundError names `what`. */
export async function lockSession(
  em: EntityManager,
  actor: OperationContext['actor'],
  sessionId: SessionId,
  what = 'session',
  requireRight: typeof requireChange = requireChange,
): Promise<Session> {
  const organization = requireOrganization(actor);
  const session = await em.findOne(
    Session,
    { id: sessionId, organization: organization.id },
    { lockMode: LockMode.PESSIMISTIC_WRITE },
  );
  const owned = session && {
    organizationId: organization.id,
    creatorId: session.creator?.id ?? null,
    visibility: session.visibility,
  };
  requireRight(actor, owned ?? undefined, what);
  if (!session) throw notFound(what);
  return session;
}
