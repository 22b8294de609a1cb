import { fold } from '../../core/text/derived-names.ts';
import { itemsOf, memberOf, membersOf } from '../../core/text/json-scanner.ts';
import { type ToolRules, effectOf, isRestricted } from '../mcp-connections/public.ts';
import { INVALID_PARAMS, INVALID_REQUEST, type Message, MessageFault, type ServerMessage } from './message.ts';
import { WORK } from '../../core/work-budget.ts';
import { UpstreamError } from './errors.ts';

/** The tools that a connection allows. What is decided from a message must be what the server reads in it. */

/** What a tool that is not allowed is answered, which is what an unknown one is. */
export const refusedCall = ({ id, params }: Message): MessageFault =>
  new MessageFault(INVALID_PARAMS, unknownTool(params['name']), { id, status: 200 });

export const unknownTool = (name: unknown): string =>
  `Unknown tool: ${typeof name === 'string' ? name.slice(0, 200) : ''}`;

/** The members of a message, in both generations of the protocol (MCP 2025-11-25 and 2026-07-28). */
const MESSAGE_MEMBERS = new Set(['jsonrpc', 'id', 'method', 'params', 'result', 'error']);
/** The parameters of a call of a tool. */
const CALL_MEMBERS = new Set(['name', 'arguments', '_meta', 'task', 'inputResponses', 'requestState']);
/** The parameters from which anything is decided or recorded, and those of a call. */
const PARAMS_MEMBERS = new Set([...CALL_MEMBERS, 'uri', 'taskId']);

/** In the form in which parsers that ignore case compare them. */
const FOLDED_MESSAGE_MEMBERS = new Set([...MESSAGE_MEMBERS].map(fold));
const FOLDED_PARAMS_MEMBERS = new Set([...PARAMS_MEMBERS].map(fold));

/** The parameters that are sent on when a message is written anew. */
export const callParams = (params: Message['params']): Message['params'] =>
  Object.fromEntries(Object.entries(params).filter(([name]) => CALL_MEMBERS.has(name)));

/**
 * Parsers disagree about members that occur twice, and some ignore case. What the gateway decides from a message, and records of it, must be
 * what the server reads in it. With a restriction of tools, a message has known members only.
 * @throws MessageFault
 */
export function requireClear(rules: ToolRules, message: Message): void {
  const strict = isRestricted(rules);
  const members = { json: message.text, known: MESSAGE_MEMBERS, folded: FOLDED_MESSAGE_MEMBERS };
  requireClearMembers(message, { ...members, strict });
  const params = memberOf(message.text, 'params');
  if (params?.startsWith('{') !== true) return;
  const isCall = message.method === 'tools/call';
  const known = strict && isCall ? CALL_MEMBERS : PARAMS_MEMBERS;
  requireClearMembers(message, { json: params, known, folded: FOLDED_PARAMS_MEMBERS, strict: strict && isCall });
}

interface Members {
  readonly json: string;
  readonly known: ReadonlySet<string>;
  readonly folded: ReadonlySet<string>;
  readonly strict: boolean;
}

function requireClearMembers({ id }: Message, { json, known, folded, strict }: Members): void {
  const refuse = (message: string) => new MessageFault(INVALID_REQUEST, message, { id });
  const seen = new Set<string>();
  for (const { name } of membersOf(json)) {
    const shown = name.slice(0, 100);
    if (seen.has(name)) throw refuse(`the member ${shown} occurs twice`);
    if (seen.add(name).size > WORK.properties)
      throw refuse(`an object of the message has more than ${WORK.properties} members`);
    if (known.has(name)) continue;
    if (folded.has(fold(name)))
      throw refuse(`the member ${shown} differs only in the form of its letters from one of the protocol`);
    if (strict)
      throw refuse(`the member ${shown} is not one of the protocol, and the tools of this connection are restricted`);
  }
}

/**
 * A response to `tools/list` without the tools that are not allowed; undefined if nothing has to be removed. Without a message it is the
 * response to an earlier one, which a client resumes to read.
 * @throws UpstreamError for a list that cannot be read.
 */
export function withAllowedTools(
  rules: ToolRules,
  message: Message | undefined,
  response: ServerMessage | undefined,
): string | undefined {
  if (!isRestricted(rules) || (message && message.method !== 'tools/list')) return undefined;
  if (response?.result?.startsWith('{') !== true) return undefined;
  try {
    return replaced(response.text, 'result', (result) =>
      replaced(result, 'tools', (tools) => (tools.startsWith('[') ? allowedOf(rules, tools) : '[]')),
    );
  } catch (error) {
    if (!(error instanceof SyntaxError)) throw error;
    throw new UpstreamError('UPSTREAM_NOT_MCP', 'the MCP server answered with malformed JSON');
  }
}

/** An object with another value of a member. */
function replaced(json: string, replacedName: string, change: (text: string) => string): string {
  const members: string[] = [];
  for (const { name, text } of membersOf(json))
    members.push(`${JSON.stringify(name)}:${name === replacedName ? change(text) : text}`);
  return `{${members.join(',')}}`;
}

function allowedOf(rules: ToolRules, tools: string): string {
  const allowed: string[] = [];
  let count = 0;
  for (const tool of itemsOf(tools)) {
    if ((count += 1) > WORK.tools)
      throw new UpstreamError('ANSWER_TOO_LARGE', `the MCP server lists more than ${WORK.tools} tools on a page`);
    if (tool.startsWith('{') && effectOf(rules, nameIn(memberOf(tool, 'name'))) !== 'DENY') allowed.push(tool);
  }
  return `[${allowed.join(',')}]`;
}

/** Empty for a value that is no name. */
const nameIn = (text = ''): string => (text.startsWith('"') ? String(JSON.parse(text)) : '');
