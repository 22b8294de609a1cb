import { DomainError } from '../../core/errors.ts';
import { isObject } from '../../core/is-object.ts';
import type { OperationContext } from '../../core/operation.ts';
import { type StdioConnection, type UsableConnection, allowsTool, readTool } from '../mcp-connections/public.ts';
import { beginCall } from './call.ts';
import { countCallOfConnection } from './limits.ts';
import { type Listed, type Listing, TOOLS, listAll } from './parameter-headers.ts';
import { inSession } from './recorded-call.ts';
import { MAX_ANSWER_BYTES } from './upstream.ts';
import { WORK } from '../../core/work-budget.ts';

/** What several connections list. Tools and prompts have the name `<handle>__<name>`. */

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

/** Something that is missing in a list. */
export interface Notice {
  readonly handle: string;
  readonly message: string;
}

type Item = Readonly<Record<string, unknown>>;

export interface SessionList {
  readonly items: readonly Item[];
  readonly notices: readonly Notice[];
}

/** Maximum number of servers that are asked at the same time. */
const MAX_ASKED = 5;

/** Asks all servers for what they have. A server that fails, and a tool that clients would refuse, is left out and named in a notice. */
export async function listOfAll(
  context: OperationContext,
  connections: readonly Connection[],
  listing: Listing,
): Promise<SessionList> {
  const lists: SessionList[] = [];
  const [next] = connections.slice(WORK.offeredConnections);
  const waiting = connections.slice(0, WORK.offeredConnections).entries();
  const work = async () => {
    for (const [index, connection] of waiting) lists[index] = await listOf(context, connection, listing);
  };
  await Promise.all(Array.from({ length: MAX_ASKED }, work));
  let bytes = 0;
  const shown = lists.map((list, index): SessionList => {
    bytes += Buffer.byteLength(JSON.stringify(list.items));
    const handle = connections[index]?.handle ?? '';
    return bytes <= MAX_ANSWER_BYTES
      ? list
      : { items: [], notices: [{ handle, message: `the list of all ${listing.member} would be larger than 4 MiB` }] };
  });
  const message = `only the first ${WORK.offeredConnections} connections are listed; the address of a session or of this connection has its tools`;
  const cut = next ? [{ handle: next.handle, message }] : [];
  return { items: shown.flatMap(({ items }) => items), notices: [...shown.flatMap(({ notices }) => notices), ...cut] };
}

async function listOf(context: OperationContext, connection: Connection, listing: Listing): Promise<SessionList> {
  const { handle } = connection;
  if (connection.serverUrl === null)
    return { items: [], notices: [{ handle, message: 'a stdio connection runs where the agent runs' }] };
  try {
    return await askedList(context, connection, listing);
  } catch (error) {
    if (context.signal?.aborted) throw error;
    const { message } = error instanceof DomainError ? error : context.toDomainError(error);
    return { items: [], notices: [{ handle, message }] };
  }
}

async function askedList(
  context: OperationContext,
  connection: UsableConnection,
  listing: Listing,
): Promise<SessionList> {
  const bounds = { silenceMs: undefined, totalMs: context.timing.upstreamListMs };
  const call = beginCall(countCallOfConnection, { context, connection, signal: context.signal, bounds });
  try {
    return await inSession(call, async (session) => {
      const listed = await listAll(session, listing);
      return listing === TOOLS ? named(connection, listed, session.isModern) : described(connection, listed, listing);
    });
  } finally {
    call.end();
  }
}

/** Prompts are named like tools. Resources keep their address, by which tools name them. */
function described({ handle }: UsableConnection, { items, isCut }: Listed, { member }: Listing): SessionList {
  const notices = isCut ? [{ handle, message: `it has more ${member} than the ${items.length} that were read` }] : [];
  if (member !== 'prompts') return { items, notices };
  return { items: items.map((item) => ({ ...item, name: handle + SEPARATOR + String(item['name']) })), notices };
}

function named({ handle, toolPolicy }: UsableConnection, listed: Listed, isModern: boolean): SessionList {
  const tools: Item[] = [];
  const notices: Notice[] = [];
  const seen = new Set<string>();
  if (listed.isCut)
    notices.push({ handle, message: `it has more tools than the ${listed.items.length} that were read` });
  for (const tool of listed.items) {
    const { name, problem } = readTool(tool, isModern);
    // A server whose cursor stands still sends tools again.
    if (!allowsTool(toolPolicy, name) || seen.has(name)) continue;
    seen.add(name);
    const whole = handle + SEPARATOR + name;
    const fault = problem ?? nameFault(whole);
    if (fault === undefined) tools.push({ ...tool, name: whole });
    else notices.push({ handle, message: `the tool ${name.slice(0, 100)} is left out: ${fault}` });
  }
  return { items: tools, notices };
}

const MAX_NAME = 64;

/** Why model providers refuse the name of a tool, and with it the whole list; undefined if they do not. */
function nameFault(name: string): string | undefined {
  if (name.length > MAX_NAME)
    return `with its handle its name has ${name.length} characters, and clients take at most ${MAX_NAME}; a shorter handle can help`;
  return /^[\w-]+$/.test(name) ? undefined : 'clients take only letters, digits, _ and - in names';
}

/** A tool for a client of an older generation, which knows only schemas of objects. */
export function legacyTool(tool: Item): Item {
  const { outputSchema, ...rest } = tool;
  return isObject(outputSchema) && outputSchema['type'] === 'object' ? tool : rest;
}
