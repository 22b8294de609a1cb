import { requireOrganization } from '../../core/access.ts';
import { auditEntry, recordAudit } from '../../core/audit.ts';
import { pagesWithRights } from '../../core/exported-pages.ts';
import type { Batches } from '../../core/http/ndjson.ts';
import { type OperationContext, defineOperation, guarded } from '../../core/operation.ts';
import type { Columns } from '../../core/postgres/reading/columns.ts';
import { idOf } from '../session-events/public.ts';
import { type FollowAuditLogInput, MAX_PAGE, followAuditLogInput } from './input.ts';
import { FOLLOW_AUDIT_LOG, READ_AUDIT_LOG } from './policy.ts';
import { AUDIT_ENTRIES, type AuditEntryRow, type FollowedPage, readFollowed } from './queries.ts';

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

export const listAuditLog = defineOperation({
  name: 'listAuditLog',
  description:
    'Lists the audit log of the organization in the order of the commits, so that a program that follows it misses no entry. The call of a tool is listed when it has ended, or after 15 minutes. Former members are named, deleted accounts are not.',
  access: FOLLOW_AUDIT_LOG,
  input: followAuditLogInput,
  run: async (context, { cursor, ...asked }): Promise<FollowedPage> => {
    const after = idOf(cursor);
    const page = await readFollowed(context, { ...asked, after });
    // Larger cursors than any number stay as they were given.
    return Number(page.nextCursor) === after ? { ...page, nextCursor: cursor } : page;
  },
});

/** The whole range as a file, which is in the log itself. */
export const exportAuditLog = guarded(
  FOLLOW_AUDIT_LOG,
  async (context: OperationContext, { cursor, ...asked }: FollowAuditLogInput): Promise<Batches<AuditEntryRow>> => {
    const { id } = requireOrganization(context.actor);
    await recordAudit(context.em.fork(), auditEntry(context, 'exportAuditLog', { type: 'Organization', id }));
    const next = pagesWithRights(context, FOLLOW_AUDIT_LOG);
    return (async function* batches() {
      let [after, end] = [idOf(cursor), Infinity];
      for (let hasMore = true; hasMore && after < end;) {
        const page = await readFollowed(await next(), { ...asked, after, limit: MAX_PAGE });
        // What is written later is not waited for.
        if (page.isNumbered) end = Math.min(end, page.head);
        if (page.entries.length > 0) yield page.entries;
        [after, hasMore] = [Number(page.nextCursor), page.hasMore];
      }
    })();
  },
);
