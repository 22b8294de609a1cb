import type { VNode } from 'preact';
import { useContext } from 'preact/hooks';
import { CallerContext } from './caller.ts';
import { usePages } from './hooks.ts';
import { html } from './html.ts';
import type { Answers } from './operation-types.ts';
import { Badge, Empty, List, Time, personOf } from './parts.ts';

/** The calls of the tools of a connection, from the audit log, which administrators can read. */

type Row = NonNullable<NonNullable<Answers['McpServerCalls']['viewer']['organization']>['auditLog']>['nodes'][number];

export function ToolCalls({ serverId }: { readonly serverId: string }): VNode | null {
  const isAdministrator = useContext(CallerContext)?.role === 'ADMIN';
  return isAdministrator
    ? html`<h2>Calls of tools</h2>
        <${Calls} serverId=${serverId} />`
    : null;
}

function Calls({ serverId }: { readonly serverId: string }): VNode {
  const list = usePages(
    'McpServerCalls',
    { first: 20, targetIds: [serverId] },
    ({ viewer }) => viewer.organization?.auditLog,
  );
  const row = ({ id, occurredAt, actor, apiKey, toolCall }: Row) =>
    html`<tr key=${id}>
      <td class="wrap"><${Time} at=${occurredAt} /></td>
      <td class="wide"><code class="name">${toolCall?.toolName}</code></td>
      <td class="wide">
        ${personOf(actor)}
        <div class="soft">${apiKey?.name}</div>
      </td>
      <td>${toolCall?.outcome ? html`<${Badge} value=${toolCall.outcome} />` : 'Not ended'}</td>
      <td class="number">${toolCall?.durationMs != null && `${toolCall.durationMs.toLocaleString()} ms`}</td>
      <td>
        ${toolCall?.sessionId != null && html`<a href=${`/sessions/${encodeURIComponent(toolCall.sessionId)}`}>Session</a>`}
      </td>
    </tr>`;
  return html`<${List}
    label="Calls of tools"
    list=${list}
    row=${row}
    empty=${html`<${Empty}>No tool has been called yet.<//>`}
    head=${['When', 'Tool', 'By', 'Outcome', 'Duration', 'Session']}
  />`;
}
