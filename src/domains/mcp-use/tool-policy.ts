import { isObject } from '../../core/is-object.ts';
import { parseExactJson } from '../../core/text/exact-json.ts';
import { type UsableConnection, allowsTool } from '../mcp-connections/public.ts';
import { INVALID_PARAMS, INVALID_REQUEST, type Message, MessageFault } from './message.ts';

/** The tools that a connection allows. What is decided from a message must be what the server reads in it. */

type Policed = Pick<UsableConnection, 'toolPolicy'>;

export function isRestricted({ toolPolicy }: Policed): boolean {
  return toolPolicy.mode !== 'ALL';
}

/** A tool that is not allowed is answered like an unknown one. @throws MessageFault */
export function requireAllowedTool({ toolPolicy }: Policed, message: Message): void {
  if (message.method !== 'tools/call') return;
  const name = message.params['name'];
  if (typeof name === 'string' ? !allowsTool(toolPolicy, name) : toolPolicy.mode !== 'ALL')
    throw new MessageFault(INVALID_PARAMS, unknownTool(name), { id: message.id, status: 200 });
}

export function unknownTool(name: unknown): string {
  return `Unknown tool: ${typeof name === 'string' ? name.slice(0, 200) : ''}`;
}

/** The members of a message on which the decision depends. */
const DECISIVE = new Set(['jsonrpc', 'id', 'method', 'params', 'name']);

/**
 * The body for the server. With a restriction it is written anew, because parsers disagree about members that occur twice.
 * @throws MessageFault for a member that some parsers take for another, because they ignore case.
 */
export function bodyFor(connection: Policed, body: Uint8Array, message: Message): Uint8Array {
  if (!isRestricted(connection)) return body;
  const document = parseExactJson(new TextDecoder().decode(body));
  for (const part of [document, message.params])
    for (const key of isObject(part) ? Object.keys(part) : [])
      if (!DECISIVE.has(key) && DECISIVE.has(key.toLowerCase()))
        throw new MessageFault(INVALID_REQUEST, `the member ${key} differs only in case from one of the protocol`, {
          id: message.id,
        });
  return Buffer.from(JSON.stringify(document));
}

/**
 * A response to `tools/list` without the tools that are not allowed; undefined if nothing has to be removed. Without a message it is the
 * response to an earlier one, which a client resumes to read.
 */
export function withAllowedTools({ toolPolicy }: Policed, message: Message | undefined, response: unknown) {
  if (toolPolicy.mode === 'ALL' || (message && message.method !== 'tools/list')) return undefined;
  const result = isObject(response) ? response['result'] : undefined;
  if (!isObject(response) || !isObject(result) || !Array.isArray(result['tools'])) return undefined;
  const tools = result['tools'].filter(
    (tool: unknown) => isObject(tool) && typeof tool['name'] === 'string' && allowsTool(toolPolicy, tool['name']),
  );
  return Buffer.from(JSON.stringify({ ...response, result: { ...result, tools } }));
}
