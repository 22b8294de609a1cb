import type { VNode } from 'preact';
import { useContext } from 'preact/hooks';
import { CallerContext } from './caller.ts';
import { html } from './html.ts';

/** Leads to the entries of an object in the audit log, which only administrators can read. */
export function HistoryLink({ id }: { readonly id: string }): VNode | null {
  if (useContext(CallerContext)?.role !== 'ADMIN') return null;
  return html`<a class="button small plain" href=${`/audit-log?object=${encodeURIComponent(id)}`}>History</a>`;
}
