import type { VNode } from 'preact';
import { Filters, SearchField, useFilter, useSettled } from './filters.ts';
import { usePages } from './hooks.ts';
import { html } from './html.ts';
import type { Answers } from './operation-types.ts';
import { Badge, Empty, List, PageFrame, Time, personOf, wordsOf } from './parts.ts';

type Row = NonNullable<NonNullable<Answers['AuditLog']['viewer']['organization']>['auditLog']>['nodes'][number];

const HEAD = ['When', 'Operation', 'By', 'Object', 'Request'];
const DAY_MS = 86_400_000;

export function AuditLogPage(): VNode {
  const [operation, setOperation] = useFilter('operation');
  const [from, setFrom] = useFilter('from');
  const [to, setTo] = useFilter('to');
  const wanted = useSettled(operation);
  const filter = {
    ...(wanted && { operations: [wanted] }),
    ...(from && { occurredFrom: momentOf(from, 0) }),
    ...(to && { occurredBefore: momentOf(to, DAY_MS) }),
  };
  const list = usePages('AuditLog', { first: 50, filter }, ({ viewer }) => viewer.organization?.auditLog);
  const isFiltered = Object.keys(filter).length > 0;
  const empty = isFiltered
    ? html`<${Empty}
        >No entry matches this filter. Enter the full name of an operation, such as <code>createApiKey</code>.<//
      >`
    : html`<${Empty}>Nothing has been changed yet.<//>`;
  return html`<${PageFrame} title="Audit log" intro="Every change in this organization, latest first.">
    <${Filters}>
      <${SearchField} label="Operation" value=${operation} onChange=${setOperation} />
      <${SearchField} label="From" type="date" value=${from} onChange=${setFrom} />
      <${SearchField} label="To" type="date" value=${to} onChange=${setTo} />
    <//>
    <${List} label="Audit log" list=${list} row=${rowOf} empty=${empty} head=${HEAD} />
  <//>`;
}

/** Converts a local day to a time. */
function momentOf(day: string, plusMs: number): string {
  return new Date(new Date(`${day}T00:00`).getTime() + plusMs).toISOString();
}

function rowOf(entry: Row): VNode {
  return html`<tr key=${entry.databaseId}>
    <td><${Time} at=${entry.occurredAt} /></td>
    <td><code>${entry.operation}</code>${entry.refusal && html` <${Badge} value=${entry.refusal} />`}</td>
    <td>${entry.actor ? personOf(entry.actor) : wordsOf(entry.source)}</td>
    <td>
      ${entry.targetType === 'Session' && entry.targetId ? html`<a href=${`/sessions/${encodeURIComponent(entry.targetId)}`}>Session</a>` : entry.targetType}
      ${entry.targetId && html`<div class="soft"><code class="cut" title=${entry.targetId}>${entry.targetId}</code></div>`}
    </td>
    <td><code class="soft cut" title=${entry.requestId}>${entry.requestId}</code></td>
  </tr>`;
}
