import type { IncomingMessage, ServerResponse } from 'node:http';
import { pipeline } from 'node:stream/promises';
import { request as send } from 'undici';

/** The headers that a client of the Model Context Protocol sends to its server. */
const FORWARDED = ['content-type', 'accept', 'mcp-protocol-version', 'mcp-method', 'mcp-name'];

/** A bare reverse proxy: the request and its answer, unbuffered. */
export async function passOn(request: IncomingMessage, response: ServerResponse, server: string): Promise<void> {
  const headers = Object.fromEntries(FORWARDED.map((name) => [name, request.headers[name]]));
  const answer = await send(`${server}/mcp`, { method: 'POST', headers, body: request });
  response.writeHead(answer.statusCode, { 'Content-Type': answer.headers['content-type'] });
  // A client that leaves in the middle of an answer.
  await pipeline(answer.body, response).catch(() => response.destroy());
}
