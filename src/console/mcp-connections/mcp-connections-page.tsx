import { useScope } from '../parts/caller.ts';
import { usePages } from '../parts/hooks.ts';
import { ConnectionActions, CreateConnectionButton, NEXT_STEPS, VISIBLE_TO } from './mcp-connection-actions.tsx';
import type { Answers } from '../generated/operation-types.ts';
import { Badge, Empty, List, PageFrame, Time } from '../parts/parts.tsx';

type Row = NonNullable<NonNullable<Answers['McpServers']['viewer']['organization']>['mcpServers']>['nodes'][number];

export function McpConnectionsPage() {
  const mayCreate = useScope('MCP_CONNECTIONS_WRITE');
  const list = usePages('McpServers', { first: 50 }, ({ viewer }) => viewer.organization?.mcpServers);
  const row = (server: Row) => {
    return (
      <tr key={server.id}>
        <td class="wide">
          <a href={`/mcp-connections/${server.databaseId}`}>
            <strong>{server.name}</strong>
          </a>
          <div class="soft">
            <code>{server.serverUrl ?? server.command}</code>
          </div>
        </td>
        <td class="wide">
          <Badge value={server.status} />
          {server.statusReason && <div class="soft">{server.statusReason}</div>}
          {server.nextAction !== 'NONE' && <div class="soft">Next step: {NEXT_STEPS[server.nextAction]}</div>}
        </td>
        <td class="wrap">{VISIBLE_TO[server.visibility]}</td>
        <td class="wrap">
          <Time at={server.lastCheckedAt} />
        </td>
        <td class="end">
          <div class="actions wrap">
            <ConnectionActions server={server} onDone={list.reload} />
          </div>
        </td>
      </tr>
    );
  };
  const empty = (
    <Empty>
      No MCP connections yet. A connection stores the address and the credentials of a server, whose tools agents use
      through the gateway.
    </Empty>
  );
  const actions = mayCreate && <CreateConnectionButton />;
  return (
    <PageFrame
      title="MCP connections"
      intro="The servers that agents can use, and whether they can be reached."
      actions={actions}
    >
      <List
        label="MCP connections"
        list={list}
        row={row}
        empty={empty}
        head={['Connection', 'Status', 'Visible to', 'Checked', '']}
      />
    </PageFrame>
  );
}
