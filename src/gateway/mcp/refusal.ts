import type { DomainError } from '../../core/errors.ts';
import { isMcpAddress, messageIdIn } from '../../core/http/mcp-addresses.ts';
import { type HttpAnswer, answerJson } from '../../core/http/messages.ts';
import { readText } from '../../core/http/request-body.ts';
import { WORK } from '../../core/work-budget.ts';
import type { Exchange } from '../exchange.ts';

/** Refusals of messages of MCP clients, which read JSON-RPC errors and find the request that was refused by its id. */

/** The range of JSON-RPC for errors of implementations. */
const SERVER_ERROR = -32_000;

export const isMessage = ({ request, path }: Pick<Exchange, 'request' | 'path'>): boolean =>
  request.method === 'POST' && isMcpAddress(path);

/** Reads a message that was refused by its headers. Of callers without a key nothing is read. */
export async function readRefused(exchange: Exchange): Promise<void> {
  const { request, keyId, message } = exchange;
  const length = Number(request.headers.get('content-length'));
  if (keyId === undefined || message !== undefined || length > WORK.refusedMessageBytes) return;
  const text = await readText(request, WORK.refusedMessageBytes).catch(() => '');
  exchange.message = Buffer.from(text);
}

export function answerRefusal(error: DomainError, { message: sent }: Exchange): HttpAnswer {
  const { status, headers, message, code } = error;
  const id = sent === undefined ? null : messageIdIn(sent);
  return answerJson(
    { jsonrpc: '2.0', id, error: { code: SERVER_ERROR, message, data: { code } } },
    { status, headers },
  );
}
