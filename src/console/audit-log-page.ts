import type { VNode } from 'preact';
import { usePages } from './hooks.ts';
import { html } from './html.ts';
import type { Answers } from './operation-types.ts';
import { Empty, List, PageFrame, Time, personOf, wordsOf } from './parts.ts';

type Row = NonNullable<NonNullable<Answers['AuditLog']['viewer']['organization']>['auditLog']>['nodes'][number];

export function AuditLogPage(): VNode {
  const list = usePages('AuditLog', { first: 50 }, ({ viewer }) => viewer.organization?.auditLog);
  const row = (entry: Row) =>
    html`<tr key=${entry.databaseId}>
      <td><${Time} at=${entry.occurredAt} /></td>
      <td><code>${entry.operation}</code></td>
      <td>${entry.user ? personOf(entry.user) : wordsOf(entry.source)}</td>
      <td class="wide">
        ${entry.targetType}
        <div class="soft"><code>${entry.targetId}</code></div>
      </td>
      <td><code class="soft">${entry.requestId}</code></td>
    </tr>`;
  const empty = html`<${Empty}>Nothing has been changed yet.<//>`;
  return html`<${PageFrame}
    title="Audit log"
    intro="Every change in this organization, latest first: who, what, and by which request."
  >
    <${List}
      label="Audit log"
      list=${list}
      row=${row}
      empty=${empty}
      head=${['When', 'Operation', 'By', 'Object', 'Request']}
    />
  <//>`;
}
