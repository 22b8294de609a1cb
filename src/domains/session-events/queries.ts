import { type RawBuilder, type SelectQueryBuilder, sql } from 'kysely';
import type { LoadBatch } from '../../core/batches.ts';
import { invalid } from '../../core/errors.ts';
import type { PageArguments } from '../../core/keyset.ts';
import type { OperationContext } from '../../core/operation.ts';
import { type Readable, type RowOf, listOf, preparedByShape, queriesOn } from '../../core/postgres/queries.ts';
import { within } from '../../core/postgres/reach.ts';
import { type Columns, withColumns } from '../../core/selection.ts';
import type { SessionTables } from '../sessions/entity.ts';
import { callerOf, readableBy } from '../sessions/policy.ts';
import { cursorId } from './cursor.ts';
import type { SessionEventTables } from './entity.ts';
import { MAX_PAGE, type SessionEventFilter } from './input.ts';

/**
 * Reads events, the same way for both APIs and live tails: one statement finds the sessions, checks that the caller may read them, and gives a
 * page of each. `eventData` is the JSON text as it was recorded.
 */

const db = queriesOn<SessionEventTables & SessionTables>();
type Tables = Readable<SessionEventTables & SessionTables>;

/** An event with the columns that were asked for; without a selection it has all. */
export type SessionEventRow = Omit<RowOf<Tables['session_event']>, 'eventData' | 'organizationId'> & {
  readonly eventData: string;
};

const COLUMNS = ['id', 'sessionId', 'createdAt', 'eventType', 'messageId', 'provider', 'eventData'] as const;

/** Which events: those between two ids, both exclusive, from either end. */
export interface SessionEventWindow {
  readonly after?: number | null | undefined;
  readonly before?: number | null | undefined;
  readonly limit: number;
  readonly backward?: boolean;
}

/** A page ends with the event that reaches this many bytes of data, whatever its limit: a thousand of 1 MiB would be more than a process can hold. */
const MAX_PAGE_BYTES = 16 * 1024 * 1024;

export interface SessionEventSlice {
  /** In ascending order. */
  readonly events: readonly SessionEventRow[];
  /** Whether it ends at its limit, or at what a page may have in bytes, so that more may follow. */
  readonly isFull: boolean;
}

/** What a query of events is given; a name is absent where there is no such condition. */
interface Values extends Omit<SessionEventFilter, 'messageId'> {
  readonly sessionIds: readonly string[];
  readonly organizationId: string;
  readonly userId: string;
  readonly messageId?: string | null | undefined;
  readonly after?: number | null | undefined;
  readonly before?: number | null | undefined;
  readonly limit: number;
}
type Value = <Name extends keyof Values>(name: Name) => RawBuilder<Values[Name]>;

const pages = preparedByShape<Values>();
const counts = preparedByShape<Values>();

/** A page of the events of each session; sessions that the caller cannot read have none. */
export function slicesOf(
  { actor, sql: reader }: OperationContext,
  filter: SessionEventFilter,
  { after, before, limit, backward = false }: SessionEventWindow,
  asked?: Columns<SessionEventRow>,
): LoadBatch<string, SessionEventSlice> {
  const caller = callerOf(actor);
  const names = withColumns<SessionEventRow>(asked, COLUMNS, 'id');
  const conditions = given({ ...filter, after, before });
  const direction = backward ? 'desc' : 'asc';
  return async (sessionIds) => {
    const values: Values = { ...filter, after, before, limit, ...caller, sessionIds };
    const isOne = sessionIds.length === 1;
    const rows = await reader.all(
      pages([caller.role, direction, isOne, ...conditions, '', ...names].join(), values, (value) => {
        // The planner picks the partition and its primary key for a parameter, and for a column of the outer row alike.
        const sessionId = isOne ? sql<string>`(${value('sessionIds')}::uuid[])[1]` : sql<string>`s.id`;
        const found = eventsOf(sessionId, conditions, value)
          .select(selectionOf(names))
          .orderBy('e.session_id', direction)
          .orderBy('e.id', direction)
          .limit(value('limit'));
        const events = names.includes('eventData') ? withinBytes(found.as('e'), direction) : found;
        return readableSessions(caller.role, value)
          .leftJoinLateral(events.as('page'), (join) => join.onTrue())
          .select('s.id as ofSession')
          .selectAll('page');
      }),
    );
    return slicesFrom(rows, { limit, backward });
  };
}

/** A page ends where it has grown to as many bytes as it may have. */
function withinBytes(found: ReturnType<ReturnType<typeof eventsOf>['as']>, direction: 'asc' | 'desc') {
  const before = sql<number | null>`sum(octet_length("eventData")) over (order by id ${sql.raw(direction)} rows between unbounded preceding and 1 preceding)`;
  return db
    .selectFrom((query) => query.selectFrom(found).selectAll().select(before.as('bytesBefore')).as('e'))
    .selectAll()
    .where(sql<boolean>`"bytesBefore" is null or "bytesBefore" < ${sql.lit(MAX_PAGE_BYTES)}`);
}
