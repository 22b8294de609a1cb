import { sql } from 'kysely';
import type { AuditValues } from '../../core/audit.ts';
import type { AuthorityValues } from '../../core/authority.ts';
import type { OrganizationId, SessionId, UserId } from '../../core/ids.ts';
import { type ValueOf, queriesOn } from '../../core/postgres/reading/queries.ts';
import type { SessionTables } from '../sessions/public.ts';
import type { SessionEventTables } from './entity.ts';
import { ANEW, NO_MEMORY } from './fold-memory.ts';
import type { LineRow } from './received-lines.ts';
import type { AddedUsage, OwnCalls } from './totals.ts';

/** The parts of the append statement that remember lines of agents, and the values that all of its parts share. */

type Nullable<Row> = { [Name in keyof Row]-?: Exclude<Row[Name], undefined> | null };

/** With `head`, the row of the assigned ids. There is no row when nothing can be appended. */
export const afterHead = queriesOn<
  SessionEventTables & SessionTables & { head: { base: number; is_closed: boolean } }
>();

export interface Given extends AuditValues, AuthorityValues, Partial<AddedUsage & OwnCalls> {
  readonly seenAt?: string | null;
  readonly sessionId: SessionId;
  readonly organizationId: OrganizationId;
  readonly userId: UserId;
  readonly count: number;
  readonly batchId: string | null;
  readonly contentHash: string | null;
  readonly formatMemory?: string;
  readonly version?: string;
  readonly commandMemory?: string;
  readonly supersededFrom?: number;
  readonly supersededUntil?: string | null;
  readonly now: Date;
  readonly createdAt: Buffer;
  readonly eventType: Buffer;
  readonly messageId: Buffer;
  readonly provider: Buffer;
  readonly eventData: Buffer;
  /** JSON. */
  readonly sums?: string;
  readonly file?: string;
  /** JSON. */
  readonly places?: string;
  readonly fileLines?: number;
  readonly mark?: string;
  readonly messages?: Buffer;
}

/** Values that the parts of the statement share. */
export function sharedValues(value: ValueOf<Given>) {
  return {
    id: sql<string>`${value('sessionId')}::uuid`,
    organizationId: sql<string>`${value('organizationId')}::uuid`,
    batch: sql<string | null>`${value('batchId')}::text`,
    hash: sql<string | null>`${value('contentHash')}::text`,
    at: sql<string>`${value('now')}::timestamptz`,
    count: sql<number>`${value('count')}::int`,
  };
}
export type SharedValues = ReturnType<typeof sharedValues>;

/** What happened before a run has ended changes its state no more. */
export const mayBeClosed = (value: ValueOf<Given>, { id, organizationId }: SharedValues) =>
  sql<boolean>`(not is_closed or exists (select from session as s
    where s.id = ${id} and s.organization_id = ${organizationId} and ${value('seenAt')}::timestamptz <= s.updated_at + interval ${LATER}))`;

/** So much later than it happened an event of a command is stored. */
const LATER = sql.lit('5 seconds');

/** An event of the command that is later is not in the transcript yet. */
export const lastOf = (value: ValueOf<Given>) => sql`${value('supersededUntil')}::timestamptz + interval ${LATER}`;

/** The transcript has what the command has written up to its last line, and all of runs that have ended. */
export function supersede(value: ValueOf<Given>, { id, organizationId }: SharedValues) {
  return afterHead
    .updateTable('session_event as e')
    .from(['head', 'session as s'])
    .set({ is_superseded: true })
    .where('e.session_id', '=', id)
    .where('e.organization_id', '=', organizationId)
    .where('e.id', '>=', sql<number>`${value('supersededFrom')}::bigint`)
    .where('e.is_superseded', '=', false)
    .where('s.id', '=', id)
    .where('s.organization_id', '=', organizationId)
    .where(sql<boolean>`(head.is_closed or e.stored_at < s.last_queued_at or e.created_at <= ${lastOf(value)})`)
    .returning('e.id');
}

/** Entries of events that are superseded now are made anew. With another version, a fold that has read them before is not stored. */
export function unfold({ id, organizationId }: SharedValues) {
  return queriesOn<SessionEventTables & { superseded: { id: number } }>()
    .insertInto('session_fold')
    .columns(['session_id', 'organization_id', 'folded_id', 'closed_id', 'version', 'memory'])
    .expression((on) =>
      on
        .selectFrom('superseded')
        .select([id.as('session_id'), organizationId.as('organization_id')])
        .select([sql<number>`0`.as('folded_id'), sql<number>`0`.as('closed_id'), sql<number>`1`.as('version')])
        .select(sql<string>`${sql.lit(NO_MEMORY)}`.as('memory'))
        .limit(sql.lit(1)),
    )
    .onConflict((conflict) =>
      conflict.columns(['session_id', 'organization_id']).doUpdateSet({
        version: sql<number>`session_fold.version + 1`,
        superseded: sql<number>`case when exists (select from superseded where superseded.id <= session_fold.folded_id)
          then ${sql.lit(ANEW)} else session_fold.superseded end`,
      }),
    );
}

export function rememberLines(value: ValueOf<Given>, { id, organizationId }: SharedValues) {
  const places = sql<Nullable<LineRow>>`json_to_recordset(${value('places')}::json)`.as<'p'>(
    sql`p(line bigint, key uuid, stored uuid, at int, "of" bigint, is_repeated boolean, text text, cr boolean)`,
  );
  return afterHead
    .insertInto('transcript_line')
    .columns([
      'session_id',
      'file',
      'line',
      'organization_id',
      'key',
      'stored_key',
      'event_id',
      'is_repeated',
      'text',
      'has_return',
    ])
    .expression(
      afterHead
        .selectFrom(['head', places])
        .select([
          id.as('session_id'),
          sql<string>`${value('file')}::text`.as('file'),
          sql<number>`coalesce(p.line, head.base + p.at)`.as('line'),
          organizationId.as('organization_id'),
          'p.key',
          'p.stored as stored_key',
          sql<number | null>`coalesce(head.base + p.at, p.of)`.as('event_id'),
          'p.is_repeated',
          'p.text',
          sql<boolean>`coalesce(p.cr, false)`.as('has_return'),
        ]),
    )
    .onConflict((conflict) => conflict.doNothing());
}

/** Usage counts in the session where it was recorded first. */
export function rememberMessages(value: ValueOf<Given>, { id, organizationId }: SharedValues) {
  const messages = sql<{ message: string }>`unnest(${value('messages')}::uuid[])`.as<'m'>(sql`m(message)`);
  return afterHead
    .insertInto('counted_message')
    .columns(['organization_id', 'owner_id', 'agent', 'message', 'session_id'])
    .expression(
      afterHead
        .selectFrom(['head', 'session as s', messages])
        .select([
          's.organization_id',
          sql<string>`s.creator_id`.as('owner_id'),
          sql<string>`coalesce(s.agent, '')`.as('agent'),
          'm.message',
          's.id as session_id',
        ])
        .where('s.id', '=', id)
        .where('s.organization_id', '=', organizationId)
        .where('s.creator_id', 'is not', null),
    )
    .onConflict((conflict) => conflict.doNothing());
}

export function rememberFile(value: ValueOf<Given>, { id, organizationId }: SharedValues) {
  return afterHead
    .insertInto('transcript_file')
    .columns(['session_id', 'name', 'organization_id', 'lines', 'mark'])
    .expression(
      afterHead
        .selectFrom('head')
        .select([
          id.as('session_id'),
          sql<string>`${value('file')}::text`.as('name'),
          organizationId.as('organization_id'),
          sql<number>`${value('fileLines')}::int`.as('lines'),
          sql<string>`${value('mark')}::text`.as('mark'),
        ]),
    )
    .onConflict((conflict) =>
      conflict.columns(['session_id', 'name', 'organization_id']).doUpdateSet({
        lines: sql<number>`excluded.lines`,
        mark: sql<string>`excluded.mark`,
      }),
    );
}
