import { rawRoute, routesOf } from '../../core/http/route.ts';
import { WORK } from '../../core/work-budget.ts';
import { toolResultDocument } from './documents.ts';
import { mcpConnectionReference, noInput, sessionReference } from './input.ts';
import { passThrough } from './rest-pass-through.ts';
import { answerOwnMessage, answerSessionMessage } from './rest-combined-endpoint.ts';
import { USE_MCP_CONNECTIONS, USE_SESSION_CONNECTIONS } from './policy.ts';
import { callMcpTool } from './operations.ts';

const route = routesOf('MCP connections');

const tag = 'MCP connections';

const JSON_RPC = 'A JSON-RPC 2.0 response, as the server sent it.';
const EVENTS = 'A stream of JSON-RPC 2.0 messages as server-sent events, as the server sent them.';
const MESSAGE = 'A JSON-RPC 2.0 message of at most 4 MiB.';
const FAILURES =
  'Failures are JSON-RPC errors with `data.code`: `UPSTREAM_UNREACHABLE` or `UPSTREAM_NOT_MCP` (502), `ANSWER_TOO_LARGE` (502; over 4 MiB, 50,000 events, or for a tool call over REST, GraphQL or the tools of several connections 500 levels or 400,000 properties and items), `UPSTREAM_TIMEOUT` (504; nothing for 60 seconds, or not finished within 10 minutes), `UPSTREAM_RATE_LIMITED` (429), `RATE_LIMITED` (429; more than 10 calls of a key or 20 of a connection at once). When a person must authorize the connection, a tool call is answered with a result whose `isError` is true, and other messages with 409.';
const RULES = `The credentials of the connection never leave the gateway. \`Mcp-Session-Id\` is valid only with the same API key and connection; otherwise 404. ${FAILURES} Needs the scope \`mcp_connections.use\`.`;

const common = {
  path: '/v1/mcp-connections/:mcpConnectionId/mcp',
  access: USE_MCP_CONNECTIONS,
  tag,
  input: mcpConnectionReference,
  callsOut: true,
  exchange: passThrough,
} as const;

const OFFERED = `Each tool has the name \`<handle>__<tool>\`, for all protocol versions since 2025-03-26. It keeps no state. Results of tools pass unchanged. A server that fails, or does not answer within 10 seconds, is left out of lists and named in \`_meta["workspace-gateway/notices"]\` of the list and in a log notification; the others work. A resource of several servers is 409 with \`AMBIGUOUS_RESOURCE\`. ${FAILURES}`;

const offered = {
  method: 'POST',
  tag,
  callsOut: true,
  status: 200,
  errors: [404, 409, 429, 502, 504],
  body: MESSAGE,
  answers: {
    'application/json': 'A JSON-RPC 2.0 response.',
    'text/event-stream': 'A stream of JSON-RPC 2.0 messages as server-sent events.',
  },
  examples: {
    input: {
      jsonrpc: '2.0',
      id: 1,
      method: 'tools/call',
      params: { name: 'tracker__search', arguments: { query: 'login' } },
    },
  },
} as const;

export const mcpUseRoutes = [
  route('POST /v1/mcp-connections/:mcpConnectionId/tool-calls', callMcpTool, {
    output: toolResultDocument,
    status: 200,
    moreErrors: [504],
    examples: { input: { name: 'search', arguments: { query: 'login' } } },
    toDocument: (result) => ({ ...result, content: [...result.content] }),
  }),
  rawRoute({
    ...common,
    method: 'POST',
    operationId: 'sendMcpMessage',
    summary: 'Sends a message of the Model Context Protocol to the server.',
    description: `Streamable HTTP of all protocol versions since 2025-03-26, passed through unchanged, except batches. Configure this address in any MCP client. ${RULES}`,
    status: 200,
    errors: [404, 409, 429, 502, 504],
    body: MESSAGE,
    answers: { 'application/json': JSON_RPC, 'text/event-stream': EVENTS },
    examples: {
      input: { jsonrpc: '2.0', id: 1, method: 'tools/call', params: { name: 'search', arguments: { query: 'login' } } },
    },
  }),
  rawRoute({
    ...offered,
    path: '/v1/mcp',
    operationId: 'sendOwnMcpMessage',
    access: USE_MCP_CONNECTIONS,
    input: noInput,
    exchange: answerOwnMessage,
    summary: 'Sends a message of the Model Context Protocol to all servers that the caller may use.',
    description: `An MCP server with the tools of all connections that the caller may use, shared and their own, at most ${WORK.offeredConnections}, in the order of their handles. ${OFFERED} Needs the scope \`mcp_connections.use\`.`,
  }),
  rawRoute({
    ...offered,
    path: '/v1/sessions/:sessionId/mcp',
    operationId: 'sendSessionMcpMessage',
    access: USE_SESSION_CONNECTIONS,
    input: sessionReference,
    exchange: answerSessionMessage,
    summary: 'Sends a message of the Model Context Protocol to the servers of a session.',
    description: `An MCP server with the tools of all connections of the session. ${OFFERED} Calls are recorded as events of the session. Only the creator of the session and administrators can use it. Needs the scopes \`mcp_connections.use\` and \`sessions.record\`.`,
  }),
  rawRoute({
    ...common,
    method: 'GET',
    operationId: 'openMcpStream',
    summary: 'Opens the stream of messages of the server.',
    description: `Only for protocol versions with sessions, up to 2025-11-25. \`Last-Event-ID\` resumes a stream. ${RULES}`,
    status: 200,
    errors: [404, 409, 429, 502, 504],
    answers: { 'text/event-stream': EVENTS },
  }),
  rawRoute({
    ...common,
    method: 'DELETE',
    operationId: 'endMcpSession',
    summary: 'Ends the session at the server.',
    description: `Only for protocol versions with sessions, up to 2025-11-25. ${RULES}`,
    status: 200,
    errors: [404, 409, 429, 502, 504],
    answers: { 'application/json': JSON_RPC },
  }),
];
