import { DomainError } from '../../core/errors.ts';
import { isObject } from '../../core/is-object.ts';
import type { OperationContext } from '../../core/operation.ts';
import { type StdioConnection, type UsableConnection, allowsTool, readTool } from '../mcp-connections/public.ts';
import { beginCall } from './call.ts';
import { countCallOfConnection } from './limits.ts';
import { type ListedTools, listAllTools } from './parameter-headers.ts';
import { inSession } from './recorded-call.ts';
import { MAX_ANSWER_BYTES } from './upstream.ts';

/** The tools of several connections, each under the name `<handle>__<tool>`. */

type Connection = UsableConnection | StdioConnection;

/** Handles do not contain it, so its first occurrence ends the handle. */
const SEPARATOR = '__';

export interface ToolPlace {
  readonly connection: Connection;
  /** The name at the server. */
  readonly tool: string;
}

/** The connection and the tool that a name means; undefined if there is no such connection. */
export function placeOf(connections: readonly Connection[], name: string): ToolPlace | undefined {
  const end = name.indexOf(SEPARATOR);
  const connection = end > 0 ? connections.find(({ handle }) => handle === name.slice(0, end)) : undefined;
  return connection && { connection, tool: name.slice(end + SEPARATOR.length) };
}

/** Something that is missing in a list of tools. */
export interface Notice {
  readonly handle: string;
  readonly message: string;
}

type Tool = Readonly<Record<string, unknown>>;

export interface ToolList {
  readonly tools: readonly Tool[];
  readonly notices: readonly Notice[];
}

/** Maximum number of servers that are asked at the same time. */
const MAX_ASKED = 5;

/** Asks all servers for their tools. A server that fails, and a tool that clients would refuse, is left out and named in a notice. */
export async function listTools(context: OperationContext, connections: readonly Connection[]): Promise<ToolList> {
  const lists: ToolList[] = [];
  const waiting = connections.entries();
  const work = async () => {
    for (const [index, connection] of waiting) lists[index] = await toolsOf(context, connection);
  };
  await Promise.all(Array.from({ length: MAX_ASKED }, work));
  let bytes = 0;
  const shown = lists.map((list, index): ToolList => {
    bytes += Buffer.byteLength(JSON.stringify(list.tools));
    const handle = connections[index]?.handle ?? '';
    return bytes <= MAX_ANSWER_BYTES
      ? list
      : { tools: [], notices: [{ handle, message: 'the list of all tools would be larger than 4 MiB' }] };
  });
  return { tools: shown.flatMap(({ tools }) => tools), notices: shown.flatMap(({ notices }) => notices) };
}

async function toolsOf(context: OperationContext, connection: Connection): Promise<ToolList> {
  const { handle } = connection;
  if (connection.serverUrl === null)
    return { tools: [], notices: [{ handle, message: 'a stdio connection runs where the agent runs' }] };
  try {
    return await askedTools(context, connection);
  } catch (error) {
    if (context.signal?.aborted) throw error;
    const { message } = error instanceof DomainError ? error : context.toDomainError(error);
    return { tools: [], notices: [{ handle, message }] };
  }
}

async function askedTools(context: OperationContext, connection: UsableConnection): Promise<ToolList> {
  const bounds = { silenceMs: undefined, totalMs: context.timing.upstreamListMs };
  const call = beginCall(countCallOfConnection, { context, connection, signal: context.signal, bounds });
  try {
    return await inSession(call, async (session) => named(connection, await listAllTools(session), session.isModern));
  } finally {
    call.end();
  }
}

function named({ handle, toolPolicy }: UsableConnection, listed: ListedTools, isModern: boolean): ToolList {
  const tools: Tool[] = [];
  const notices: Notice[] = [];
  const seen = new Set<string>();
  if (listed.isCut)
    notices.push({ handle, message: `it has more tools than the ${listed.tools.length} that were read` });
  for (const described of listed.tools) {
    const { name, problem } = readTool(described, isModern);
    // A server whose cursor stands still sends tools again.
    if (!allowsTool(toolPolicy, name) || seen.has(name)) continue;
    seen.add(name);
    if (problem === null) tools.push({ ...described, name: handle + SEPARATOR + name });
    else notices.push({ handle, message: `the tool ${name.slice(0, 100)} is left out: ${problem}` });
  }
  return { tools, notices };
}

/** A tool for a client of an older generation, which knows only schemas of objects. */
export function legacyTool(tool: Tool): Tool {
  const { outputSchema, ...rest } = tool;
  return isObject(outputSchema) && outputSchema['type'] === 'object' ? tool : rest;
}
