import { DomainError } from '../../core/errors.ts';
import type { UserId } from '../../core/ids.ts';
import { isObject } from '../../core/is-object.ts';
import type { OperationContext } from '../../core/operation.ts';
import { WORK, WorkSlices } from '../../core/work-budget.ts';
import {
  type ServerList,
  type StdioConnection,
  type UsableConnection,
  changeNotice,
  changesIn,
  effectOf,
  heldIn,
  keptList,
  noting,
  readServerList,
  readTool,
  requireNoRecentFailure,
} from '../mcp-connections/public.ts';
import type { Call } from './server-call.ts';
import { type Listing, RESOURCES, TOOLS } from './listings.ts';
import { type ServerResponse, type ServerSession, inSession, refusedBy } from './server-session.ts';
import { DroppedError, MAX_ROUND_BYTES, ServerRound } from './server-round.ts';
import { MAX_ANSWER_BYTES, answerTooLarge } from './upstream.ts';

/** Reads what a server lists, at most 2,000 in 100 pages. @throws UpstreamError for more than 4 MiB. */
export async function readList(call: Call, session: ServerSession, listing: Listing): Promise<ServerList> {
  const items: unknown[] = [];
  const cursors = new Set<string>();
  // A server whose cursor stands still sends a page twice.
  const seen = new Set<string>();
  let bytes = 0;
  let kept: Kept = {};
  let isCut = false;
  for (let cursor = ''; !cursors.has(cursor) && !isCut;) {
    cursors.add(cursor);
    const page = pageIn(await session.request(listing.method, cursor === '' ? {} : { cursor }), listing);
    if ((bytes += page.bytes) > MAX_ANSWER_BYTES) throw answerTooLarge();
    kept = shorter(kept, page.kept);
    for (const item of page.items) {
      const text = cursors.size > 1 || page.cursor !== '' ? JSON.stringify(item) : undefined;
      if (text !== undefined && seen.has(text)) continue;
      if (text !== undefined) seen.add(text);
      if (items.length < WORK.tools) items.push(item);
      else isCut = true;
    }
    // Without another page, the cursor is the first one again.
    ({ cursor } = page);
    isCut ||= cursors.size === WORK.pages && !cursors.has(cursor);
  }
  const { ttlMs, isPrivate } = session.isModern ? kept : {};
  const { actor, now } = call.context;
  const onlyFor = isPrivate === true ? actor.userId : undefined;
  return { items, isCut, isModern: session.isModern, bytes, readAt: now(), ttlMs, onlyFor };
}

interface Kept {
  readonly ttlMs?: number | undefined;
  readonly isPrivate?: boolean;
}

interface Page {
  readonly items: readonly unknown[];
  readonly cursor: string;
  readonly bytes: number;
  readonly kept: Kept;
}

const METHOD_NOT_FOUND = -32_601;

/** @throws RemoteFailedError if the server refuses to list its tools. What else it does not list, it may not have. */
function pageIn(response: ServerResponse, { method, member }: Listing): Page {
  const { result, error, bytes } = response;
  const isUnknown = isObject(error) && error['code'] === METHOD_NOT_FOUND;
  if (error !== undefined && !isUnknown && member === 'tools') throw refusedBy(response, method);
  const { [member]: listed, nextCursor, ttlMs, cacheScope } = isObject(result) ? result : {};
  return {
    items: Array.isArray(listed) ? (listed as readonly unknown[]).filter((item) => item !== null) : [],
    cursor: typeof nextCursor === 'string' || typeof nextCursor === 'number' ? String(nextCursor) : '',
    bytes,
    kept: { ttlMs: typeof ttlMs === 'number' ? ttlMs : undefined, isPrivate: cacheScope === 'private' },
  };
}

/** How long, and for whom, two pages of a list can be kept together. */
function shorter(one: Kept, other: Kept): Kept {
  const isPrivate = one.isPrivate === true || other.isPrivate === true;
  if (one.ttlMs === undefined || other.ttlMs === undefined) return { ttlMs: one.ttlMs ?? other.ttlMs, isPrivate };
  return { ttlMs: Math.min(one.ttlMs, other.ttlMs), isPrivate };
}

/** What several connections list. Tools and prompts have the name `<handle>__<name>`. */

type Connection = UsableConnection | StdioConnection;

/** Handles do not contain it, so its first occurrence ends the handle. */
const SEPARATOR = '__';

export interface ToolPlace {
  readonly connection: Connection;
  /** The name at the server. */
  readonly tool: string;
}

/** The connection and the tool that a name means; undefined if there is no such connection. The case of its handle counts only if it must. */
export function placeOf(connections: readonly Connection[], name: string): ToolPlace | undefined {
  const end = name.indexOf(SEPARATOR);
  if (end < 1) return undefined;
  const handle = name.slice(0, end);
  const similar = connections.filter((each) => each.handle.toLowerCase() === handle.toLowerCase());
  const connection = similar.find((each) => each.handle === handle) ?? (similar.length === 1 ? similar[0] : undefined);
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

/** Asks all servers for what they have. A server that fails, and a tool that clients would refuse, is left out and named in a notice. */
export async function listOfAll(
  context: OperationContext,
  connections: readonly Connection[],
  listing: Listing,
): Promise<SessionList> {
  const offered = connections.slice(0, WORK.offeredConnections);
  const next = connections[offered.length];
  const read = await readLists(context, offered, listing, context.actor.userId);
  const lists: SessionList[] = [];
  for (const { connection, list, failure } of read) {
    const { handle } = connection;
    lists.push(
      list ? await shown(context, connection, list, listing) : { items: [], notices: [{ handle, message: failure }] },
    );
  }
  const message = `only the first ${WORK.offeredConnections} connections are listed; the address of a session or of this connection has its tools`;
  const notices = [
    ...lists.flatMap((list) => list.notices),
    ...(listing === RESOURCES ? ambiguousIn(read) : []),
    ...(next ? [{ handle: next.handle, message }] : []),
  ];
  return { items: lists.flatMap(({ items }) => items), notices };
}

interface ReadList {
  readonly connection: Connection;
  readonly list: ServerList | undefined;
  /** Why there is none. */
  readonly failure: string;
}

/** What each of the servers lists. `clientOf` is the person whose MCP client gets it; undefined where the gateway itself uses it. */
export async function readLists(
  context: OperationContext,
  connections: readonly Connection[],
  listing: Listing,
  clientOf?: UserId,
): Promise<readonly ReadList[]> {
  const round = new ServerRound(context);
  const read = async (connection: Connection): Promise<() => ReadList> => {
    if (connection.serverUrl === null)
      return () => ({ connection, list: undefined, failure: 'a stdio connection runs where the agent runs' });
    try {
      const { answer, isDropped } = await readFrom(round, { context, connection, listing, clientOf });
      return () => (isDropped() ? { connection, ...DROPPED } : { connection, list: answer, failure: '' });
    } catch (error) {
      if (context.signal?.aborted) throw error;
      const { message } = error instanceof DomainError ? error : context.toDomainError(error);
      return () => ({ connection, list: undefined, failure: message });
    }
  };
  try {
    const results = await Promise.all(connections.map(read));
    return withinSum(results.map((result) => result()));
  } finally {
    round.end();
  }
}

/** The lists without the largest ones, if all together are too large: some of them were kept. */
function withinSum(lists: readonly ReadList[]): readonly ReadList[] {
  const sizeOf = (each: ReadList | undefined) => each?.list?.bytes ?? 0;
  const dropped = new Set<ReadList | undefined>();
  let sum = lists.reduce((bytes, each) => bytes + sizeOf(each), 0);
  while (sum > MAX_ROUND_BYTES) {
    let largest: ReadList | undefined;
    for (const each of lists) if (!dropped.has(each) && sizeOf(each) >= sizeOf(largest)) largest = each;
    dropped.add(largest);
    sum -= sizeOf(largest);
  }
  return lists.map((each) => (dropped.has(each) ? { ...each, ...DROPPED } : each));
}

const DROPPED = { list: undefined, failure: new DroppedError().message };

interface Wanted {
  readonly context: OperationContext;
  readonly connection: UsableConnection;
  readonly listing: Listing;
  readonly clientOf: UserId | undefined;
}

function readFrom(round: ServerRound, { context, connection, listing, clientOf }: Wanted) {
  const { method } = listing;
  if (!keptList(context, connection, method, clientOf)) requireNoRecentFailure(connection, context.now());
  const read = (call: Call) => inSession(call, (session) => readList(call, session, listing));
  const load = listing === TOOLS ? (call: Call) => noting(context, connection.id, () => read(call))() : read;
  return round.ask<ServerList>(
    connection,
    (exchange) => readServerList(context, connection, method, { clientOf, load: () => exchange(load) }),
    { isFailureNoted: true },
  );
}

/** Maximum number of addresses of resources that notices name. */
const MAX_NAMED = 20;

/** Addresses that several servers list, which cannot be read. */
function ambiguousIn(read: readonly ReadList[]): Notice[] {
  const owners = new Map<string, Set<string>>();
  for (const { connection, list } of read)
    for (const item of list?.items ?? []) {
      const uri = isObject(item) ? item['uri'] : undefined;
      if (typeof uri === 'string') owners.set(uri, (owners.get(uri) ?? new Set()).add(connection.handle));
    }
  return [...owners]
    .filter(([, handles]) => handles.size > 1)
    .slice(0, MAX_NAMED)
    .map(([uri, handles]) => ({
      handle: [...handles].at(-1) ?? '',
      message: `the address ${uri.slice(0, 200)} cannot be read: ${[...handles].slice(0, 5).join(' and ')} list it`,
    }));
}

/** A list as a client gets it: what the caller may not use is missing. */
const shown = async (
  context: OperationContext,
  connection: Connection,
  list: ServerList,
  listing: Listing,
): Promise<SessionList> =>
  listing === TOOLS && connection.serverUrl !== null
    ? named(await withHeld(context, connection, list), list)
    : described(connection, list, listing);

/** A connection that knows which of the listed tools are held, if it holds some. */
export const withHeld = async (
  context: OperationContext,
  connection: UsableConnection,
  list: ServerList,
): Promise<UsableConnection> =>
  connection.onToolChange === 'HOLD'
    ? { ...connection, isHeld: await heldIn(context, connection.id, list) }
    : connection;

/** What the server lists, at most 60 seconds ago. */
export function currentTools(call: Call): Promise<ServerList> {
  const { context, connection } = call;
  const read = () => inSession(call, (session) => readList(call, session, TOOLS));
  return readServerList(context, connection, 'tools/list', { load: noting(context, connection.id, read) });
}

/** Prompts are named like tools. Resources keep their address, by which tools name them. */
function described({ handle }: Connection, { items, isCut }: ServerList, { member }: Listing): SessionList {
  const notices = isCut ? [{ handle, message: `it has more ${member} than the ${items.length} that were read` }] : [];
  const objects = items.filter(isObject);
  if (member !== 'prompts') return { items: objects, notices };
  return { items: objects.map((item) => ({ ...item, name: handle + SEPARATOR + String(item['name']) })), notices };
}

async function named(connection: UsableConnection, listed: ServerList): Promise<SessionList> {
  const { handle, onToolChange } = connection;
  const changed = changesIn(listed);
  const slices = new WorkSlices();
  const tools: Item[] = [];
  const notices: Notice[] = [];
  const seen = new Set<string>();
  if (listed.isCut)
    notices.push({ handle, message: `it has more tools than the ${listed.items.length} that were read` });
  if (changed) notices.push({ handle, message: changeNotice(changed, onToolChange === 'HOLD') });
  for (const tool of listed.items) {
    if (slices.isOver()) await slices.pause();
    const { name, problem } = readTool(tool, listed.isModern);
    // A server whose cursor stands still sends tools again.
    if (!isObject(tool) || effectOf(connection, name) === 'DENY' || seen.has(name)) continue;
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
