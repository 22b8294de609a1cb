import { createHash } from 'node:crypto';
import { type SqlBool, sql } from 'kysely';
import { requireOrganization } from '../../core/access.ts';
import { type AuditTarget, auditEntry, recordAudit } from '../../core/audit.ts';
import { ConflictError, limitReached } from '../../core/errors.ts';
import { publishToFeed } from '../../core/feed.ts';
import type { McpConnectionId, SessionId, ToolApprovalId } from '../../core/ids.ts';
import { type OperationContext, transact } from '../../core/operation.ts';
import { lockName } from '../../core/postgres/advisory-lock.ts';
import type { Readable } from '../../core/postgres/reading/queries.ts';
import { ApiKey } from '../api-keys/public.ts';
import { MAX_ARGUMENTS, argumentsDigest, previewOf } from './arguments.ts';
import { ToolApproval, type ToolApprovalTables, placeOfArguments } from './entity.ts';
import { isDecider } from './policy.ts';

/** The call of a tool that needs an approval: it asks for one, or uses it. */

const OPEN_MS = 15 * 60_000;
const MAX_OF_CALLER = 20;
const MAX_OF_ORGANIZATION = 1_000;

export interface AskedCall {
  readonly connection: { readonly id: McpConnectionId; readonly name: string };
  readonly toolName: string;
  /** The arguments as they are sent to the server; empty if there are none. */
  readonly json: string;
  readonly definitionHash: string;
  readonly sessionId: SessionId | null;
  /** What the tool has sent with its question to a person, which this call answers. */
  readonly requestState: unknown;
}

/** An approval that a call has used. */
export interface UsedApproval {
  /** Call if the server certainly has not run the call. */
  readonly giveBack: () => Promise<void>;
  /** Call if the tool asks a person for input: the call that answers belongs to this approval. */
  readonly continueWith: (requestState: unknown) => Promise<void>;
}

/**
 * Uses the approval of a call. A call whose outcome is unknown has used it.
 * @throws ConflictError with the approval that was asked for or denied, and at the limits; DuplicateMember.
 */
export async function useApproval(context: OperationContext, asked: AskedCall): Promise<UsedApproval> {
  if (Buffer.byteLength(asked.json) > MAX_ARGUMENTS)
    throw limitReached(
      MAX_ARGUMENTS,
      `Not done: the tool needs an approval, and nobody can be asked about arguments of more than ${MAX_ARGUMENTS / 1024} KiB`,
    );
  const digest = argumentsDigest(asked.json);
  const preview = await previewOf(asked.json);
  const outcome = await transact(context, (inner) => attempt(inner, asked, digest, preview));
  if (!('approval' in outcome)) return usedApproval(context, outcome.usedId);
  const { approval, isDenied, hasDeciders } = outcome;
  throw new ConflictError(
    isDenied ? 'APPROVAL_DENIED' : 'APPROVAL_REQUIRED',
    textOf(context, asked, approval, { isDenied, hasDeciders }),
    [],
    { toolApprovalId: approval.id },
  );
}

type Outcome =
  | { readonly usedId: ToolApprovalId }
  | { readonly approval: ToolApproval; readonly isDenied: boolean; readonly hasDeciders: boolean };

const hashOf = (value: unknown): string =>
  createHash('sha256')
    .update(JSON.stringify(value) ?? '')
    .digest('hex');

const targetOf = ({ id, argumentsDigest: digest }: Pick<ToolApproval, 'id' | 'argumentsDigest'>): AuditTarget => ({
  type: 'ToolApproval',
  id,
  detail: digest,
});

async function attempt(context: OperationContext, given: AskedCall, digest: string, preview: string): Promise<Outcome> {
  const { connection, toolName, definitionHash, requestState } = given;
  const { em, actor, now } = context;
  const { id: organization } = requireOrganization(actor);
  const at = now();
  // Calls ask one at a time, so that the same call has one approval, and none is beyond a limit.
  await lockName(em, `tool-approvals ${organization}`);
  const call = { organization, connection: connection.id, user: actor.userId, toolName, argumentsDigest: digest };
  const bound = { ...call, definitionHash, expiresAt: { $gt: at } };
  if (requestState !== undefined) {
    const continued = await em.findOne(ToolApproval, {
      ...bound,
      state: 'USED',
      continuationHash: hashOf(requestState),
    });
    if (continued) {
      continued.continuationHash = null;
      return { usedId: continued.id };
    }
  }
  const open = await em.findOne(ToolApproval, { ...bound, state: { $ne: 'USED' } }, { orderBy: { createdAt: 'desc' } });
  if (open?.state === 'APPROVED') {
    if (await take(em, open, at)) {
      await recordAudit(em, auditEntry(context, 'useToolApproval', targetOf(open)));
      return { usedId: open.id };
    }
    // Who has decided may no longer do it, so it must be asked for again.
    open.expiresAt = at;
    await em.flush();
  } else if (open) {
    const isDenied = open.state === 'DENIED';
    return { approval: open, isDenied, hasDeciders: isDenied || (await findDeciders(em, open)) };
  }
  return ask(context, given, digest, preview);
}

/** Asks for an approval of a call that has none. */
async function ask(
  context: OperationContext,
  { connection, toolName, json, definitionHash, sessionId }: AskedCall,
  digest: string,
  preview: string,
): Promise<Outcome> {
  const { em, actor, now, newId, secrets } = context;
  const { id: organization } = requireOrganization(actor);
  const at = now();
  await requireRoom(context, connection.id, at);
  const key = actor.isOperator === true ? null : await em.findOne(ApiKey, { id: actor.keyId });
  const id: ToolApprovalId = newId();
  const approval = em.create(ToolApproval, {
    organization,
    connection: connection.id,
    user: actor.userId,
    toolName,
    argumentsDigest: digest,
    id,
    keyCreatedBy: key?.createdBy ?? null,
    sessionId,
    definitionHash,
    preview,
    sealedArguments: await secrets.seal(json, placeOfArguments(id)),
    state: 'PENDING',
    decidedBy: null,
    decidedAt: null,
    continuationHash: null,
    createdAt: at,
    expiresAt: new Date(at.getTime() + OPEN_MS),
  });
  em.persist(approval);
  await em.flush();
  publishToFeed(em, {
    organizationId: organization,
    type: 'tool_approval.requested',
    subjectType: 'ToolApproval',
    subjectId: id,
    data: { state: 'PENDING', mcpConnectionId: connection.id },
  });
  await recordAudit(em, auditEntry(context, 'requestToolApproval', targetOf(approval)));
  return { approval, isDenied: false, hasDeciders: await findDeciders(em, approval) };
}

const tablesOf = (em: OperationContext['em']) => em.getKysely<Readable<ToolApprovalTables>>();

/** Takes an approval that is valid and whose decider could decide now. At most one caller in any process succeeds. */
async function take(em: OperationContext['em'], { id, organization }: ToolApproval, at: Date): Promise<boolean> {
  const taken = await tablesOf(em)
    .updateTable('tool_approval as a')
    .set({ state: 'USED' })
    .where('a.id', '=', id)
    .where('a.organization_id', '=', organization.id)
    .where('a.state', '=', 'APPROVED')
    .where('a.expires_at', '>', at.toISOString())
    .where(sql<SqlBool>`exists (select from mcp_connection as c, membership as m
      where c.id = a.connection_id and m.user_id = a.decided_by_id and ${isDecider()})`)
    .returning('a.id')
    .execute();
  return taken.length > 0;
}

/** Whether anybody can decide. */
async function findDeciders(em: OperationContext['em'], { id, organization }: ToolApproval): Promise<boolean> {
  const { rows } = await sql<{ found: boolean }>`select exists (select from tool_approval as a
    join mcp_connection as c on c.id = a.connection_id join membership as m on m.organization_id = a.organization_id
    where a.id = ${id} and a.organization_id = ${organization.id} and m.user_id <> a.user_id and m.user_id is distinct from a.key_created_by_id and ${isDecider()}) as found`.execute(
    em.getKysely(),
  );
  return rows[0]?.found === true;
}

async function requireRoom({ em, actor }: OperationContext, connection: McpConnectionId, at: Date): Promise<void> {
  const open = {
    organization: requireOrganization(actor).id,
    state: { $in: ['PENDING' as const, 'APPROVED' as const] },
    expiresAt: { $gt: at },
  };
  const refuse = (limit: number, whose: string) =>
    limitReached(limit, `Not done: the tool needs an approval, and ${whose} has ${limit} open ones already`);
  if ((await em.count(ToolApproval, { ...open, connection, user: actor.userId })) >= MAX_OF_CALLER)
    throw refuse(MAX_OF_CALLER, 'the caller');
  if ((await em.count(ToolApproval, open)) >= MAX_OF_ORGANIZATION)
    throw refuse(MAX_OF_ORGANIZATION, 'the organization');
}

function textOf(
  { settings }: OperationContext,
  { connection, toolName }: AskedCall,
  { id, expiresAt }: ToolApproval,
  { isDenied, hasDeciders }: { readonly isDenied: boolean; readonly hasDeciders: boolean },
): string {
  const page = `${settings.publicUrl}/tool-approvals/${id}`;
  const what = `Not done: the call of ${toolName.slice(0, 200)} at ${connection.name}`;
  const until = `${expiresAt.toISOString().slice(11, 16)} UTC`;
  if (isDenied) return `${what} was denied (${page}). The same call is not asked for again before ${until}.`;
  if (!hasDeciders)
    return `${what} needs an approval, and nobody may decide: name a group in the settings of the connection, or make another member an administrator. See ${page}`;
  return `${what} needs the approval of another person. Ask them to decide at ${page}. When it is approved, call again with exactly these arguments before ${until}.`;
}

function usedApproval({ em, actor }: OperationContext, id: ToolApprovalId): UsedApproval {
  const { id: organization } = requireOrganization(actor);
  const change = async (changes: { state: 'APPROVED' } | { continuation_hash: string }) => {
    const used = tablesOf(em.fork()).updateTable('tool_approval').set(changes);
    await used.where('organization_id', '=', organization).where('id', '=', id).where('state', '=', 'USED').execute();
  };
  return {
    giveBack: () => change({ state: 'APPROVED' }),
    continueWith: (requestState) => change({ continuation_hash: hashOf(requestState) }),
  };
}
