import type { OperationContext } from '../../core/operation.ts';
import type { UsableConnection } from '../mcp-connections/public.ts';
import { AuthorizationRequiredError } from './authorization-required.ts';
import { beginCall } from './call.ts';
import { boundsOfCall } from './deadline.ts';
import { countCallOfConnection } from './limits.ts';
import { INVALID_PARAMS, type Message, MessageFault } from './message.ts';
import { type ToolResponse, inSession } from './recorded-call.ts';
import { placeOf } from './session-tools.ts';
import { UpstreamError } from './upstream-error.ts';

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

/** The resource of the first server that has it: addresses do not name their server. @throws MessageFault if none has it. */
export async function readResource(given: Given, connections: Connections): Promise<ToolResponse> {
  const { params } = given.message;
  let refused: ToolResponse | undefined;
  let failure: Error | undefined;
  for (const connection of connections) {
    if (connection.serverUrl === null) continue;
    const response = await ask(given, connection, 'resources/read', params).catch((error: unknown) => {
      const isOfServer = error instanceof UpstreamError || error instanceof AuthorizationRequiredError;
      if (!isOfServer || given.request.signal.aborted) throw error;
      // Another server may have it.
      failure = error;
      return undefined;
    });
    if (response?.result !== undefined) return response;
    refused ??= response;
  }
  if (refused) return refused;
  if (failure) throw failure;
  const uri = String(params['uri']).slice(0, 200);
  throw new MessageFault(RESOURCE_NOT_FOUND, `Resource not found: ${uri}`, { status: 200 });
}

async function ask(
  { context, message, request }: Given,
  connection: UsableConnection,
  method: string,
  params: Message['params'],
): Promise<ToolResponse> {
  const bounds = boundsOfCall(context.timing);
  const call = beginCall(countCallOfConnection, { context, connection, signal: request.signal, bounds });
  const { id } = message;
  const options = typeof id === 'string' || typeof id === 'number' ? { id } : {};
  try {
    return await inSession(call, async (session) => ({
      ...(await session.request(method, params, options)),
      isModern: session.isModern,
    }));
  } finally {
    call.end();
  }
}
