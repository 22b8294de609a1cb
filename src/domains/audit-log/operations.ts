import { type OperationContext, defineOperation, guarded } from '../../core/operation.ts';
import type { Columns } from '../../core/postgres/reading/columns.ts';
import { READ_AUDIT_LOG } from './policy.ts';
import { AUDIT_ENTRIES, type AuditEntryRow } from './queries.ts';

/** The entries with these ids and times that belong to the acting organization. */
export const readAuditEntries = guarded(
  READ_AUDIT_LOG,
  (
    context: OperationContext,
    keys: readonly { readonly id: string; readonly occurredAt: string }[],
    selected?: Columns<AuditEntryRow>,
  ) => {
    const [ids, moments] = [keys.map(({ id }) => id), keys.map(({ occurredAt }) => occurredAt)];
    return AUDIT_ENTRIES.all(context, { ids, moments }, selected);
  },
);

/** Former members are named, deleted accounts are not. */
export const listAuditEntries = defineOperation({
  name: 'listAuditEntries',
  description:
    'Lists the audit log of the organization: who changed what, latest first by default. Entries are kept for a year by default.',
  access: READ_AUDIT_LOG,
  run: AUDIT_ENTRIES.read,
});
