import { mcpClient } from '../../../core/mcp-packages.ts';
import { isObject } from '../../../core/is-object.ts';

/**
 * MCP servers write null for what they do not have, and answer with odd capabilities and lists. The official client package refuses such
 * messages, so they are changed before it reads them.
 */

type Document = Readonly<Record<string, unknown>>;

/** The request that a message answers. */
export interface AnsweredRequest {
  readonly id: string | number;
  readonly method: string;
}

/** What is changed in the results of a method. */
const RESULTS: Readonly<Record<string, (result: Document) => Document>> = {
  initialize: ({ protocolVersion, capabilities, serverInfo }) => ({
    protocolVersion: textOf(protocolVersion) || oldestRevision(),
    capabilities: capabilitiesIn(capabilities),
    serverInfo: serverInfoIn(serverInfo),
  }),
  'server/discover': (result) => {
    const { capabilities, ...rest } = membersWithoutNulls(result);
    return { ...rest, capabilities: capabilitiesIn(capabilities) };
  },
  // The package refuses a list with an odd tool. It gets the others; all tools as the server sent them are in a member that it does not know.
  'tools/list': ({ tools, nextCursor }) => ({
    ...CACHING,
    tools: Array.isArray(tools) ? tools.filter((tool) => mcpClient().isSpecType.Tool(tool)) : [],
    [TOOLS_AS_SENT]: Array.isArray(tools) ? tools.filter((tool) => tool !== null) : [],
    ...(textOf(nextCursor) !== '' && { nextCursor: textOf(nextCursor) }),
  }),
};

/** The member of a result of `tools/list` with the tools as the server sent them. */
export const TOOLS_AS_SENT = 'toolsAsSent';

/** Members that a result of the revision 2026-07-28 must have. */
const CACHING = { resultType: 'complete', ttlMs: 0, cacheScope: 'private' };

/** The revision of a server that names none. */
const oldestRevision = () => mcpClient().SUPPORTED_PROTOCOL_VERSIONS.toSorted()[0] ?? '';

/**
 * Some languages write an empty object as a list. The gateway only needs to know which capabilities a server has. A server that does not
 * say so may have tools.
 */
function capabilitiesIn(capabilities: unknown): Document {
  if (!isObject(capabilities)) return { tools: {} };
  return Object.fromEntries(
    Object.entries(capabilities).flatMap(([name, value]) => (value == null || value === false ? [] : [[name, {}]])),
  );
}

function serverInfoIn(info: unknown): Document {
  const { name, version } = isObject(info) ? info : {};
  return { name: textOf(name), version: textOf(version) };
}

const textOf = (value: unknown): string =>
  typeof value === 'string' || typeof value === 'number' ? String(value) : '';

/** Changes a JSON-RPC message that answers this request. Requests and notifications of the server are left as they are. */
export function changeMessage(message: unknown, request: AnsweredRequest): unknown {
  if (!isObject(message) || 'method' in message) return message;
  const { id, error, result } = message;
  const common = { jsonrpc: '2.0', id: id == null || textOf(id) === textOf(request.id) ? request.id : id };
  if (error != null) return { ...common, error: errorIn(error) };
  if (!isObject(result) && result != null) return { ...common, result };
  return { ...common, result: RESULTS[request.method]?.(result ?? {}) ?? result ?? {} };
}

export const INTERNAL_ERROR = -32_603;

function errorIn(error: unknown): Document {
  const { code, message, data } = isObject(error) ? error : { message: error };
  return {
    code: Number.isSafeInteger(Number(code ?? Number.NaN)) ? Number(code) : INTERNAL_ERROR,
    message: textOf(message),
    ...(data != null && { data }),
  };
}

/** The revision that an answer to `initialize` names, if the package does not know it. */
export function unknownRevisionIn(message: unknown, { method }: AnsweredRequest): string | undefined {
  if (method !== 'initialize' || !isObject(message) || !isObject(message['result'])) return undefined;
  const { protocolVersion, capabilities, serverInfo } = message['result'];
  if ((protocolVersion ?? capabilities ?? serverInfo) == null) return 'none';
  const revision = textOf(protocolVersion);
  return revision === '' || mcpClient().SUPPORTED_PROTOCOL_VERSIONS.includes(revision) ? undefined : revision;
}

/** Servers write null for what they do not have. Members and list items that are null count as absent, at any depth. */
function withoutNulls(value: unknown): unknown {
  if (Array.isArray(value)) return value.filter((item) => item !== null).map(withoutNulls);
  return isObject(value) ? membersWithoutNulls(value) : value;
}

export const membersWithoutNulls = (document: Readonly<Record<string, unknown>>): Record<string, unknown> =>
  Object.fromEntries(
    Object.entries(document).flatMap(([name, item]) => (item === null ? [] : [[name, withoutNulls(item)]])),
  );
