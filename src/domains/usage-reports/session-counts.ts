import { type RawBuilder, sql } from 'kysely';
import { requireOrganization } from '../../core/access.ts';
import { invalid } from '../../core/errors.ts';
import type { OrganizationId } from '../../core/ids.ts';
import { type OperationContext, defineOperation } from '../../core/operation.ts';
import { type Rows, tablesOf } from '../../core/postgres/reading/lists.ts';
import { queriesOn } from '../../core/postgres/reading/queries.ts';
import { WORK } from '../../core/work-budget.ts';
import { READ_SESSIONS, SESSIONS, SESSION_STATES, type SessionFilter, type SessionState } from '../sessions/public.ts';
import type { UsageGroup } from './input.ts';
import { MAX_ROWS } from './queries.ts';

/** Counts of the sessions that exist, unlike the sums of a usage report: each is the length of a list. */

export interface SessionCount extends Readonly<Record<SessionState, number>> {
  readonly key: string | null;
  readonly sessions: number;
}

/** The key of a session, or a list of its keys. */
const KEYS: Readonly<Record<UsageGroup, RawBuilder<unknown>>> = {
  DAY: sql`to_char(s.created_at at time zone 'utc', 'YYYY-MM-DD')`,
  AGENT: sql`s.agent`,
  PROJECT: sql`s.project_id`,
  CREATOR: sql`s.creator_id::text`,
  MODEL: sql`n.models`,
  TOOL: sql`n.tools`,
};

const db = queriesOn<{ listed: { key: unknown; state: SessionState } }>();

const sessionCounts = SESSIONS.over((rows, groupBy: UsageGroup) => {
  const isNamed = groupBy === 'MODEL' || groupBy === 'TOOL';
  const listed = (isNamed ? withNames(rows) : rows)
    .select([KEYS[groupBy].as('key'), sql`s.state`.as('state')])
    .limit(sql.lit(WORK.countedRows + 1));
  const key = isNamed ? sql<string>`unnest(listed.key)` : sql<string | null>`listed.key`;
  return db
    .with('listed', () => listed)
    .with('keyed', (query) => query.selectFrom('listed').select([key.as('key'), 'state']))
    .selectFrom('keyed')
    .select(['key', sql<number>`count(*)`.as('sessions')])
    .select(SESSION_STATES.map((state) => sql<number>`count(*) filter (where state = ${sql.lit(state)})`.as(state)))
    .select(sql<boolean>`(select count(*) from listed) > ${sql.lit(WORK.countedRows)}`.as('isTooMuch'))
    .groupBy('key')
    .orderBy('sessions', 'desc')
    .orderBy('key')
    .limit(sql.lit(MAX_ROWS))
    .$castTo<SessionCount & { readonly isTooMuch: boolean }>();
});

/** With the row of `session_search`, which has the names in its events. */
const withNames = (rows: Rows): Rows =>
  tablesOf(
    rows.innerJoin('session_search as n', (join) =>
      join.on(sql<boolean>`n.session_id = s.id and n.organization_id = s.organization_id`),
    ),
  );

interface Counted {
  readonly organizationId: OrganizationId;
  readonly groupBy: UsageGroup | null | undefined;
  readonly filter: SessionFilter | null | undefined;
}

export const countSessions = defineOperation({
  name: 'countSessions',
  description: `Counts the sessions that the caller can read and that meet the filter: by day of creation in UTC, agent, project, creator, model or tool, and by state. Each number is the \`totalCount\` of \`sessions\` with the same filter and the key. Models and tools are those of \`SessionFilter.models\` and \`SessionFilter.tools\`, so one session can count for several. At most ${WORK.countedRows.toLocaleString('en')} sessions are counted.`,
  access: READ_SESSIONS,
  run: async (
    context: OperationContext,
    { organizationId, groupBy, filter }: Counted,
  ): Promise<readonly SessionCount[]> => {
    requireOrganization(context.actor, organizationId);
    const counts = await sessionCounts(context, filter ?? {}, groupBy ?? 'DAY');
    if (counts[0]?.isTooMuch)
      throw invalid(
        'filter.createdFrom',
        `at most ${WORK.countedRows} sessions can be counted; choose fewer, such as those of a later time`,
        'TOO_MANY',
        WORK.countedRows,
      );
    return counts;
  },
});
