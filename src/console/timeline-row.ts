import type { VNode } from 'preact';
import { memo } from './memo.ts';
import { useState } from 'preact/hooks';
import { run } from './api.ts';
import { html } from './html.ts';
import type { Answers } from './operation-types.ts';
import { Badge } from './parts.ts';
import type { TimelineItem } from './timeline.ts';

interface RowProps {
  readonly item: TimelineItem;
  readonly sessionId: string;
  readonly isWanted: boolean;
}

const clock = new Intl.DateTimeFormat('en', { hour: '2-digit', minute: '2-digit', second: '2-digit', hour12: false });
const date = new Intl.DateTimeFormat('en', { dateStyle: 'full' });

/** The local day of an item. */
export function dayOf({ at }: TimelineItem): string {
  return date.format(new Date(at));
}

export function isSameDay(item: TimelineItem, other: TimelineItem | undefined): boolean {
  return other !== undefined && new Date(item.at).toDateString() === new Date(other.at).toDateString();
}

export const TimelineRow = memo(function Row({ item, sessionId, isWanted }: RowProps): VNode {
  const scope = item.scope === null || item.scope === 'FOREGROUND' ? null : item.scope.toLowerCase();
  const isError = (item.kind === 'tool' && item.status === 'ERROR') || (item.kind === 'note' && item.isError);
  const classes = ['item', item.kind, isError && 'error', isWanted && 'wanted', scope].filter(Boolean).join(' ');
  return html`<li id=${`event-${item.id}`} class=${classes}>
    <div class="item-head">
      <a
        class="anchor"
        href=${`/sessions/${sessionId}#event-${item.id}`}
        title=${`${dayOf(item)}. This link leads to the event.`}
        ><time datetime=${item.at}>${clock.format(new Date(item.at))}</time></a
      >
      ${scope !== null && html`<span class="scope">${scope}</span>`}
      ${item.kind === 'message' && item.isFinal && html`<span class="scope final">final answer</span>`}
    </div>
    <div class="item-body">${bodyOf(item)}<${Raw} sessionId=${sessionId} id=${item.lastId} /></div>
  </li>`;
});

/** Length of a text that fits into one line at any width. */
const SHORT = 30;

/** An item that cannot be shown must not hide the others: its event can still be opened. */
function bodyOf(item: TimelineItem): VNode {
  try {
    return shown(item);
  } catch {
    return html`<p class="note">This event cannot be shown.</p>`;
  }
}

function shown(item: TimelineItem): VNode {
  if (item.kind === 'message') return html`<p class="text">${item.text}</p>`;
  if (item.kind === 'note') return html`<p class="note">${item.label}</p>`;
  const { name, input, status, output, error, exitCode } = item;
  const pretty = prettyOf(input);
  const isInSummary = pretty === summaryOf(input) && pretty.length <= SHORT;
  return html`<details class="tool" open=${status === 'ERROR'}>
    <summary>
      <code class="tool-name">${name}</code>
      <span class="tool-input">${summaryOf(input)}</span>
      ${status !== null && html`<${Badge} value=${status === 'RUNNING' ? 'IN_PROGRESS' : status === 'ERROR' ? 'FAILED' : status} />`}
    </summary>
    ${pretty !== '' && !isInSummary && html`<pre tabindex="0" aria-label="Input">${pretty}</pre>`}
    ${error !== null && html`<p class="fault">${error}</p>`}
    ${Boolean(exitCode) && !error?.includes(String(exitCode)) && html`<p class="soft">Exit code ${exitCode}</p>`}
    ${output !== '' && html`<pre tabindex="0" aria-label="Output">${output}</pre>`}
  </details>`;
}

/** A one-line summary of a tool's input: its values without braces. */
function summaryOf(input: string): string {
  return Object.values(objectOf(input) ?? { input })
    .map((value: unknown) => (typeof value === 'string' ? value : JSON.stringify(value)))
    .join(' ')
    .slice(0, 200);
}

/** The input of a tool in readable form: a single text as it is, several ones below their names, and anything else as JSON. */
function prettyOf(input: string): string {
  const value = objectOf(input);
  if (!value) return input;
  const entries = Object.entries(value);
  if (!entries.every((entry): entry is [string, string] => typeof entry[1] === 'string'))
    return JSON.stringify(value, null, 2);
  if (entries.length === 1) return entries[0]?.[1] ?? '';
  return entries.map(([name, text]) => (text.includes('\n') ? `${name}:\n${text}` : `${name}: ${text}`)).join('\n');
}

function objectOf(text: string): object | undefined {
  try {
    const value: unknown = JSON.parse(text);
    return typeof value === 'object' && value !== null ? value : undefined;
  } catch {
    return undefined;
  }
}

type Recorded = NonNullable<NonNullable<Answers['SessionEventJson']['session']>['events']>['nodes'][number];

function recordedOf({ databaseId: id, eventDataJson: eventData, ...fields }: Recorded): string {
  return JSON.stringify({ id, ...fields, eventData }, null, 2);
}

/** The last event of an item, as it was recorded. */
function Raw({ sessionId, id }: { readonly sessionId: string; readonly id: number }): VNode {
  const [json, setJson] = useState<string>();
  const show = async () => {
    if (json !== undefined) return setJson(undefined);
    const { data, faults } = await run('SessionEventJson', { id: sessionId, after: String(id - 1) });
    const event = data?.session?.events?.nodes[0];
    return setJson(event ? recordedOf(event) : (faults[0]?.message ?? 'The event was deleted.'));
  };
  return html`<div class="raw">
    <button class="link" onClick=${show} aria-expanded=${json !== undefined}>event ${id}</button>
    ${json !== undefined && html`<pre tabindex="0">${json}</pre>`}
  </div>`;
}
