import type { CountedPage } from '../../core/postgres/reading/keyset.ts';
import { requireOrganization } from '../../core/access.ts';
import { type OperationContext, defineOperation, guarded } from '../../core/operation.ts';
import type { Columns } from '../../core/postgres/reading/columns.ts';
import { READ_AUDIT_LOG } from './policy.ts';
import {
  type AuditEntryList,
  type AuditEntryRow,
  type EntryKey,
  countEntries,
  findEntries,
  pageOfEntries,
} from './queries.ts';

/** The entries with these keys that belong to the acting organization. */
export const readAuditEntries = guarded(
  READ_AUDIT_LOG,
  (context: OperationContext, keys: readonly EntryKey[], selected?: Columns<AuditEntryRow>): Promise<AuditEntryRow[]> =>
    findEntries(context, requireOrganization(context.actor).id, keys, selected),
);

/** Former members are named, deleted accounts are not. */
export const listAuditEntries = defineOperation({
  name: 'listAuditEntries',
  description:
    'Lists the audit log of the organization: who changed what, latest first by default. Entries are kept for a year by default.',
  access: READ_AUDIT_LOG,
  run: async (
    context,
    list: AuditEntryList,
    selected?: Columns<AuditEntryRow>,
  ): Promise<CountedPage<AuditEntryRow>> => {
    requireOrganization(context.actor, list.organizationId);
    return {
      page: await pageOfEntries(context, list, selected),
      total: () => countEntries(context, list.organizationId, list.filter),
    };
  },
});
