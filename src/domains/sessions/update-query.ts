import { type RawBuilder, sql } from 'kysely';
import { type NewAuditEntry, auditInsert, auditValues } from '../../core/audit.ts';
import { authorityValues, hasAuthority } from '../../core/authority.ts';
import type { SessionId } from '../../core/ids.ts';
import type { OperationContext } from '../../core/operation.ts';
import type { Columns } from '../../core/postgres/reading/columns.ts';
import { preparedByShape, queriesOn, snake } from '../../core/postgres/reading/queries.ts';
import { within } from '../../core/postgres/reading/reach.ts';
import type { SessionTables } from './entity.ts';
import { replacedMcpServers } from './mcp-servers.ts';
import { callerOf, changeableBy } from './policy.ts';
import { type SessionRow, selectionOf, sessionColumns } from './queries.ts';

const db = queriesOn<SessionTables>();

/** The new values of a session, by property. Values of `jsonb` columns are JSON text. */
export type SessionChanges = Readonly<Partial<Record<keyof SessionRow, unknown>>>;

const updates = preparedByShape<Readonly<Record<string, unknown>>>();

/**
 * Changes a session that the caller can change, and writes the audit log entry, in one statement. Absent properties of `agentOptions` and of its
 * `goal` do not change.
 * @returns undefined when the caller cannot change such a session, or when it was changed since `expectedUpdatedAt`.
 */
export async function updateSessionRow(
  context: OperationContext,
  sessionId: SessionId,
  changes: SessionChanges,
  {
    entry,
    columns: asked,
    expectedUpdatedAt,
  }: { entry: NewAuditEntry; columns?: Columns<SessionRow>; expectedUpdatedAt?: string | null | undefined },
): Promise<SessionRow | undefined> {
  const { organizationId, userId, role } = callerOf(context.actor);
  const names = sessionColumns(asked);
  const given = Object.keys(changes);
  const isMerged = changes.agentOptions != null;
  const isExpected = expectedUpdatedAt != null;
  const caught = { ...auditValues(entry), ...authorityValues(context), sessionId, organizationId, userId };
  const values = { ...changes, ...caught, expectedUpdatedAt };
  const statement = updates([role, isMerged, isExpected, ...given, '', ...names].join(), values, (value) => {
    const caller = { organizationId: value('organizationId'), userId: value('userId'), role };
    const written = given.map((name): [string, RawBuilder<never>] => {
      const place = value(name);
      if (name === 'mcpServers') return [snake(name), sql`${replacedMcpServers(place, caller)}`];
      return [snake(name), sql<never>`${name === 'agentOptions' && isMerged ? mergedOptions(place) : place}`];
    });
    return db
      .with('changed', (query) =>
        query
          .updateTable('session as s')
          .set(Object.fromEntries(written))
          .where('s.id', '=', sql<string>`${value('sessionId')}`)
          .where(within(changeableBy(caller), 's'))
          .where(isExpected ? sql<boolean>`s.updated_at = ${value('expectedUpdatedAt')}` : sql<boolean>`true`)
          .where(hasAuthority(value))
          .returning(selectionOf(names, caller)),
      )
      .with('recorded', () => auditInsert(value, 'changed'))
      .selectFrom('changed')
      .selectAll()
      .$castTo<SessionRow>();
  });
  return context.sql.first(statement);
}

/** Merges the given options into the stored ones, and the given goal into the stored one. */
function mergedOptions(given: RawBuilder<unknown>): RawBuilder<unknown> {
  const goal = sql`jsonb_build_object('goal', (s.agent_options -> 'goal') || (${given}::jsonb -> 'goal'))`;
  return sql`coalesce(s.agent_options, '{}') || ${given}::jsonb || jsonb_strip_nulls(${goal})`;
}
