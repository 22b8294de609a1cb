import { RemoteFailedError } from '../../core/errors.ts';
import { isObject } from '../../core/is-object.ts';
import { type ServerList, headerProblemIn, keptList, noting, readServerList } from '../mcp-connections/public.ts';
import { encodeValue } from './headers.ts';
import type { Call } from './server-call.ts';
import { readList } from './combined-lists.ts';
import { TOOLS } from './listings.ts';
import type { ServerSession } from './server-session.ts';
import { UpstreamError } from './errors.ts';

/** Headers that repeat arguments of a tool, which its schema names by `x-mcp-header` (MCP 2026-07-28, Streamable HTTP). */

interface Declaration {
  readonly header: string;
  /** The properties that lead to the argument. */
  readonly path: readonly string[];
}

/**
 * The headers for a call of a tool; none for a server of an older generation.
 * @throws RemoteFailedError for a tool whose declarations break a rule of the protocol, which no client may use.
 */
export async function parameterHeaders(
  call: Call,
  session: ServerSession,
  name: string,
  args: unknown,
): Promise<Record<string, string>> {
  if (!session.isModern) return {};
  const tool = await findTool(call, session, name);
  const problem = headerProblemIn(tool?.['inputSchema']);
  if (problem !== null)
    throw new RemoteFailedError(`the tool ${name} cannot be called: in its inputSchema, x-mcp-header ${problem}`);
  return Object.fromEntries(
    declarationsIn(tool?.['inputSchema']).flatMap(({ header, path }): [string, string][] => {
      const value = path.reduce<unknown>((inner, member) => (isObject(inner) ? inner[member] : undefined), args);
      const isPrimitive = typeof value === 'string' || typeof value === 'boolean' || Number.isSafeInteger(value);
      return isPrimitive ? [[`mcp-param-${header.toLowerCase()}`, encodeValue(String(value))]] : [];
    }),
  );
}

/** A tool as its server lists it. A list that was kept is read again if it does not have the tool. */
async function findTool(call: Call, session: ServerSession, name: string): Promise<Item | undefined> {
  const { context, connection } = call;
  const known = toolIn(keptList(context, connection, 'tools/list'), name);
  if (known) return known;
  const load = noting(context, connection.id, () => readList(call, session, TOOLS));
  const list = await readServerList(context, connection, 'tools/list', { isNew: true, load }).catch(
    (error: unknown) => {
      // A server that does not list its tools declares no headers.
      if (error instanceof RemoteFailedError && !(error instanceof UpstreamError)) return undefined;
      throw error;
    },
  );
  return toolIn(list, name);
}

type Item = Readonly<Record<string, unknown>>;

const toolIn = (list: ServerList | undefined, name: string): Item | undefined =>
  list?.items.find((item): item is Item => isObject(item) && item['name'] === name);

const MAX_DEPTH = 10;

function declarationsIn(schema: unknown, path: readonly string[] = []): readonly Declaration[] {
  if (!isObject(schema) || path.length > MAX_DEPTH) return [];
  const header = schema['x-mcp-header'];
  const own = typeof header === 'string' ? [{ header, path }] : [];
  const properties = isObject(schema['properties']) ? Object.entries(schema['properties']) : [];
  return [...own, ...properties.flatMap(([name, inner]) => declarationsIn(inner, [...path, name]))];
}
