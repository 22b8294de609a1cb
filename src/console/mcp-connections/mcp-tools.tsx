import { FormButton } from '../parts/form-button.tsx';
import { useQuery } from '../parts/hooks.ts';
import { type Connection, type Tool, effectOf } from './mcp-connection-types.ts';
import { Icon } from '../parts/icons.tsx';
import { Empty, Faults, Loading, Table } from '../parts/parts.tsx';
import { TryTool } from './mcp-try-tool.tsx';
import { ChooseTools } from './mcp-tool-policy.tsx';
import { ChooseRules } from './mcp-tool-rules.tsx';
import { ToolChange } from './mcp-tool-change.tsx';

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

const ALLOWED: Readonly<Record<Tool['effect'], string>> = { ALLOW: 'Yes', ASK: 'With approval', DENY: 'No' };

interface ToolsProps {
  readonly server: Connection;
  readonly mayUse: boolean;
  readonly onDone: () => void;
}

export function Tools({ server, mayUse, onDone }: ToolsProps) {
  const { data, faults, isLoading, reload } = useQuery('McpServerTools', { id: server.id });
  const tools = data?.mcpServer?.tools ?? [];
  const onChange = () => {
    reload();
    onDone();
  };
  const row = (tool: Tool) => (
    <tr key={tool.name}>
      <td class="wide">
        <code class="name">{tool.name}</code>
        {tool.title !== null && ` ${tool.title}`}
        <div class="soft">{tool.description}</div>
        <ToolChange server={server} tool={tool} onDone={reload} />
        {tool.problem !== null && <div class="fault">{tool.problem}</div>}
      </td>
      <td class="wrap">
        <Effect tool={tool} />
      </td>
      <td>{ALLOWED[tool.effect]}</td>
      <td class="end">
        {mayUse && tool.effect !== 'DENY' && <FormButton label="Try it" dialog={TryTool} props={{ server, tool }} />}
      </td>
    </tr>
  );
  return (
    <>
      <div class="section-head">
        <h2>Tools</h2>
        {server.viewerCanUpdate && (
          <div class="actions">
            <FormButton label="Who may use what" dialog={ChooseRules} props={{ server, onDone: onChange }} />
            {tools.length > 0 && (
              <FormButton
                label="Choose allowed tools"
                dialog={ChooseTools}
                props={{ server, tools, onDone: onChange }}
              />
            )}
          </div>
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
