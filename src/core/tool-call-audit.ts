import { sql } from 'kysely';
import { type AuditTables, type AuditedToolCall, type NewAuditEntry } from './audit.ts';
import { prepared, queriesOn } from './postgres/reading/queries.ts';
import type { Sql } from './postgres/reading/sql.ts';

/** The audit log entry of the call of a tool: written before the call, and completed after it. */

const db = queriesOn<AuditTables>();

const open = prepared<NewAuditEntry & { readonly toolCall: string }>()((value) =>
  db.insertInto('audit_entry').values({
    occurred_at: value('occurredAt'),
    id: value('id'),
    organization_id: value('organizationId'),
    source: value('source'),
    key_id: value('keyId'),
    operation: value('operation'),
    target_type: value('targetType'),
    target_id: value('targetId'),
    request_id: value('requestId'),
    request_id_origin: value('requestIdOrigin'),
    tool_call: sql<AuditedToolCall>`${value('toolCall')}::jsonb`,
  }),
);

const complete = prepared<{ readonly occurredAt: Date; readonly id: string; readonly end: string }>()((value) =>
  db
    .updateTable('audit_entry')
    .set({ tool_call: sql<AuditedToolCall>`tool_call || ${value('end')}::jsonb` })
    .where('occurred_at', '=', sql<string>`${value('occurredAt')}::timestamptz`)
    .where('id', '=', value('id'))
    // The caller does not wait for the disk: if PostgreSQL fails within a second, the entry says that the outcome is unknown.
    .where(sql<boolean>`set_config('synchronous_commit', 'off', true) = 'off'`),
);

export async function openToolCall(writer: Sql, entry: NewAuditEntry, call: AuditedToolCall): Promise<void> {
  await writer.all(open({ ...entry, toolCall: JSON.stringify(call) }));
}

export async function completeToolCall(
  writer: Sql,
  { occurredAt, id }: Pick<NewAuditEntry, 'occurredAt' | 'id'>,
  end: Required<Pick<AuditedToolCall, 'outcome' | 'durationMs' | 'bytes'>>,
): Promise<void> {
  await writer.all(complete({ occurredAt, id, end: JSON.stringify(end) }));
}
