import { type EntityManager, LockMode } from '@mikro-orm/postgresql';
import { ConflictError, invalid, notFound } from '../../core/errors.ts';
import type { CountedPage, PageArguments } from '../../core/keyset.ts';
import { auditSql } from '../../core/audit.ts';
import { isLongerThan } from '../../core/validation.ts';
import { type OperationContext, auditEntry, requireOrganization, requireScope } from '../../core/operation.ts';
import { requireVisibleMcpConnections } from '../mcp-connections/operations.ts';
import { Session } from './entity.ts';
import { MAX_DESCRIPTION, type PinSessionInput, type SessionFilter, type UpdateSessionInput } from './input.ts';
import { changeableSql, readableSql, requireChange } from './policy.ts';
import { type RichTextDocument, toPlainText } from './rich-text.ts';
import {
  type ArtifactRow,
  SESSION_COLUMNS,
  type SessionOrder,
  type SessionRow,
  countSessions,
  findArtifactRows,
  findSessionRows,
  pageOfSessions,
} from './rows.ts';
import { type SessionState, isFinished } from './vocabulary.ts';

// Who may see a session decides who may see what belongs to it.
export { changeableSql, readableSql };

/** Those of the ids that the caller may read, in no particular order. */
export async function readSessions(context: OperationContext, ids: readonly string[]): Promise<SessionRow[]> {
  requireScope(context.actor, 'sessions.read');
  return findSessionRows(context, ids);
}

/**
 * Where a session's stream of events ends at the moment, and whether more may come.
 * @throws NotFoundError for a session that is missing, foreign, or private to somebody else.
 */
export async function readStreamHead(
  context: OperationContext,
  sessionId: string,
): Promise<{ isFinished: boolean; lastId: number }> {
  const values: unknown[] = [sessionId];
  const [head] = await context.sql.query<{ state: SessionState; lastId: string }>(
    `select s.state, h.last_id as "lastId" from session s join session_stream h on h.session_id = s.id where s.id = $1 and ${readableSql(context.actor, values)}`,
    values,
  );
  if (!head) throw notFound('session');
  return { isFinished: isFinished(head.state), lastId: Number(head.lastId) };
}

/** Pages through the sessions that the caller may read. */
export async function listSessions(
  context: OperationContext,
  {
    organizationId,
    filter,
    order,
    page,
  }: { organizationId?: string; filter: SessionFilter; order: SessionOrder; page: PageArguments },
): Promise<CountedPage<SessionRow>> {
  requireScope(context.actor, 'sessions.read');
  requireOrganization(context.actor, organizationId);
  return { page: await pageOfSessions(context, filter, order, page), total: () => countSessions(context, filter) };
}

/** The artifacts of sessions that the caller has reached, by session id; one statement for all. */
export async function readArtifactsOf(
  context: OperationContext,
  sessionIds: readonly string[],
): Promise<Map<string, ArtifactRow[]>> {
  const artifacts = new Map<string, ArtifactRow[]>(sessionIds.map((id) => [id, []]));
  for (const row of await findArtifactRows(context, sessionIds)) artifacts.get(row.sessionId)?.push(row);
  return artifacts;
}

/**
 * Changes the configuration of a session. `richContent` without `description` sets the description to its plain text.
 * @throws NotFoundError when the caller cannot read the session; ForbiddenError when they can but may not change it; ValidationError when
 * an MCP server is none that the caller can see.
 */
export async function updateSession(
  context: OperationContext,
  { sessionId, ...changes }: UpdateSessionInput,
): Promise<SessionRow> {
  requireScope(context.actor, 'sessions.write');
  if (changes.mcpServers) await requireVisibleMcpServers(context, changes.mcpServers);
  if (changes.richContent && changes.description === undefined) {
    const description = describe(changes.richContent);
    return changeSession(context, 'updateSession', sessionId, { ...changes, description });
  }
  return changeSession(context, 'updateSession', sessionId, changes);
}

/** The description that a rich-text document makes; null when its text is empty. */
export function describe(richContent: RichTextDocument): string | null {
  const plainText = toPlainText(richContent);
  if (isLongerThan(plainText, MAX_DESCRIPTION))
    throw invalid('richContent', `its plain text must be at most ${MAX_DESCRIPTION} characters`);
  return plainText || null;
}

/** Pins a session to the top for everybody who reads it, or unpins it. */
export async function pinSession(
  context: OperationContext,
  { sessionId, isPinned }: PinSessionInput,
): Promise<SessionRow> {
  requireScope(context.actor, 'sessions.write');
  return changeSession(context, 'pinSession', sessionId, { isPinned });
}

/** What changes, and its column. */
const COLUMN_OF = {
  agent: 'agent',
  agentOptions: 'agent_options',
  baseBranch: 'base_branch',
  branchName: 'branch_name',
  targetBranch: 'target_branch',
  description: 'description',
  richContent: 'rich_content',
  level: 'level',
  mcpServers: 'mcp_servers',
  projectId: 'project_id',
  title: 'title',
  mode: 'mode',
  sandboxSize: 'sandbox_size',
  visibility: 'visibility',
  isPinned: 'is_pinned',
} as const;
type Changes = Partial<Record<keyof typeof COLUMN_OF, unknown>>;

const COLUMNS = Object.values(COLUMN_OF).join(', ');

/** What is written over a session. What `agentOptions`, and `goal` in them, do not name stays as it is, too. */
function patchSql(given: Readonly<Record<string, unknown>>, values: unknown[]): string {
  const patch = `$${values.push(JSON.stringify(given))}::jsonb`;
  if (!('agent_options' in given)) return patch;
  const options = `${patch} -> 'agent_options'`;
  const goal = `jsonb_build_object('goal', (s.agent_options -> 'goal') || (${options} -> 'goal'))`;
  // Where one of the two goals is not there, the other one stands as it is.
  const merged = `coalesce(s.agent_options, '{}') || (${options}) || jsonb_strip_nulls(${goal})`;
  return `${patch} || jsonb_build_object('agent_options', ${merged})`;
}

/**
 * One statement that finds, authorizes, changes, records and answers. `jsonb_populate_record` has the very semantics of a PATCH: a column that the
 * JSON does not name keeps its value, and null is null.
 */
async function changeSession(
  context: OperationContext,
  operation: string,
  sessionId: string,
  changes: Changes,
): Promise<SessionRow> {
  const given = Object.fromEntries(
    Object.entries(COLUMN_OF).flatMap(([name, column]) =>
      changes[name as keyof Changes] === undefined ? [] : [[column, changes[name as keyof Changes]]],
    ),
  );
  const values: unknown[] = [sessionId];
  const reach = changeableSql(context.actor, values);
  const changed =
    Object.keys(given).length === 0
      ? `select ${SESSION_COLUMNS} from session s where s.id = $1 and ${reach}`
      : `update session s set (${COLUMNS}) = (select ${COLUMNS} from jsonb_populate_record(s, ${patchSql(given, values)})),
          updated_at = $${values.push(context.now())}
          where s.id = $1 and ${reach} returning ${SESSION_COLUMNS}`;
  const entry = auditEntry(context, operation, { type: 'Session', id: sessionId });
  // As JSON, which is read at once: the driver makes a reader for each of some thirty columns, and then has one row for them.
  const [row] = await context.sql.query<{ session: SessionRow }>(
    `with changed as (${changed}), recorded as (${auditSql(entry, 'changed', values)}) select to_json(changed) as session from changed`,
    values,
  );
  if (!row) return refuse(context, sessionId);
  // Who follows the session's events may have to be told that it is private now.
  if (changes.visibility !== undefined) context.notifier.publish(sessionTopic(sessionId));
  return row.session;
}

/** What is published when events were appended to a session, or its state or visibility has changed. */
export function sessionTopic(sessionId: string): string {
  return `session:${sessionId}`;
}

/** @throws NotFoundError when the caller cannot read the session; ForbiddenError when they can but may not change it. */
export async function requireSessionChange(context: OperationContext, sessionId: string): Promise<void> {
  const [session] = await findSessionRows(context, [sessionId]);
  requireChange(context.actor, session);
}

/** Why a session was not changed. */
async function refuse(context: OperationContext, sessionId: string): Promise<never> {
  await requireSessionChange(context, sessionId);
  throw new ConflictError('the session was changed by somebody else at the same time; try again');
}

/** @throws ValidationError naming the first that is neither the id nor the name of an MCP connection that the caller can see. */
export function requireVisibleMcpServers(context: OperationContext, wanted: readonly string[]): Promise<void> {
  return requireVisibleMcpConnections(context, wanted, 'mcpServers');
}

/** Loads a session for changing, and holds it. `what` is said to be missing when the caller cannot read it. */
export async function lockSession(
  em: EntityManager,
  actor: OperationContext['actor'],
  sessionId: string,
  what = 'session',
): Promise<Session> {
  const organization = requireOrganization(actor);
  const session = await em.findOne(
    Session,
    { id: sessionId, organization: organization.id },
    { lockMode: LockMode.PESSIMISTIC_WRITE },
  );
  requireChange(actor, session && { creatorId: session.creator?.id ?? null, visibility: session.visibility }, what);
  return session ?? Promise.reject(notFound(what));
}
