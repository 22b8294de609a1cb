import { type RawBuilder, sql } from 'kysely';
import { type NewAuditEntry, auditInsert, auditValues } from '../../core/audit.ts';
import { authorityValues, hasAuthority } from '../../core/authority.ts';
import type { Role } from '../../core/access.ts';
import type { SessionId } from '../../core/ids.ts';
import type { OperationContext } from '../../core/operation.ts';
import type { Columns } from '../../core/postgres/reading/columns.ts';
import { type ValueOf, preparedByShape, queriesOn, snake } from '../../core/postgres/reading/queries.ts';
import { within } from '../../core/postgres/reading/reach.ts';
import type { SessionTables } from './entity.ts';
import { replacedMcpServers } from './mcp-servers.ts';
import { callerOf, changeableBy } from './policy.ts';
import { type SessionRow, selectionOf, sessionColumns } from './queries.ts';

const db = queriesOn<SessionTables>();
/** With `changed`, the row of the changed session. */
const afterChange = queriesOn<SessionTables & { changed: { id: SessionId } }>();

/** The new values of a session, by property. Values of `jsonb` columns are JSON text. */
export type SessionChanges = Readonly<Partial<Record<keyof SessionRow, unknown>>>;

interface UpdateShape {
  readonly role: Role;
  /** The changed properties. */
  readonly given: readonly string[];
  readonly isMerged: boolean;
  readonly isExpected: boolean;
  readonly names: readonly (keyof SessionRow)[];
}

const updates = preparedByShape<Readonly<Record<string, unknown>>, UpdateShape>()((
  value,
  { role, given, isMerged, isExpected, names },
) => {
  const caller = { organizationId: value('organizationId'), userId: value('userId'), role };
  const viewer = { ...caller, isAdmin: sql.lit(role === 'admin') };
  const written = given.map((name): [string, RawBuilder<never>] => {
    const place = value(name);
    if (name === 'mcpServers') return [snake(name), sql`${replacedMcpServers(place, viewer)}`];
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
        .returning(selectionOf(names, viewer)),
    )
    .with('searched', () => noteTitle(value, given.includes('title')))
    .with('recorded', () => auditInsert(value, 'changed'))
    .selectFrom('changed')
    .selectAll()
    .$castTo<SessionRow>();
});

/** Lets the texts of the changed session be indexed again, so that searches find the new title. */
const noteTitle = (value: ValueOf<Readonly<Record<string, unknown>>>, isChanged: boolean) =>
  afterChange
    .updateTable('session_search')
    .set({ version: sql<string>`${value('searchVersion')}::uuid` })
    .where('session_id', '=', sql<string>`${value('sessionId')}::uuid`)
    .where('organization_id', '=', sql<string>`${value('organizationId')}::uuid`)
    .where((eb) => eb.exists(afterChange.selectFrom('changed').select('changed.id')))
    .where(sql<boolean>`${sql.lit(isChanged)}`);

/**
 * Changes a session that the caller can change, and writes the audit log entry, in one statement. Absent properties of
 * `agentOptions` and of its
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
  const { role, ...caller } = callerOf(context.actor);
  const shape = {
    role,
    given: Object.keys(changes),
    isMerged: changes.agentOptions != null,
    isExpected: expectedUpdatedAt != null,
    names: sessionColumns(asked),
  };
  const checked = {
    ...auditValues(entry),
    ...authorityValues(context),
    ...caller,
    sessionId,
    expectedUpdatedAt,
    searchVersion: context.newId(),
  };
  return context.sql.first(updates(shape, { ...changes, ...checked }));
}

/** Merges the given options into the stored ones, and the given goal into the stored one. */
function mergedOptions(given: RawBuilder<unknown>): RawBuilder<unknown> {
  // Null without both goals. `jsonb_build_object` is not immutable, which Citus asks for.
  const goal = sql`coalesce(jsonb_set('{}', '{goal}', (s.agent_options -> 'goal') || (${given}::jsonb -> 'goal')), '{}')`;
  return sql`coalesce(s.agent_options, '{}') || ${given}::jsonb || jsonb_strip_nulls(${goal})`;
}
