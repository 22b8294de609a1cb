import type { VNode } from 'preact';
import { FormButton } from './form-button.ts';
import { useQuery } from './hooks.ts';
import { html } from './html.ts';
import { type Connection, type Tool, effectOf } from './mcp-connection-types.ts';
import { Icon } from './icons.ts';
import { Empty, Faults, Loading, Table } from './parts.ts';

/** The tools of a connection, and which of them can be used. */

const TRY = async () => (await import('./mcp-try-tool.ts')).TryTool;
const CHOOSE = async () => (await import('./mcp-tool-policy.ts')).ChooseTools;

/** What may destroy something stands out. */
function Effect({ tool }: { readonly tool: Tool }): VNode {
  const effect = effectOf(tool);
  return html`${effect === 'May destroy' && html`<${Icon} name="warning" tone="warn" />`}${effect}`;
}

interface ToolsProps {
  readonly server: Connection;
  readonly mayUse: boolean;
  readonly onDone: () => void;
}

export function Tools({ server, mayUse, onDone }: ToolsProps): VNode {
  const { data, faults, isLoading } = useQuery('McpServerTools', { id: server.id });
  const tools = data?.mcpServer?.tools ?? [];
  const { mode, names } = server.toolPolicy;
  const isAllowed = (name: string) => mode === 'ALL' || names.includes(name);
  const row = (tool: Tool) =>
    html`<tr key=${tool.name}>
      <td class="wide">
        <code class="name">${tool.name}</code>${tool.title !== null && ` ${tool.title}`}
        <div class="soft">${tool.description}</div>
        ${tool.problem !== null && html`<div class="fault">${tool.problem}</div>`}
      </td>
      <td class="wrap"><${Effect} tool=${tool} /></td>
      <td>${isAllowed(tool.name) ? 'Yes' : 'No'}</td>
      <td class="end">
        ${
          mayUse && isAllowed(tool.name) && html`<${FormButton} label="Try it" load=${TRY} props=${{ server, tool }} />`
        }
      </td>
    </tr>`;
  return html`<div class="section-head">
      <h2>Tools</h2>
      ${server.viewerCanUpdate && tools.length > 0 && html`<${FormButton} label="Choose allowed tools" load=${CHOOSE} props=${{ server, tools, onDone }} />`}
    </div>
    <${Faults} faults=${faults} />
    ${data?.mcpServer?.toolsNotice != null && html`<p class="soft">${data.mcpServer.toolsNotice}</p>`}
    ${
      tools.length > 0
        ? html`<${Table} label="Tools" head=${['Tool', 'Effect', 'Allowed', '']} rows=${tools} row=${row} />`
        : isLoading
          ? html`<${Loading} />`
          : faults.length === 0 && html`<${Empty}>The server has no tools.<//>`
    }`;
}
