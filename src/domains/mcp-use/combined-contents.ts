import { isObject } from '../../core/is-object.ts';
import type { OperationContext } from '../../core/operation.ts';
import { type UsableConnection, effectOf } from '../mcp-connections/public.ts';
import { AmbiguousResourceError } from './errors.ts';
import { type Call, CallerLeft, beginCall, boundsOfCall, countCallOfConnection } from './server-call.ts';
import { type Listing, RESOURCES, TOOLS } from './listings.ts';
import { INVALID_PARAMS, type Message, MessageFault } from './message.ts';
import type { ToolResponse } from './tool-call.ts';
import { inSession } from './server-session.ts';
import { ServerRound } from './server-round.ts';
import { placeOf, readLists, withHeld } from './combined-lists.ts';

/** Prompts and resources of the MCP connections of a session. */

type Connections = Parameters<typeof placeOf>[0];

interface Given {
  readonly context: OperationContext;
  readonly message: Message;
  readonly request: { readonly signal: AbortSignal };
}

/** The prompt whose name begins with the handle of its server. @throws MessageFault if there is no such server. */
export async function getPrompt(given: Given, connections: Connections): Promise<ToolResponse> {
  const { params } = given.message;
  const place = placeOf(connections, String(params['name']));
  if (place?.connection.serverUrl == null)
    throw new MessageFault(INVALID_PARAMS, `Unknown prompt: ${String(params['name']).slice(0, 200)}`, { status: 200 });
  return ask(given, place.connection, 'prompts/get', { ...params, name: place.tool });
}

const RESOURCE_NOT_FOUND = -32_002;

/** The resource of the only server that has it: addresses do not name their server. @throws AmbiguousResourceError; MessageFault if none has it. */
export async function readResource(given: Given, connections: Connections): Promise<ToolResponse> {
  const { params } = given.message;
  const uri = String(params['uri']);
  const remote = connections.filter((connection) => connection.serverUrl !== null);
  const owners = remote.length > 1 ? await ownersOf(given.context, remote, uri) : remote;
  if (owners.length > 1) throw new AmbiguousResourceError(uri, owners);
  const [owner] = owners;
  if (owner) return ask(given, owner, 'resources/read', params);
  return askAll(given, remote, uri);
}

/** The servers that list an address, or whose tools name the page. A page that the tools of one server alone name belongs to it. */
async function ownersOf(
  context: OperationContext,
  connections: readonly UsableConnection[],
  uri: string,
): Promise<readonly UsableConnection[]> {
  const namers = uri.startsWith(PAGE) ? await findWith(context, connections, TOOLS, isPageOf(uri)) : [];
  if (namers.length === 1) return namers;
  const listers = await findWith(context, connections, RESOURCES, (item) => item['uri'] === uri);
  return connections.filter((connection) => namers.includes(connection) || listers.includes(connection));
}

/** The scheme of the pages of tools (MCP Apps). */
const PAGE = 'ui://';

type Item = Readonly<Record<string, unknown>>;
type Condition = (item: Item, connection: UsableConnection) => boolean;

/** Whether a tool that may be used names the page. */
const isPageOf =
  (uri: string): Condition =>
  ({ name, _meta }, connection) => {
    if (!isObject(_meta) || typeof name !== 'string' || effectOf(connection, name) === 'DENY') return false;
    const { ui } = _meta;
    return _meta['ui/resourceUri'] === uri || (isObject(ui) && ui['resourceUri'] === uri);
  };

async function findWith(
  context: OperationContext,
  connections: readonly UsableConnection[],
  listing: Listing,
  isMeant: Condition,
): Promise<readonly UsableConnection[]> {
  const lists = await readLists(context, connections, listing);
  const found: UsableConnection[] = [];
  for (const [index, connection] of connections.entries()) {
    const list = lists[index]?.list;
    const held = list && listing === TOOLS ? await withHeld(context, connection, list) : connection;
    if (list?.items.some((item) => isObject(item) && isMeant(item, held))) found.push(connection);
  }
  return found;
}

/** An address that no server lists, such as one of a template: all are asked, because any of them could answer for another. */
async function askAll(given: Given, connections: readonly UsableConnection[], uri: string): Promise<ToolResponse> {
  const { context, message } = given;
  const round = new ServerRound(context);
  const answers = await Promise.allSettled(
    connections.map((connection) =>
      round.ask<ToolResponse>(connection, (exchange) =>
        exchange((call) => askIn(call, message, 'resources/read', message.params)),
      ),
    ),
  ).finally(() => round.end());
  if (context.signal?.aborted) throw new CallerLeft();
  const found: Pick<UsableConnection, 'handle'>[] = [];
  let refused: ToolResponse | undefined;
  let response: ToolResponse | undefined;
  let failure: Error | undefined;
  for (const [index, settled] of answers.entries()) {
    if (settled.status === 'rejected') failure = settled.reason as Error;
    else if (settled.value.answer.result === undefined) refused ??= settled.value.answer;
    else {
      response ??= settled.value.answer;
      found.push({ handle: connections[index]?.handle ?? '' });
    }
  }
  if (found.length > 1) throw new AmbiguousResourceError(uri, found);
  const answer = response ?? refused;
  if (answer) return answer;
  if (failure) throw failure;
  throw new MessageFault(RESOURCE_NOT_FOUND, `Resource not found: ${uri.slice(0, 200)}`, { status: 200 });
}

async function ask(
  { context, message, request }: Given,
  connection: UsableConnection,
  method: string,
  params: Message['params'],
): Promise<ToolResponse> {
  const bounds = boundsOfCall(context.timing);
  const call = beginCall(countCallOfConnection, { context, connection, signal: request.signal, bounds });
  try {
    return await askIn(call, message, method, params);
  } finally {
    call.end();
  }
}

function askIn(call: Call, { id }: Message, method: string, params: Message['params']): Promise<ToolResponse> {
  const options = typeof id === 'string' || typeof id === 'number' ? { id } : {};
  return inSession(call, async (session) => ({
    ...(await session.request(method, params, options)),
    isModern: session.isModern,
  }));
}
