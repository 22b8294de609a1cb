import type { VNode } from 'preact';
import { useState } from 'preact/hooks';
import { changeOf } from './audit-words.ts';
import { CheckField } from './filters.ts';
import { usePages } from './hooks.ts';
import { html } from './html.ts';
import type { Answers } from './operation-types.ts';
import { Badge, Empty, List, Time, personOf, wordsOf } from './parts.ts';

/** Who changed an object, when, and what: its entries in the audit log. A runner records all the time, so that is hidden at first. */

type Row = NonNullable<NonNullable<Answers['History']['viewer']['organization']>['auditLog']>['nodes'][number];

const HEAD = ['When', 'Change', 'By'];

interface HistoryProps {
  readonly id: string;
  readonly session: NonNullable<Answers['Session']['session']>;
}

export function SessionHistory({ id, session }: HistoryProps): VNode {
  const [recording, setRecording] = useState('');
  const variables = { id, first: 50, isRecording: recording === '' ? false : null };
  const list = usePages('History', variables, ({ viewer }) => viewer.organization?.auditLog);
  const { creator, createdAt, lastSeenAt, state } = session;
  const created = `No person has changed it. Created ${creator ? `by ${personOf(creator)} ` : ''}`;
  const is = `It is ${wordsOf(state.current).toLowerCase()}, and was last recorded `;
  const empty = html`<${Empty}>${created}<${Time} at=${createdAt} />. ${is}<${Time} at=${lastSeenAt} />.<//>`;
  return html`<section class="history" aria-labelledby="history-title">
    <div class="page-head">
      <h2 id="history-title">History</h2>
      <${CheckField} label="With recording" value=${recording} onChange=${setRecording} />
    </div>
    <${List} label="Changes" list=${list} row=${rowOf} empty=${empty} head=${HEAD} />
  </section>`;
}

function rowOf(entry: Row): VNode {
  return html`<tr key=${entry.databaseId}>
    <td><${Time} at=${entry.occurredAt} /></td>
    <td class="wide">${changeOf(entry)}<${Refusal} entry=${entry} /></td>
    <td>${entry.actor ? personOf(entry.actor) : wordsOf(entry.source)}</td>
  </tr>`;
}

/** Why an attempt was refused, and what its caller was told. */
export function Refusal({ entry }: { readonly entry: Pick<Row, 'refusal' | 'detail'> }): VNode | null {
  if (entry.refusal === null) return null;
  return html`<span> <${Badge} value=${entry.refusal} /></span
    >${entry.detail && html`<div class="soft">${entry.detail}</div>`}`;
}
