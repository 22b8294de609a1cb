import type { AuditSource } from '../../core/audit.ts';
import { type CountedPage, type Ordering, type PageArguments, keyset } from '../../core/keyset.ts';
import { type OperationContext, requireAdmin, requireOrganization, requireScope } from '../../core/operation.ts';
import { type Sql, type Timestamp, toIsoString } from '../../core/sql.ts';
import type { UserRow } from '../users/operations.ts';
import type { AuditLogFilter } from './input.ts';

export interface AuditEntryRow {
  readonly id: string;
  readonly occurredAt: Timestamp;
  readonly source: AuditSource;
  readonly operation: string;
  readonly targetType: string;
  readonly targetId: string | null;
  readonly keyId: string | null;
  readonly requestId: string;
  /** Whom the key belongs to. */
  readonly user: UserRow | null;
}

/** Moments as `timestamptz` text, which is how the wire form is made of them. */
type Selected = Omit<AuditEntryRow, 'user'> & {
  readonly userId: string | null;
  readonly email: string | null;
  readonly name: string | null;
  readonly userCreatedAt: string | null;
};

const LATEST_FIRST: Ordering<AuditEntryRow> = {
  name: 'AUDIT_ENTRY',
  direction: 'DESC',
  columns: [
    { sql: 'a.occurred_at', type: 'timestamptz', of: ({ occurredAt }) => toIsoString(occurredAt) },
    { sql: 'a.id', type: 'uuid', of: ({ id }) => id },
  ],
};

const COLUMNS = `a.id, a.occurred_at as "occurredAt", a.source, a.operation, a.target_type as "targetType", a.target_id as "targetId",
  a.key_id as "keyId", a.request_id as "requestId", u.id as "userId", u.email, u.name, u.created_at as "userCreatedAt"`;

/**
 * Who has changed what in the organization that the caller acts in, latest first. Former members are named in it, deleted accounts are not.
 * @throws ForbiddenError for callers who are not admins, and for keys without `organizations.write`; ValidationError (400) when another
 * organization is asked for.
 */
export async function listAuditEntries(
  { actor, sql }: OperationContext,
  { organizationId, filter, page }: { organizationId: string; filter: AuditLogFilter; page: PageArguments },
): Promise<CountedPage<AuditEntryRow>> {
  requireScope(actor, 'organizations.write');
  requireOrganization(actor, organizationId);
  requireAdmin(actor);
  const values: unknown[] = [];
  const where = conditionsOf(organizationId, filter, values);
  const query = keyset(LATEST_FIRST, page, values);
  const rows = await sql.query<Selected>(
    `select ${COLUMNS} from audit_entry a left join api_key k on k.id = a.key_id left join user_account u on u.id = k.user_id
      where ${where} and ${query.where} order by ${query.orderBy} limit $${values.push(query.limit)}`,
    values,
  );
  return { page: query.toPage(rows.map(withUser)), total: () => countAuditEntries(sql, organizationId, filter) };
}

async function countAuditEntries(sql: Sql, organizationId: string, filter: AuditLogFilter): Promise<number> {
  const values: unknown[] = [];
  const where = conditionsOf(organizationId, filter, values);
  const [row] = await sql.query<{ count: number }>(
    `select count(*)::int as count from audit_entry a left join api_key k on k.id = a.key_id where ${where}`,
    values,
  );
  return row?.count ?? 0;
}

function conditionsOf(organizationId: string, filter: AuditLogFilter, values: unknown[]): string {
  const given = (value: string | null | undefined, condition: (place: string) => string) =>
    value == null ? [] : [condition(`$${values.push(value)}`)];
  return [
    `a.organization_id = $${values.push(organizationId)}`,
    ...given(filter.userId, (place) => `k.user_id = ${place}`),
    ...given(filter.operation, (place) => `a.operation = ${place}`),
    ...given(filter.targetId, (place) => `a.target_id = ${place}`),
    ...given(filter.occurredFrom, (place) => `a.occurred_at >= ${place}::timestamptz`),
    ...given(filter.occurredBefore, (place) => `a.occurred_at < ${place}::timestamptz`),
  ].join(' and ');
}

function withUser({ userId, email, name, userCreatedAt, ...entry }: Selected): AuditEntryRow {
  return { ...entry, user: userId && userCreatedAt ? { id: userId, email, name, createdAt: userCreatedAt } : null };
}
