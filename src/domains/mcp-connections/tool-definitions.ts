import { LockMode } from '@mikro-orm/postgresql';
import { publishToFeed } from '../../core/feed.ts';
import type { McpConnectionId } from '../../core/ids.ts';
import { isObject } from '../../core/is-object.ts';
import type { OperationContext } from '../../core/operation.ts';
import { queriesOn } from '../../core/postgres/reading/queries.ts';
import { hashOfJson } from '../../core/text/json-hash.ts';
import { type ChangedTools, McpConnection, type McpConnectionTables, McpToolDefinitions } from './entity.ts';
import { feedSubjectOf } from './policy.ts';
import type { ServerList } from './server-lists.ts';
import { mcpConnectionTopic } from './topics.ts';

/**
 * What servers say of their tools, and what of it people have accepted. Only complete lists that the gateway itself has read are compared: their
 * pages are of one generation of the protocol.
 */

/** The members of a tool by which models and people decide to call it. */
const MEMBERS = ['name', 'title', 'description', 'inputSchema', 'outputSchema', 'annotations'] as const;

/** Characters of a definition that is stored and shown; of a larger one there is the hash. */
const MAX_SHOWN = 32 * 1024;

export interface ToolDefinition {
  readonly hash: string;
  readonly definition: unknown;
}

const definitions = new WeakMap<ServerList, Promise<ReadonlyMap<string, ToolDefinition>>>();

/** The definitions in a list, by the names of their tools. */
export function definitionsIn(list: ServerList): Promise<ReadonlyMap<string, ToolDefinition>> {
  const known = definitions.get(list) ?? readDefinitions(list);
  definitions.set(list, known);
  return known;
}

async function readDefinitions({ items }: ServerList): Promise<ReadonlyMap<string, ToolDefinition>> {
  const found = new Map<string, object[]>();
  for (const item of items) {
    if (!isObject(item) || typeof item['name'] !== 'string') continue;
    const given = Object.fromEntries(MEMBERS.flatMap((name) => (item[name] == null ? [] : [[name, item[name]]])));
    found.set(item['name'], [...(found.get(item['name']) ?? []), given]);
  }
  const hashed = new Map<string, ToolDefinition>();
  // A name that a server lists twice means all that it says of it.
  for (const [name, given] of found) {
    const isShown = JSON.stringify(given).length <= MAX_SHOWN;
    hashed.set(name, {
      hash: await hashOfJson(given),
      definition: isShown ? (given.length > 1 ? given : given[0]) : null,
    });
  }
  return hashed;
}

/** What was accepted of a tool. */
export interface Accepted extends ToolDefinition {
  readonly acceptedAt: string;
}
export type AcceptedTools = ReadonlyMap<string, Accepted>;

const DEFINITIONS = queriesOn<McpConnectionTables>().selectFrom('mcp_tool_definitions').select('accepted');

/** As text, because tools have any names, and texts that `jsonb` refuses. */
const parsed = (accepted: string): AcceptedTools => new Map(JSON.parse(accepted) as [string, Accepted][]);
const written = (accepted: AcceptedTools): string => JSON.stringify([...accepted]);

/** What was accepted of the tools of a connection; undefined before its first list. */
export async function acceptedTools(
  { sql }: Pick<OperationContext, 'sql'>,
  id: McpConnectionId,
): Promise<AcceptedTools | undefined> {
  const row = await sql.primary.first(DEFINITIONS.where('connection_id', '=', id));
  return row && parsed(row.accepted);
}

export const DEFINITION_STATES = ['ACCEPTED', 'NEW', 'CHANGED'] as const;
export type DefinitionState = (typeof DEFINITION_STATES)[number];

export function stateOf(accepted: AcceptedTools | undefined, name: string, hash: string | undefined): DefinitionState {
  const known = accepted?.get(name);
  if (!known) return 'NEW';
  return known.hash === hash ? 'ACCEPTED' : 'CHANGED';
}

/** Whether a tool is unknown until its definition is accepted. */
export async function heldIn(
  context: Pick<OperationContext, 'sql'>,
  id: McpConnectionId,
  list: ServerList,
): Promise<(name: string) => boolean> {
  const [listed, accepted] = await Promise.all([definitionsIn(list), acceptedTools(context, id)]);
  return (name) => stateOf(accepted, name, listed.get(name)?.hash) !== 'ACCEPTED';
}

const MAX_NAMED = 20;

async function changedIn(
  listed: ReadonlyMap<string, ToolDefinition>,
  accepted: AcceptedTools,
): Promise<ChangedTools | null> {
  const changed = [...listed].filter(([name, { hash }]) => accepted.get(name)?.hash !== hash);
  if (changed.length === 0) return null;
  const hash = await hashOfJson(Object.fromEntries(changed.map(([name, tool]) => [`tool ${name}`, tool.hash])));
  const names = changed.slice(0, MAX_NAMED).map(([name]) => name.slice(0, 200).toWellFormed().replaceAll('\0', ''));
  return { hash, count: changed.length, names };
}

type Noting = Pick<OperationContext, 'em' | 'sql' | 'now' | 'notifier'>;

/** Reads a list of tools, and tells what has changed in it. The first list of a connection is accepted. */
export const noting =
  (context: Noting, id: McpConnectionId, load: () => Promise<ServerList>) => async (): Promise<ServerList> => {
    const list = await load();
    const changed = await noteDefinitions(context, id, await definitionsIn(list));
    if (changed) changes.set(list, changed);
    return list;
  };

const changes = new WeakMap<ServerList, ChangedTools>();

/** The tools of a list that were new or changed when it was read. What is accepted later makes the list invalid. */
export const changesIn = (list: ServerList): ChangedTools | undefined => changes.get(list);

async function noteDefinitions(
  context: Noting,
  id: McpConnectionId,
  listed: ReadonlyMap<string, ToolDefinition>,
): Promise<ChangedTools | null> {
  const { sql, em, notifier } = context;
  const known = await sql.primary.first(
    queriesOn<McpConnectionTables>()
      .selectFrom('mcp_connection as c')
      .leftJoin('mcp_tool_definitions as d', 'd.connection_id', 'c.id')
      .select(['d.accepted', 'c.changed_tools as changedTools'])
      .where('c.id', '=', id),
  );
  if (!known) return null;
  if (known.accepted !== null) {
    const found = await changedIn(listed, parsed(known.accepted));
    if (found?.hash === known.changedTools?.hash) return found;
  }
  const { isNews, found = null } = await em.fork().transactional(async (transaction) => {
    const connection = await transaction.findOne(McpConnection, { id }, { lockMode: LockMode.PESSIMISTIC_WRITE });
    if (!connection) return { isNews: false };
    const stored = await transaction.findOne(McpToolDefinitions, { connection: id });
    if (!stored) {
      const at = context.now().toISOString();
      const accepted = new Map([...listed].map(([name, tool]) => [name, { ...tool, acceptedAt: at }]));
      const { organization } = connection;
      transaction.persist(
        transaction.create(McpToolDefinitions, { connection, organization, accepted: written(accepted) }),
      );
      return { isNews: false };
    }
    const now = await changedIn(listed, parsed(stored.accepted));
    if (now?.hash === connection.changedTools?.hash) return { isNews: false, found: now };
    connection.changedTools = now;
    if (now)
      publishToFeed(transaction, {
        ...feedSubjectOf(connection),
        type: 'mcp_connection.tools_changed',
        data: { tools: now.count },
      });
    return { isNews: true, found: now };
  });
  if (isNews) notifier.publish(mcpConnectionTopic(id));
  return found;
}

/** What lists say of tools that have changed. */
export function changeNotice({ count, names }: ChangedTools, isHeld: boolean): string {
  const others = count > names.length ? ` and ${count - names.length} more` : '';
  const named = `${names.map((name) => name.slice(0, 100)).join(', ')}${others}`;
  return isHeld
    ? `left out until somebody accepts what the server now says of them: ${named}`
    : `the server has changed what it says of these tools since it was accepted: ${named}`;
}

/** Accepts what is listed of these tools. */
export async function acceptTools(
  { em, now }: Pick<OperationContext, 'em' | 'now'>,
  connection: McpConnection,
  listed: ReadonlyMap<string, ToolDefinition>,
  names: readonly string[],
): Promise<void> {
  const stored = await em.findOneOrFail(McpToolDefinitions, { connection: connection.id });
  const accepted = new Map(parsed(stored.accepted));
  for (const name of names) {
    const tool = listed.get(name);
    if (tool) accepted.set(name, { ...tool, acceptedAt: now().toISOString() });
  }
  stored.accepted = written(accepted);
  connection.changedTools = await changedIn(listed, accepted);
  // No list that was read before is kept.
  connection.listVersion += 1;
}
