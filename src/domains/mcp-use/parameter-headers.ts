import { LRUCache } from 'lru-cache';
import { RemoteFailedError } from '../../core/errors.ts';
import { isObject } from '../../core/is-object.ts';
import { WORK } from '../../core/work-budget.ts';
import { headerProblemIn } from '../mcp-connections/public.ts';
import { encodeValue } from './headers.ts';
import type { Call } from './call.ts';
import type { ServerSession } from './server-session.ts';
import { MAX_ANSWER_BYTES, answerTooLarge } from './upstream.ts';

/** Headers that repeat arguments of a tool, which its schema names by `x-mcp-header` (MCP 2026-07-28, Streamable HTTP). */

interface Declaration {
  readonly header: string;
  /** The properties that lead to the argument. */
  readonly path: readonly string[];
}

/** The declarations of the tools of a server, as a key has seen them, by the name of the tool; or what is wrong with them. */
type Declared = ReadonlyMap<string, readonly Declaration[] | string>;

/** Names are chosen by servers, so what is kept of all together is bounded by its characters. */
const newDeclarations = () =>
  new LRUCache<string, Declared>({ max: 1000, ttl: 5 * 60_000, maxSize: 8 * 1024 * 1024, sizeCalculation: sizeOf });

function sizeOf(declared: Declared): number {
  let size = 1;
  for (const [name, found] of declared)
    size +=
      name.length +
      (typeof found === 'string' ? found : found.flatMap(({ header, path }) => [header, ...path]).join('')).length;
  return size;
}

/**
 * The headers for a call of a tool; none for a server of an older generation.
 * @throws RemoteFailedError for a tool whose declarations break a rule of the protocol, which no client may use.
 */
export async function parameterHeaders(
  { context, connection }: Call,
  session: ServerSession,
  name: string,
  args: unknown,
): Promise<Record<string, string>> {
  if (!session.isModern) return {};
  const cache = context.caches.of(newDeclarations);
  const key = `${connection.id} ${connection.serverUrl} ${context.actor.keyId}`;
  let declared = cache.get(key);
  if (!declared?.has(name)) cache.set(key, (declared = await readDeclarations(session)));
  const found = declared.get(name) ?? [];
  if (typeof found === 'string')
    throw new RemoteFailedError(`the tool ${name} cannot be called: in its inputSchema, x-mcp-header ${found}`);
  return Object.fromEntries(
    found.flatMap(({ header, path }): [string, string][] => {
      const value = path.reduce<unknown>((inner, member) => (isObject(inner) ? inner[member] : undefined), args);
      const isPrimitive = typeof value === 'string' || typeof value === 'boolean' || Number.isSafeInteger(value);
      return isPrimitive ? [[`mcp-param-${header.toLowerCase()}`, encodeValue(String(value))]] : [];
    }),
  );
}

async function readDeclarations(session: ServerSession): Promise<Declared> {
  const declared = new Map<string, readonly Declaration[] | string>();
  for (const tool of (await listAll(session, TOOLS)).items) {
    const { name, inputSchema } = tool;
    if (typeof name === 'string') declared.set(name, headerProblemIn(inputSchema) ?? declarationsIn(inputSchema));
  }
  return declared;
}

/** What a server lists: the method, and the member of its result. */
export interface Listing {
  readonly method: 'tools/list' | 'prompts/list' | 'resources/list' | 'resources/templates/list';
  readonly member: 'tools' | 'prompts' | 'resources' | 'resourceTemplates';
}

export const TOOLS: Listing = { method: 'tools/list', member: 'tools' };

export interface Listed {
  readonly items: readonly Readonly<Record<string, unknown>>[];
  /** Whether the server has more. */
  readonly isCut: boolean;
}

/** What a server lists, as it describes it, at most 2,000 in 100 pages. @throws UpstreamError for more than 4 MiB. */
export async function listAll(session: ServerSession, { method, member }: Listing): Promise<Listed> {
  const items: Readonly<Record<string, unknown>>[] = [];
  const cursors = new Set<string>();
  let sum = 0;
  for (let cursor = ''; !cursors.has(cursor);) {
    if (cursors.size === WORK.pages) return { items, isCut: true };
    cursors.add(cursor);
    const { result, bytes } = await session.request(method, cursor === '' ? {} : { cursor });
    if ((sum += bytes) > MAX_ANSWER_BYTES) throw answerTooLarge();
    const { [member]: listed, nextCursor } = isObject(result) ? result : {};
    for (const item of Array.isArray(listed) ? (listed as readonly unknown[]) : []) {
      if (items.length === WORK.tools) return { items, isCut: true };
      if (isObject(item)) items.push(item);
    }
    // Without another page, the cursor is the first one again.
    cursor = typeof nextCursor === 'string' || typeof nextCursor === 'number' ? String(nextCursor) : '';
  }
  return { items, isCut: false };
}

const MAX_DEPTH = 10;

function declarationsIn(schema: unknown, path: readonly string[] = []): readonly Declaration[] {
  if (!isObject(schema) || path.length > MAX_DEPTH) return [];
  const header = schema['x-mcp-header'];
  const own = typeof header === 'string' ? [{ header, path }] : [];
  const properties = isObject(schema['properties']) ? Object.entries(schema['properties']) : [];
  return [...own, ...properties.flatMap(([name, inner]) => declarationsIn(inner, [...path, name]))];
}
