import { notFound } from '../../core/errors.ts';
import type { SessionId } from '../../core/ids.ts';
import {
  type UsableConnection,
  definitionsIn,
  effectOf,
  findUsableConnection,
  isRestricted,
} from '../mcp-connections/public.ts';
import { DuplicateMember, type UsedApproval, useApproval } from '../tool-approvals/public.ts';
import { currentTools, withHeld } from './combined-lists.ts';
import { INVALID_REQUEST, MessageFault } from './message.ts';
import type { Call } from './server-call.ts';

/** Decides about the call of a tool, at every address. */

interface Decided {
  readonly isAllowed: boolean;
  /** The approval that the call uses, if its rule asks for one. */
  readonly approval?: UsedApproval | undefined;
}

interface AskedTool {
  /** The name at the server, whatever the client has sent. */
  readonly tool: unknown;
  /** The arguments as they are sent; empty for none. */
  readonly json: () => string;
  readonly sessionId: SessionId | null;
  readonly requestState: unknown;
}

/**
 * What is denied is answered like a tool that the server does not know. Where that depends on what the server says of the tool, its list is read
 * first, and the rights and rules of the caller once more.
 * @throws ConflictError for a call that somebody must approve; NotFoundError if the caller may no longer use the connection.
 */
export async function decideCall(call: Call, { tool, json, sessionId, requestState }: AskedTool): Promise<Decided> {
  const { context, connection, message } = call;
  if (typeof tool !== 'string') return { isAllowed: !isRestricted(connection) };
  const effect = effectOf(connection, tool);
  if (effect === 'DENY') return { isAllowed: false };
  if (effect === 'ALLOW' && connection.onToolChange === 'ALLOW') return { isAllowed: true };
  const list = await currentTools(call);
  const current = await findUsableConnection(context, connection.id);
  if (!current) throw notFound('MCP connection');
  const now = effectOf(await withHeld(context, current, list), tool);
  if (now !== 'ASK') return { isAllowed: now === 'ALLOW' };
  const { hash: definitionHash = '' } = (await definitionsIn(list)).get(tool) ?? {};
  try {
    const asked = { connection, toolName: tool, json: json(), definitionHash, sessionId, requestState };
    return { isAllowed: true, approval: await useApproval(context, asked) };
  } catch (error) {
    if (!(error instanceof DuplicateMember)) throw error;
    throw new MessageFault(INVALID_REQUEST, error.message, { id: message?.id });
  }
}

/** The connection of a call that knows which tools are held, if it holds some: for what a list shows. */
export async function withDecisions(call: Call): Promise<UsableConnection> {
  const { context, connection } = call;
  return connection.onToolChange === 'HOLD' ? withHeld(context, connection, await currentTools(call)) : connection;
}
