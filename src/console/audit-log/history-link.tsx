import { useContext } from 'preact/hooks';
import { CallerContext } from '../parts/caller.ts';

/** Leads to the entries of an object in the audit log, which only administrators can read. */
export function HistoryLink({ id }: { readonly id: string }) {
  if (useContext(CallerContext)?.role !== 'ADMIN') return null;
  return (
    <a class="button small plain" href={`/audit-log?object=${encodeURIComponent(id)}`}>
      History
    </a>
  );
}
