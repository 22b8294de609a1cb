import { FormButton } from '../parts/form-button.tsx';
import { useQuery } from '../parts/hooks.ts';
import { type Connection, type Tool, effectOf } from './mcp-connection-types.ts';
import { Icon } from '../parts/icons.tsx';
import { Empty, Faults, Loading, Table } from '../parts/parts.tsx';
import { TryTool } from './mcp-try-tool.tsx';
import { ChooseTools } from './mcp-tool-policy.tsx';

/** The tools of a connection, and which of them can be used. */

/** What may destroy something stands out. */
function Effect({ tool }: { readonly tool: Tool }) {
  const effect = effectOf(tool);
  return (
    <>
      {effect === 'May destroy' && <Icon name="warning" tone="warn" />}
      {effect}
    </>
  );
}

interface ToolsProps {
  readonly server: Connection;
  readonly mayUse: boolean;
  readonly onDone: () => void;
}

export function Tools({ server, mayUse, onDone }: ToolsProps) {
  const { data, faults, isLoading } = useQuery('McpServerTools', { id: server.id });
  const tools = data?.mcpServer?.tools ?? [];
  const { mode, names } = server.toolPolicy;
  const isAllowed = (name: string) => mode === 'ALL' || names.includes(name);
  const row = (tool: Tool) => (
    <tr key={tool.name}>
      <td class="wide">
        <code class="name">{tool.name}</code>
        {tool.title !== null && ` ${tool.title}`}
        <div class="soft">{tool.description}</div>
        {tool.problem !== null && <div class="fault">{tool.problem}</div>}
      </td>
      <td class="wrap">
        <Effect tool={tool} />
      </td>
      <td>{isAllowed(tool.name) ? 'Yes' : 'No'}</td>
      <td class="end">
        {mayUse && isAllowed(tool.name) && <FormButton label="Try it" dialog={TryTool} props={{ server, tool }} />}
      </td>
    </tr>
  );
  return (
    <>
      <div class="section-head">
        <h2>Tools</h2>
        {server.viewerCanUpdate && tools.length > 0 && (
          <FormButton label="Choose allowed tools" dialog={ChooseTools} props={{ server, tools, onDone }} />
        )}
      </div>
      <Faults faults={faults} />
      {data?.mcpServer?.toolsNotice != null && <p class="soft">{data.mcpServer.toolsNotice}</p>}
      {tools.length > 0 ? (
        <Table label="Tools" head={['Tool', 'Effect', 'Allowed', '']} rows={tools} row={row} />
      ) : isLoading ? (
        <Loading />
      ) : (
        faults.length === 0 && <Empty>The server has no tools.</Empty>
      )}
    </>
  );
}
