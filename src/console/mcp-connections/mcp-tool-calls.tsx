import { useContext } from 'preact/hooks';
import { CallerContext } from '../parts/caller.ts';
import { useFollowing, usePages } from '../parts/hooks.ts';
import type { Answers } from '../generated/operation-types.ts';
import { Badge, List, Time, personOf } from '../parts/parts.tsx';

/** The calls of the tools of a connection, from the audit log, which administrators can read. */

type Row = NonNullable<NonNullable<Answers['McpServerCalls']['viewer']['organization']>['auditLog']>['nodes'][number];

export function ToolCalls({ serverId }: { readonly serverId: string }) {
  const isAdministrator = useContext(CallerContext)?.role === 'ADMIN';
  return isAdministrator ? (
    <>
      <h2>Calls of tools</h2>
      <Calls serverId={serverId} />
    </>
  ) : null;
}

function Calls({ serverId }: { readonly serverId: string }) {
  const list = usePages(
    'McpServerCalls',
    { first: 20, targetIds: [serverId] },
    ({ viewer }) => viewer.organization?.auditLog,
  );
  useFollowing(list.reload, list.isLoading);
  const row = ({ id, occurredAt, actor, apiKey, toolCall }: Row) => (
    <tr key={id}>
      <td class="wrap">
        <Time at={occurredAt} />
      </td>
      <td class="wide">
        <code class="name">{toolCall?.toolName}</code>
      </td>
      <td class="wide">
        {personOf(actor)}
        <div class="soft">{apiKey?.name}</div>
      </td>
      <td>{toolCall?.outcome ? <Badge value={toolCall.outcome} /> : 'Not ended'}</td>
      <td class="number">{toolCall?.durationMs != null && `${toolCall.durationMs.toLocaleString()} ms`}</td>
      <td>
        {toolCall?.sessionId != null && <a href={`/sessions/${encodeURIComponent(toolCall.sessionId)}`}>Session</a>}
      </td>
    </tr>
  );
  return (
    <List
      label="Calls of tools"
      list={list}
      row={row}
      empty="No tool has been called yet."
      head={['When', 'Tool', 'By', 'Outcome', 'Duration', 'Session']}
    />
  );
}
