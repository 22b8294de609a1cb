import type { Answers } from '../generated/operation-types.ts';

export type Connection = NonNullable<Answers['McpServer']['mcpServer']>;
export type Tool = NonNullable<NonNullable<Answers['McpServerTools']['mcpServer']>['tools']>[number];

/** What a tool says of its effect. Without a hint, a tool that is not read-only may destroy something (MCP, ToolAnnotations). */
export function effectOf({ annotations }: Pick<Tool, 'annotations'>): string {
  if (typeof annotations !== 'object' || annotations === null) return 'Unknown';
  const hint = (name: string): unknown => Reflect.get(annotations, name);
  if (hint('readOnlyHint') === true) return 'Reads';
  return hint('destructiveHint') === false ? 'Writes' : 'May destroy';
}
