import type { CountedPage } from '../../core/postgres/reading/keyset.ts';
import { requireOrganization } from '../../core/access.ts';
import { type OperationContext, guarded } from '../../core/operation.ts';
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

/** The entries with these keys that belong to the acting organization. @throws ForbiddenError like `listAuditEntries`. */
export const readAuditEntries = guarded(
  READ_AUDIT_LOG,
  (context: OperationContext, keys: readonly EntryKey[], selected?: Columns<AuditEntryRow>): Promise<AuditEntryRow[]> =>
    findEntries(context, requireOrganization(context.actor).id, keys, selected),
);

/**
 * Lists who changed what in the acting organization. Former members are named, deleted accounts are not.
 * @throws ForbiddenError for callers who are not administrators, and for keys without `organizations.write`; ValidationError (400) when
 * `organizationId` is not the acting organization.
 */
export const listAuditEntries = guarded(
  READ_AUDIT_LOG,
  async (
    context: OperationContext,
    list: AuditEntryList,
    selected?: Columns<AuditEntryRow>,
  ): Promise<CountedPage<AuditEntryRow>> => {
    requireOrganization(context.actor, list.organizationId);
    return {
      page: await pageOfEntries(context, list, selected),
      total: () => countEntries(context, list.organizationId, list.filter),
    };
  },
);
