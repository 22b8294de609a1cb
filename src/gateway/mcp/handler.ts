import type { CallToolResult, Server } from '@modelcontextprotocol/server';
import { mcpServer } from '../../core/mcp-packages.ts';
import type { ExecutionResult } from 'graphql';
import { type Actor, requireScopes } from '../../core/access.ts';
import { invalid } from '../../core/errors.ts';
import { toolAttributes } from '../../core/tracing/tracing.ts';
import { isObject } from '../../core/is-object.ts';
import type { HttpAnswer, HttpRequest } from '../../core/http/messages.ts';
import { readJson } from '../../core/http/request-body.ts';
import { statelessMcp } from '../../core/http/stateless-mcp.ts';
import type { OperationContext } from '../../core/operation.ts';
import { VERSION } from '../../core/version.ts';
import type { GraphQLCall } from '../graphql/execution.ts';
import type { RunDocument } from '../graphql/handler.ts';
import { ERROR_CODE, ERROR_MESSAGE, type Tool, isListedFor, scopesOfTools } from './tools.ts';
import { stringifyWithRawJson } from '../../core/text/raw-json.ts';

/** One request of an MCP client. */
interface McpCall extends Omit<GraphQLCall, 'headers'> {
  readonly request: HttpRequest;
  /** The message as it came. */
  readonly message: unknown;
}

export type McpApi = (
  request: HttpRequest,
  /** Creates the context after the body was read, with the caller's rights at that time. */
  openOperation: () => Promise<OperationContext>,
  call: Omit<McpCall, 'operation' | 'request' | 'message'>,
) => Promise<HttpAnswer>;

interface McpParts {
  readonly tools: ReadonlyMap<string, Tool>;
  /** Runs a document like a GraphQL request: with the same rights, cost and limits. */
  readonly run: RunDocument;
  readonly maxBytes: number;
}

const INSTRUCTIONS =
  'A workspace of coding agents: their sessions with every event, the MCP servers they can use, and the custom events of the organization. Lists are paged: pass endCursor as after. A result with isError names the code of the error and what to change.';

/** The gateway as an MCP server, for both generations of the protocol. It keeps no state between requests. */
export function createMcpApi(gateway: McpParts): McpApi {
  const answer = statelessMcp((call: McpCall) => serverFor(gateway, call));
  return async (request, openOperation, parts) => {
    const reading = readJson(request);
    // Errors of the body are reported after the rights were checked again.
    await reading.catch(() => undefined);
    const operation = await openOperation();
    try {
      const body = await reading;
      if (Array.isArray(body)) throw invalid('', 'the body must be one JSON-RPC message, not a list');
      requireGranted(gateway.tools, body, operation.actor);
      return await answer(request, body, { request, message: body, operation, ...parts });
    } finally {
      operation.budget.close();
    }
  };
}

/** A client asks for a larger grant when it is refused by the status. A key gets the error as the result of the tool. @throws ForbiddenError */
function requireGranted(tools: McpParts['tools'], message: unknown, actor: Actor): void {
  if (actor.kind !== 'OAUTH_GRANT' || !isObject(message) || message['method'] !== 'tools/call') return;
  const tool = tools.get(String(isObject(message['params']) ? message['params']['name'] : ''));
  if (tool && !isListedFor(tool, actor)) requireScopes(actor, scopesOfTools([tool]));
}

function serverFor({ tools, run, maxBytes }: McpParts, call: McpCall): Server {
  const server = new (mcpServer().Server)(
    { name: 'workspace-gateway', version: VERSION },
    { capabilities: { tools: {} }, instructions: INSTRUCTIONS },
  );
  server.setRequestHandler('tools/list', () => {
    const listed = [...tools.values()].filter((tool) => isListedFor(tool, call.operation.actor));
    return { tools: listed.map((tool) => tool.listed) };
  });
  server.setRequestHandler('tools/call', async ({ params }) => {
    const tool = tools.get(params.name);
    if (!tool)
      throw new (mcpServer().ProtocolError)(
        mcpServer().ProtocolErrorCode.InvalidParams,
        `unknown tool: ${params.name.slice(0, 100)}`,
      );
    const { name } = tool.listed;
    const span = { name: `tools/call ${name}`, kind: 'internal', attributes: toolAttributes(name) } as const;
    return call.operation.traced(span, () => callTool(tool, argumentsIn(call.message), call, { run, maxBytes }));
  });
  return server;
}

/** The arguments of a call, which the package has checked. Its copy has no `__proto__`, which must be refused like any unknown argument. */
function argumentsIn(message: unknown): Readonly<Record<string, unknown>> {
  const params = isObject(message) ? message['params'] : undefined;
  const given = isObject(params) ? params['arguments'] : undefined;
  return isObject(given) ? given : {};
}

async function callTool(
  { listed, text, isMutation, needsOrganization }: Tool,
  variables: Readonly<Record<string, unknown>>,
  { request, ...call }: McpCall,
  { run, maxBytes }: Pick<McpParts, 'run' | 'maxBytes'>,
): Promise<CallToolResult> {
  const unknown = Object.keys(variables).find((name) => !Object.hasOwn(listed.inputSchema.properties ?? {}, name));
  if (unknown !== undefined)
    return errorResult('INVALID_INPUT', `${unknown.slice(0, 100)}: is not an argument of ${listed.name}`);
  // A list of the organization would be null, which says nothing.
  if (needsOrganization && !call.operation.actor.organization)
    return errorResult(
      'INVALID_INPUT',
      'missing required organization information; name the organization in the header X-Organization-Id',
    );
  const result = await run({ query: text, variables }, request, { headers: request.headers, ...call });
  return toToolResult(result, { isMutation, maxBytes });
}

/** An error of the gateway is a result that names its code, because the model can act on it. */
const errorResult = (code: string, message: string): CallToolResult => ({
  content: [{ type: 'text', text: `${code}: ${message}` }],
  isError: true,
});

interface Called {
  readonly isMutation: boolean;
  /** The largest answer. The text is a string in another JSON document, where it can be twice as long. */
  readonly maxBytes: number;
}

/** An error always means that nothing was changed: what else a mutation could not do or read is a second text. */
function toToolResult({ data, errors }: ExecutionResult, { isMutation, maxBytes }: Called): CallToolResult {
  const values = Object.values(data ?? {});
  const messages = (errors ?? []).map(({ message, extensions }) => `${String(extensions['code'])}: ${message}`);
  const refusals = values
    .filter(isRefusal)
    .map((value) => `${String(value[ERROR_CODE])}: ${String(value[ERROR_MESSAGE])}`);
  const failures = [...refusals, ...messages].join('\n');
  const isChanged = isMutation && values.some((value) => value !== null && !isRefusal(value));
  if (failures !== '' && !isChanged) return { content: [{ type: 'text', text: failures }], isError: true };
  const text = stringifyWithRawJson(data ?? null);
  const isTooLarge = Buffer.byteLength(text) * 2 > maxBytes;
  const excess = `the answer is larger than ${maxBytes / 2} bytes`;
  if (isTooLarge && !isChanged) return errorResult('ANSWER_TOO_LARGE', `${excess}; ask for a smaller page`);
  const shown = isTooLarge ? `The change was made, but ${excess}.` : text;
  const others = failures === '' ? [] : [`A change was made, but not everything was done or read:\n${failures}`];
  return { content: [shown, ...others].map((each) => ({ type: 'text', text: each })) };
}

const isRefusal = (value: unknown): value is Readonly<Record<string, unknown>> =>
  isObject(value) && ERROR_CODE in value;
