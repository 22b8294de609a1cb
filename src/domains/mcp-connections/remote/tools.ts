import type { Client } from '@modelcontextprotocol/client';
import { mcpClient } from '../../../core/mcp-packages.ts';
import { z } from 'zod';
import { isObject } from '../../../core/is-object.ts';
import { WORK, WorkSlices } from '../../../core/work-budget.ts';
import { headerProblemIn } from './header-declarations.ts';
import type { ServerList } from '../server-lists.ts';
import { MAX_TOOLS_BYTES } from './mcp-fetch.ts';
import { TOOLS_AS_SENT } from './tolerance.ts';

/** A tool as the server describes it. */
export interface Tool {
  readonly name: string;
  readonly title: string | null;
  readonly description: string | null;
  readonly inputSchema: unknown;
  readonly outputSchema: unknown;
  readonly annotations: unknown;
  readonly icons: unknown;
  /** What is wrong with the description of the tool. */
  readonly problem: string | null;
}

const METHOD_NOT_FOUND = -32_601;

const page = z.object({ [TOOLS_AS_SENT]: z.array(z.unknown()), nextCursor: z.string().optional() });

/** The tools of a server, as it describes them. */
type ListedTools = Pick<ServerList, 'items' | 'isCut' | 'isModern' | 'bytes'>;

/**
 * Reads the tools of a server, at most 2,000 in 100 pages and 4 MiB. A server without tools gives an empty list. The method of the package
 * would refuse the whole list for one odd tool.
 */
export async function listTools(client: Client, signal: AbortSignal): Promise<ListedTools> {
  const isModern = client.getProtocolEra() === 'modern';
  const items: unknown[] = [];
  if (!client.getServerCapabilities()?.tools) return { items, isCut: false, isModern, bytes: 0 };
  const cursors = new Set<string | undefined>();
  const slices = new WorkSlices();
  // A server whose cursor stands still sends a page twice.
  const seen = new Set<string>();
  let bytes = 0;
  for (let cursor: string | undefined; !cursors.has(cursor);) {
    if (cursors.size === WORK.pages) return { items, isCut: true, isModern, bytes };
    cursors.add(cursor);
    const params = cursor === undefined ? {} : { cursor };
    const answer = await client
      .request({ method: 'tools/list', params }, page, { signal, timeout: 30_000 })
      .catch(ignoreUnknownMethod);
    if (!answer) break;
    for (const described of answer[TOOLS_AS_SENT]) {
      const text = JSON.stringify(described);
      bytes += text.length;
      if (slices.isOver()) await slices.pause();
      if (seen.has(text)) continue;
      if (items.length === WORK.tools || bytes > MAX_TOOLS_BYTES) return { items, isCut: true, isModern, bytes };
      seen.add(text);
      items.push(described);
    }
    if (answer.nextCursor === undefined) break;
    cursor = answer.nextCursor;
  }
  return { items, isCut: false, isModern, bytes };
}

/** Says that a server has more tools than were read. */
export const cutNotice = (count: number): string =>
  `the server has more tools: only the first ${count} are listed, because a list has at most ${WORK.tools} tools, ${WORK.pages} pages and 4 MiB`;

/** Some servers announce tools and have none. */
function ignoreUnknownMethod(error: unknown): undefined {
  if (!(error instanceof mcpClient().ProtocolError) || error.code !== METHOD_NOT_FOUND) throw error;
}

/** What the specification requires of the members of a tool, in the words of a problem. Members that are null count as absent. */
const RULES: Readonly<Record<string, { readonly holds: (value: unknown) => boolean; readonly rule: string }>> = {
  name: { holds: (value) => typeof value === 'string' && value !== '', rule: 'must be a text' },
  title: { holds: (value) => value == null || typeof value === 'string', rule: 'must be a text' },
  description: { holds: (value) => value == null || typeof value === 'string', rule: 'must be a text' },
  inputSchema: { holds: isObject, rule: 'must be an object' },
  outputSchema: { holds: (value) => value == null || isObject(value), rule: 'must be an object' },
  annotations: { holds: (value) => value == null || isObject(value), rule: 'must be an object' },
  icons: { holds: (value) => value == null || Array.isArray(value), rule: 'must be a list' },
};

/**
 * Reads what can be read of the description of a tool.
 * @param isModern Whether the server follows the revision 2026-07-28, which has rules for headers.
 */
export function readTool(described: unknown, isModern: boolean): Tool {
  const members = isObject(described) ? described : {};
  const text = (name: string) => (typeof members[name] === 'string' ? members[name] : null);
  return {
    name: text('name') ?? '',
    title: text('title'),
    description: text('description'),
    inputSchema: members['inputSchema'] ?? {},
    outputSchema: members['outputSchema'] ?? null,
    annotations: members['annotations'] ?? null,
    icons: members['icons'] ?? null,
    problem: isObject(described) ? problemOf(members, isModern) : 'the tool must be an object',
  };
}

function problemOf(members: Readonly<Record<string, unknown>>, isModern: boolean): string | null {
  const problems = Object.entries(RULES).flatMap(([name, { holds, rule }]) =>
    holds(members[name]) ? [] : [`${name}: ${members[name] == null ? 'is missing' : rule}`],
  );
  const { inputSchema } = members;
  if (isObject(inputSchema) && inputSchema['type'] !== 'object') problems.push('inputSchema.type: must be "object"');
  const headerProblem = isModern ? headerProblemIn(inputSchema) : null;
  if (headerProblem !== null) problems.push(`inputSchema: x-mcp-header ${headerProblem}`);
  return problems.length === 0 ? null : problems.join('; ');
}
