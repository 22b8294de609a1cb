import { sql } from 'kysely';
import { LRUCache } from 'lru-cache';
import { ConflictError, RemoteFailedError } from '../../core/errors.ts';
import type { McpConnectionId, UserId } from '../../core/ids.ts';
import type { OperationContext } from '../../core/operation.ts';
import type { Readable } from '../../core/postgres/reading/queries.ts';
import type { McpConnection, McpConnectionTables } from './entity.ts';
import type { Status } from './status.ts';

/**
 * What servers list, kept for all uses and all callers of a connection. Nothing is filtered: what a caller may use is decided afterwards.
 * Each process keeps its own; the version in the row of the connection tells all of them when it is no longer valid.
 */

const METHODS = ['tools/list', 'prompts/list', 'resources/list', 'resources/templates/list'] as const;
export type ListMethod = (typeof METHODS)[number];

export interface ServerList {
  /** As the server describes them. */
  readonly items: readonly unknown[];
  /** Whether the server has more. */
  readonly isCut: boolean;
  /** Whether the server is of the newest generation of the protocol. */
  readonly isModern: boolean;
  /** Size of the answers of the server. */
  readonly bytes: number;
  readonly readAt: Date;
  /** How long MCP clients may use the list; undefined if the server does not say it. */
  readonly ttlMs?: number | undefined;
  /** The person for whose clients alone the server lets it be kept; undefined for all callers. */
  readonly onlyFor?: UserId | undefined;
}

/** A connection, with a version that changes with its settings, credentials and lists, and when its server fails. */
export interface ListedConnection {
  readonly id: McpConnectionId;
  readonly listVersion: string;
}

/** The column of {@link ListedConnection}, of a connection `c`. */
export const LIST_VERSION = sql<string>`concat_ws(' ', c.list_version, c.token_version, c.server_url)`;

/** The same of a row that was loaded as an entity. */
export const listVersionOf = ({
  listVersion,
  tokenVersion,
  serverUrl,
}: Pick<McpConnection, 'listVersion' | 'tokenVersion' | 'serverUrl'>): string =>
  [listVersion, tokenVersion, serverUrl].filter((part) => part != null).join(' ');

const KEPT_MS = 60_000;
const MAX_KEPT = 4_000;
const MAX_BYTES = 16 * 1024 * 1024;
/** What an item takes beside its text. */
const ITEM_BYTES = 100;
/** Minimum time between two changes of the version that a server causes. */
const NOTE_INTERVAL_MS = 1_000;

interface Known<Value> {
  readonly version: string;
  readonly value: Value;
}

class ServerLists {
  readonly #lists = new LRUCache<string, Known<ServerList>>({
    max: MAX_KEPT,
    maxSize: MAX_BYTES,
    sizeCalculation: ({ value: { bytes, items } }) => bytes + ITEM_BYTES * (items.length + 1),
  });
  readonly #reads = new Map<string, Known<Promise<ServerList>>>();
  readonly #noted = new Map<McpConnectionId, { isAgain: boolean }>();

  get({ id, listVersion }: ListedConnection, method: ListMethod, now: Date): ServerList | undefined {
    const kept = this.#lists.get(`${id} ${method}`);
    const isKept = kept?.version === listVersion && now.getTime() - kept.value.readAt.getTime() < KEPT_MS;
    return isKept ? kept.value : undefined;
  }

  /** The read that another caller has begun. */
  reading({ id, listVersion }: ListedConnection, method: ListMethod): Promise<ServerList> | undefined {
    const read = this.#reads.get(`${id} ${method}`);
    return read?.version === listVersion ? read.value : undefined;
  }

  async read(
    { id, listVersion: version }: ListedConnection,
    method: ListMethod,
    load: () => Promise<ServerList>,
  ): Promise<ServerList> {
    const key = `${id} ${method}`;
    const read = { version, value: load() };
    this.#reads.set(key, read);
    const isLast = () => this.#reads.get(key) === read;
    try {
      const value = await read.value;
      // Unless the lists have changed meanwhile.
      if (isLast()) this.#lists.set(key, { version, value });
      return value;
    } finally {
      if (isLast()) this.#reads.delete(key);
    }
  }

  forget(id: McpConnectionId): void {
    for (const method of METHODS) {
      this.#lists.delete(`${id} ${method}`);
      this.#reads.delete(`${id} ${method}`);
    }
  }

  /** Runs `note` now; or a second later, once, if it ran less than a second ago. */
  async note(id: McpConnectionId, note: () => Promise<void>): Promise<void> {
    const noted = this.#noted.get(id);
    if (noted) {
      noted.isAgain = true;
      return;
    }
    const state = { isAgain: false };
    this.#noted.set(id, state);
    setTimeout(() => {
      this.#noted.delete(id);
      if (state.isAgain) void this.note(id, note);
    }, NOTE_INTERVAL_MS).unref();
    await note();
  }
}

const newServerLists = () => new ServerLists();

interface ListUse {
  /** The person to whose MCP client the list is answered; undefined where the gateway itself uses it. */
  readonly clientOf?: UserId | undefined;
  /** Whether a list that was kept does not do. */
  readonly isNew?: boolean;
  /** Reads the list from the server. */
  readonly load: () => Promise<ServerList>;
}

/** What a server lists: as it was kept, as somebody else is reading it, or read now. */
export async function readServerList(
  context: Pick<OperationContext, 'caches' | 'now'>,
  connection: ListedConnection,
  method: ListMethod,
  { clientOf, isNew = false, load }: ListUse,
): Promise<ServerList> {
  const lists = context.caches.of(newServerLists);
  const kept = isNew ? undefined : keptList(context, connection, method, clientOf);
  if (kept) return kept;
  for (let reading; (reading = lists.reading(connection, method));) {
    const list = await reading.catch((error: unknown) => {
      if (isOfServer(error)) throw error;
      // Whoever was reading it has left.
      return undefined;
    });
    if (list && isFor(list, clientOf)) return list;
    if (list) break;
  }
  return lists.read(connection, method, load);
}

/** A list that was kept; undefined if it must be read. */
export function keptList(
  { caches, now }: Pick<OperationContext, 'caches' | 'now'>,
  connection: ListedConnection,
  method: ListMethod,
  clientOf?: UserId,
): ServerList | undefined {
  const list = caches.of(newServerLists).get(connection, method, now());
  if (!list || clientOf === undefined) return list;
  const { readAt, ttlMs = KEPT_MS } = list;
  return isFor(list, clientOf) && now().getTime() - readAt.getTime() < ttlMs ? list : undefined;
}

const isFor = ({ onlyFor }: ServerList, clientOf: UserId | undefined): boolean =>
  onlyFor === undefined || clientOf === undefined || clientOf === onlyFor;

const isOfServer = (error: unknown): boolean =>
  (error instanceof RemoteFailedError && error.kind !== 'remoteTimedOut') || error instanceof ConflictError;

/** Call when a server says that one of its lists has changed: no process uses what it has kept of them. */
export async function noteListsChanged(
  context: Pick<OperationContext, 'caches' | 'em' | 'toDomainError'>,
  id: McpConnectionId,
): Promise<void> {
  const { caches, em, toDomainError } = context;
  const lists = caches.of(newServerLists);
  lists.forget(id);
  await lists.note(id, async () => {
    await em
      .fork()
      .getKysely<Readable<McpConnectionTables>>()
      .updateTable('mcp_connection')
      .set({ list_version: sql`list_version + 1` })
      .where('id', '=', id)
      .execute()
      .catch((error: unknown) => void toDomainError(error));
  });
}

/** What is known of the protocol of a server. */
export interface Generation {
  readonly isModern: boolean;
  /** For a server of an older generation that began no session, the version that it has chosen. */
  readonly version?: string;
}

const newGenerations = () => new LRUCache<string, Generation>({ max: MAX_KEPT, ttl: KEPT_MS });

export const keptGeneration = (
  { caches }: Pick<OperationContext, 'caches'>,
  { id, listVersion }: ListedConnection,
): Generation | undefined => caches.of(newGenerations).get(`${id} ${listVersion}`);

/** Keeps what a server has shown, from the first time on as long as its lists. */
export function keepGeneration(
  { caches }: Pick<OperationContext, 'caches'>,
  { id, listVersion }: ListedConnection,
  generation: Generation,
): void {
  caches.of(newGenerations).set(`${id} ${listVersion}`, generation, { noUpdateTTL: true });
}

/** Keeps that a server is of an older generation, which another use of its connection has shown. */
export function noteGeneration(
  context: Pick<OperationContext, 'caches'>,
  connection: Pick<McpConnection, 'id' | 'listVersion' | 'tokenVersion' | 'serverUrl'>,
  { isModern }: Pick<Generation, 'isModern'>,
): void {
  const listed = { id: connection.id, listVersion: listVersionOf(connection) };
  if (!isModern && !keptGeneration(context, listed)) keepGeneration(context, listed, { isModern });
}

const FAILURE_MS = 10_000;

/** The columns that say when a server has failed. */
export interface Checked {
  readonly status: Status;
  readonly statusReason: string | null;
  readonly lastCheckedAt: string | null;
  readonly updatedAt: string;
}

/** @throws RemoteFailedError for a server that has failed in the last 10 seconds, unless its connection was changed since. */
export function requireNoRecentFailure({ status, statusReason, lastCheckedAt, updatedAt }: Checked, now: Date): void {
  if (status !== 'UNREACHABLE' && status !== 'MISCONFIGURED') return;
  const failedAt = Date.parse(lastCheckedAt ?? '');
  if (now.getTime() - failedAt < FAILURE_MS && Date.parse(updatedAt) <= failedAt)
    throw new RemoteFailedError(statusReason ?? 'the MCP server failed a moment ago');
}
