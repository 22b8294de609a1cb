import type { Server } from '@modelcontextprotocol/server';
import { mcpServer } from '../mcp-packages.ts';
import { type HttpAnswer, type HttpRequest, answerJsonText, answerWith } from './messages.ts';
import { acceptsStream } from './server-sent-events.ts';

/** Answers one message of an MCP client, which has been parsed. */
export type AnswerMcp<Call> = (request: HttpRequest, message: unknown, call: Call) => Promise<HttpAnswer>;

/**
 * An MCP server of the official package for both generations of the protocol, without state between requests. `serverFor` makes the server of
 * one request from what belongs to it.
 */
export function statelessMcp<Call>(serverFor: (call: Call) => Server): AnswerMcp<Call> {
  const handlerOf = () =>
    mcpServer().createMcpHandler(
      // As it was passed to the handler below.
      ({ authInfo }) => serverFor(authInfo?.extra?.['call'] as Call),
      // Lists of tools are read anew with each request, so there is nothing to subscribe to.
      { maxSubscriptions: 0 },
    );
  let handler: ReturnType<typeof handlerOf> | undefined;
  return async (request, message, call) => {
    handler ??= handlerOf();
    const response = await handler.fetch(requestOf(request), {
      parsedBody: message,
      // The package passes this on to the server of the request, and nothing else.
      authInfo: { token: '', clientId: '', scopes: [], extra: { call } },
    });
    const type = response.headers.get('content-type');
    const text = await response.text();
    const { status } = response;
    const event = acceptsStream(request.headers) ? undefined : /^data: (.*)$/m.exec(text)?.[1];
    if (event !== undefined) return answerJsonText(event, { status });
    const headers = type === null ? undefined : { 'Content-Type': type };
    return answerWith(text === '' ? null : text, { status, headers });
  };
}

const ACCEPT = 'application/json, text/event-stream';
const FORWARDED = ['content-type', 'mcp-protocol-version', 'mcp-method', 'mcp-name', 'mcp-session-id'];

/** Without the signal, because a `Request` would keep it until the next major collection: the operation has it. */
function requestOf({ url, headers }: HttpRequest): Request {
  const given = FORWARDED.flatMap((name): [string, string][] => {
    const value = headers.get(name);
    return value === null ? [] : [[name, value]];
  });
  return new Request(url, { method: 'POST', headers: [...given, ['accept', ACCEPT]], body: '' });
}
