import { useScope } from '../parts/caller.ts';
import { usePages } from '../parts/hooks.ts';
import { ConnectionActions, CreateConnectionButton, NEXT_STEPS, VISIBLE_TO } from './mcp-connection-actions.tsx';
import type { Answers } from '../generated/operation-types.ts';
import { Badge, Empty, List, PageFrame, TimeCell } from '../parts/parts.tsx';
import { Menu } from '../parts/row-actions.tsx';

type Row = NonNullable<NonNullable<Answers['McpServers']['viewer']['organization']>['mcpServers']>['nodes'][number];

const EMPTY = (
  <Empty>
    No MCP connections yet. A connection stores the address and the credentials of a server, whose tools agents use
    through the gateway.
  </Empty>
);

export function McpConnectionsPage() {
  const mayCreate = useScope('MCP_CONNECTIONS_WRITE');
  const list = usePages('McpServers', { first: 50 }, ({ viewer }) => viewer.organization?.mcpServers);
  const row = (server: Row) => {
    const { name, status, statusReason, nextAction } = server;
    const address = server.serverUrl ?? server.command ?? '';
    const step = nextAction !== 'NONE' && `Next step: ${NEXT_STEPS[nextAction]}`;
    const why = [statusReason, step].filter(Boolean).join('. ');
    return (
      <tr key={server.id}>
        <td class="wide" title={`${name}\n${address}`}>
          <div class="line">
            <a href={`/mcp-connections/${server.databaseId}`}>
              <strong>{name}</strong>
            </a>
          </div>
        </td>
        <td class="second minor" title={address}>
          <code>{address}</code>
        </td>
        <td class="second" title={why}>
          <div class="line">
            <Badge value={status} /> <span class="soft">{why}</span>
          </div>
        </td>
        <td class="minor">{VISIBLE_TO[server.visibility]}</td>
        <TimeCell at={server.lastCheckedAt} isShort />
        <td class="end">
          {server.type === 'REMOTE' && (
            <div class="line">
              <ConnectionActions server={server} onDone={list.reload} rest={Menu} />
            </div>
          )}
        </td>
      </tr>
    );
  };
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
        empty={EMPTY}
        head={['Connection', 'Address', 'Status', 'Visible to', 'Checked', '']}
        isDense
      />
    </PageFrame>
  );
}
