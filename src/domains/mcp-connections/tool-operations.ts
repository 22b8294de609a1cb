import { Concurrency } from '../../core/concurrency.ts';
import type { McpConnectionId } from '../../core/ids.ts';
import { ConflictError, NotFoundError, RemoteFailedError, invalid } from '../../core/errors.ts';
import { type OperationContext, defineOperation } from '../../core/operation.ts';
import { sentences } from '../../core/text/wording.ts';
import { WORK } from '../../core/work-budget.ts';
import type { ToolEffect } from './entity.ts';
import { acceptToolDefinitionsInput, mcpConnectionReference } from './input.ts';
import {
  ADMINS_MANAGE_SHARED,
  WRITE_MCP_CONNECTIONS,
  loadManaged,
  loadVisible,
  mayManage,
  targetOf,
} from './policy.ts';
import { type ServerInfo, checkServer } from './remote/client.ts';
import { type Tool, cutNotice, listTools, readTool } from './remote/tools.ts';
import { type McpConnectionRow, connectionRow } from './queries.ts';
import { useServer } from './remote/session.ts';
import { type ServerList, keptList, readServerList, requireNoRecentFailure } from './server-lists.ts';
import {
  type DefinitionState,
  type ToolDefinition,
  acceptTools,
  acceptedTools,
  definitionsIn,
  noting,
  stateOf,
} from './tool-definitions.ts';
import { mcpConnectionTopic } from './topics.ts';
import { callerRules, effectOf } from './tool-rules.ts';

/** Operations that call the MCP server. */

/** Everybody who can see the connection can test it. The call itself records the outcome in the row. */
export const testMcpConnection = defineOperation({
  name: 'testMcpConnection',
  description:
    'Tests whether a remote server accepts the stored credentials, and updates the status of the connection.',
  access: WRITE_MCP_CONNECTIONS,
  input: mcpConnectionReference,
  errors: [NotFoundError, ConflictError, RemoteFailedError],
  callsOut: true,
  prepare: async (context, { mcpConnectionId }) => {
    const connection = await loadVisible(context.em.fork(), context.actor, mcpConnectionId);
    if (connection.type === 'stdio')
      throw new ConflictError('WRONG_STATE', 'a stdio connection is only stored and cannot be tested');
    return useServer(context, connection, checkServer);
  },
  run: async ({ em, actor, now }, { mcpConnectionId }, info: ServerInfo) => {
    const connection = await loadVisible(em, actor, mcpConnectionId);
    // Uses are recorded once a minute, but whoever tests sees when.
    if (connection.status === 'CONNECTED') connection.lastCheckedAt = now();
    return { connection, info };
  },
  target: ({ connection }) => targetOf(connection),
});

export interface ConnectionTool extends Tool {
  readonly connectionId: McpConnectionId;
  /** What the caller may do with it. */
  readonly effect: ToolEffect;
  readonly definition: Definition;
}

/** What the server says of a tool, and what was accepted of it. */
interface Definition {
  readonly state: DefinitionState;
  readonly hash: string;
  readonly acceptedAt: string | null;
  readonly current: unknown;
  readonly accepted: unknown;
}

interface ToolList {
  readonly tools: readonly ConnectionTool[];
  /** Says that the server has more tools; null when it does not. */
  readonly notice: string | null;
  readonly readAt: string;
}

/** The lists that each request reads, and the work that asks the next servers. */
interface Asking {
  readonly lists: Map<string, Promise<ToolList>>;
  readonly limit: Concurrency;
}
const asking = new WeakMap<OperationContext, Asking>();

/** The columns of a connection by which its tools are read. */
export const TOOL_COLUMNS = [
  'id',
  'type',
  'listVersion',
  'status',
  'statusReason',
  'lastCheckedAt',
  'updatedAt',
  'visibility',
  'access',
  'toolPolicy',
  'toolRules',
  'onToolChange',
] as const satisfies readonly (keyof McpConnectionRow)[];

/** The tools of the server, kept for up to 60 seconds; null for stdio. @throws RemoteFailedError with the cause. */
export async function readTools(
  context: OperationContext,
  row: Pick<McpConnectionRow, (typeof TOOL_COLUMNS)[number]>,
): Promise<ToolList | null> {
  if (row.type === 'stdio') return null;
  const { lists, limit }: Asking = asking.get(context) ?? {
    lists: new Map(),
    limit: new Concurrency(WORK.toolServers),
  };
  asking.set(context, { lists, limit });
  const key = `${row.id} ${row.listVersion}`;
  let list = lists.get(key);
  if (!list) lists.set(key, (list = readToolList(context, row, limit)));
  return list;
}

async function readToolList(
  context: OperationContext,
  row: Pick<McpConnectionRow, (typeof TOOL_COLUMNS)[number]>,
  limit: Concurrency,
): Promise<ToolList> {
  const list = await readListOf(context, row, limit);
  const { items, isModern, isCut, readAt } = list;
  const rules = await callerRules(context, row);
  const [listed, accepted] = await Promise.all([definitionsIn(list), acceptedTools(context, row.id)]);
  const isManager = mayManage(context.actor, row);
  return {
    tools: items.flatMap((item) => {
      const tool = readTool(item, isModern);
      const { hash = '', definition: current } = listed.get(tool.name) ?? {};
      const known = accepted?.get(tool.name);
      const state = stateOf(accepted, tool.name, hash);
      const isHeld = row.onToolChange === 'HOLD' && state !== 'ACCEPTED';
      const effect = rules && !isHeld ? effectOf(rules, tool.name) : 'DENY';
      if (effect === 'DENY' && !isManager) return [];
      const { acceptedAt = null, definition: before = null } = known ?? {};
      const definition = { state, hash, acceptedAt, current, accepted: before };
      return [{ ...tool, effect, definition, connectionId: row.id }];
    }),
    notice: isCut ? cutNotice(items.length) : null,
    readAt: readAt.toISOString(),
  };
}

/** What the server lists, at most 60 seconds ago. */
async function readListOf(
  context: OperationContext,
  row: Pick<McpConnectionRow, 'id' | 'listVersion' | 'status' | 'statusReason' | 'lastCheckedAt' | 'updatedAt'>,
  limit = new Concurrency(1),
): Promise<ServerList> {
  const load = () =>
    limit.run(async () => {
      const connection = await loadVisible(context.em.fork(), context.actor, row.id);
      const listed = await context.budget.callOut(context.pools.calls, () =>
        useServer(context, connection, (client, _, work) => listTools(client, work.signal)),
      );
      return { ...listed, readAt: context.now() };
    });
  const kept = keptList(context, row, 'tools/list');
  if (kept) return kept;
  requireNoRecentFailure(row, context.now());
  return readServerList(context, row, 'tools/list', { load: noting(context, row.id, load) });
}

export const acceptMcpToolDefinitions = defineOperation({
  name: 'acceptMcpToolDefinitions',
  description: sentences(
    'Accepts what an MCP server says of tools now: its texts, schemas and annotations. With `onToolChange` `HOLD`, they can be called from then on.',
    ADMINS_MANAGE_SHARED,
  ),
  access: WRITE_MCP_CONNECTIONS,
  input: acceptToolDefinitionsInput,
  errors: [NotFoundError, ConflictError, RemoteFailedError],
  callsOut: true,
  prepare: async (context, { mcpConnectionId }) => {
    const connection = await loadManaged(context.em.fork(), context.actor, mcpConnectionId);
    if (connection.type === 'stdio')
      throw new ConflictError('WRONG_STATE', 'a stdio connection runs where the agent runs, and lists no tools here');
    return definitionsIn(await readListOf(context, connectionRow(connection)));
  },
  run: async (context, { mcpConnectionId, names }, listed: ReadonlyMap<string, ToolDefinition>) => {
    const connection = await loadManaged(context.em, context.actor, mcpConnectionId, { lock: true });
    const missing = names.findIndex((name) => !listed.has(name));
    if (missing !== -1) throw invalid(`names.${missing}`, 'must be a tool that the server lists', 'NOT_FOUND');
    await acceptTools(context, connection, listed, names);
    return connection;
  },
  target: targetOf,
  afterCommit: async ({ notifier }, connection) => {
    notifier.publish(mcpConnectionTopic(connection.id));
    return connection;
  },
});
