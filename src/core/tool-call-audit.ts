import DataLoader from 'dataloader';
import { type RawBuilder, sql } from 'kysely';
import { AUDIT_COLUMNS, type AuditTables, type AuditedToolCall, type NewAuditEntry, auditRow } from './audit.ts';
import { BATCH_PER_TICK } from './concurrency.ts';
import { type Statement, prepared, queriesOn } from './postgres/reading/queries.ts';
import type { Sql } from './postgres/reading/sql.ts';

/** The audit log entries of calls of tools: each is written before the call, and completed after it. */

type ToolCallEnd = Required<Pick<AuditedToolCall, 'outcome' | 'durationMs' | 'bytes'>>;

export interface ToolCallAudit {
  open(entry: NewAuditEntry, call: AuditedToolCall): Promise<void>;
  complete(entry: NewAuditEntry, end: ToolCallEnd): Promise<void>;
}

const db = queriesOn<AuditTables>();
/** The type of the target of every such entry. */
export const TOOL_CALL_TARGET = 'McpServer';
const COLUMNS = [...AUDIT_COLUMNS, 'tool_call'] as const;

const rowsIn = (rows: RawBuilder<string>) =>
  sql<AuditTables['audit_entry']>`json_populate_recordset(null::audit_entry, ${rows}::json)`.as<'n'>('n');

const insert = prepared<{ readonly rows: string }>()((value) =>
  db
    .insertInto('audit_entry')
    .columns(COLUMNS)
    .expression(db.selectFrom(rowsIn(value('rows'))).select(COLUMNS.map((name) => `n.${name}` as const))),
);

const complete = prepared<{ readonly rows: string }>()((value) =>
  db
    .updateTable('audit_entry as a')
    .from(rowsIn(value('rows')))
    .set({ tool_call: sql<AuditedToolCall>`a.tool_call || n.tool_call` })
    .whereRef('a.occurred_at', '=', 'n.occurred_at')
    .whereRef('a.id', '=', 'n.id')
    // Always true. PostgreSQL expects a single row from it, and therefore uses the primary key, unless the log is nearly empty when it plans.
    .where('n.target_type', '=', TOOL_CALL_TARGET)
    // The caller does not wait for the disk: if PostgreSQL fails within a second, the entry says that the outcome is unknown.
    .where(sql<boolean>`set_config('synchronous_commit', 'off', true) = 'off'`),
);

/** Calls that begin or end in the same iteration of the event loop share a statement. */
export function createToolCallAudit(writer: Sql): ToolCallAudit {
  const write = (statement: (values: { readonly rows: string }) => Statement<unknown>) => {
    const loader = new DataLoader<object, undefined>(
      async (rows) => {
        await writer.all(statement({ rows: JSON.stringify(rows) }));
        return rows.map(() => undefined);
      },
      { ...BATCH_PER_TICK, maxBatchSize: 100 },
    );
    return async (entry: NewAuditEntry, toolCall: Partial<AuditedToolCall>) =>
      loader.load({ ...auditRow(entry), tool_call: toolCall });
  };
  return { open: write(insert), complete: write(complete) };
}
