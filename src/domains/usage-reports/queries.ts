import { type RawBuilder, sql } from 'kysely';
import type { OrganizationId, UserId } from '../../core/ids.ts';
import { type Statement, anyOf, preparedByShape, queriesOn, snake } from '../../core/postgres/reading/queries.ts';
import { isCreatorIn } from '../groups/public.ts';
import { SUM_FIELDS, type SumField, type UsageSumTables } from '../sessions/public.ts';
import type { UsageGroup } from './input.ts';

const db = queriesOn<UsageSumTables>();

/** Of a report, with the row of all others. */
export const MAX_ROWS = 1_000;

export type ReportField = Exclude<SumField, 'cacheWriteTokens'>;
export const REPORT_FIELDS = SUM_FIELDS.filter((field): field is ReportField => field !== 'cacheWriteTokens');
export type UsageAmounts = Readonly<Record<ReportField, number | null>>;

export function ofEachAmount<Value>(of: (field: ReportField) => Value): Readonly<Record<ReportField, Value>> {
  // It has all fields.
  return Object.fromEntries(REPORT_FIELDS.map((field) => [field, of(field)])) as Record<ReportField, Value>;
}

export interface SummedRow extends UsageAmounts {
  readonly key: string | null;
  /** Whether it is the sum of all rows after the largest. */
  readonly isRest: boolean;
}

const GROUPS: Readonly<Record<UsageGroup, RawBuilder<string | null>>> = {
  DAY: sql<string>`day`,
  AGENT: sql<string | null>`agent`,
  MODEL: sql<string | null>`model`,
  PROJECT: sql<string | null>`project_id`,
  CREATOR: sql<string | null>`creator_id::text`,
  TOOL: sql<string | null>`tool`,
};

const CONDITIONS = { agents: 'agent', models: 'model', projectIds: 'project_id', creatorIds: 'creator_id' } as const;
export type Condition = keyof typeof CONDITIONS | 'creatorGroupIds';

interface Given extends Readonly<Partial<Record<Condition, readonly string[]>>> {
  readonly organizationId: OrganizationId;
  readonly from: string;
  readonly until: string;
  readonly userId: UserId;
}

interface Shape {
  readonly groupBy: UsageGroup;
  readonly given: readonly Condition[];
  /** Whether only what the caller has created is summed. */
  readonly isOwn: boolean;
}

const columnsOf = (field: ReportField) => sql.ref(snake(field));
const castOf = (field: ReportField) => sql.raw(field === 'costUsd' ? 'double precision' : 'bigint');
const summed = () =>
  REPORT_FIELDS.map((field) => sql<number | null>`sum(${columnsOf(field)})::${castOf(field)}`.as(snake(field)));

const LARGEST_FIRST = sql`cost_usd desc nulls last,
  coalesce(input_tokens, 0) + coalesce(output_tokens, 0) desc, coalesce(tool_calls, 0) desc, coalesce(sessions, 0) desc, key`;

/** The sums of each group, the largest first, and of all others together. */
export const usageRows: (shape: Shape, values: Given) => Statement<SummedRow> = preparedByShape<Given, Shape>()((
  value,
  { groupBy, given, isOwn },
) => {
  const conditions = given.map((name) =>
    name === 'creatorGroupIds'
      ? isCreatorIn('usage_sum')(value(name))
      : sql<boolean>`${sql.ref(CONDITIONS[name])} = ${anyOf(name === 'creatorIds' ? 'uuid' : 'text', sql<string[]>`${value(name)}`)}`,
  );
  const groups = db
    .selectFrom('usage_sum')
    .select([GROUPS[groupBy].as('key'), ...summed()])
    .where('organization_id', '=', value('organizationId'))
    .where('day', '>=', sql<string>`${value('from')}::date`)
    .where('day', '<', sql<string>`${value('until')}::date`)
    .$if(isOwn, (query) => query.where('creator_id', '=', value('userId')))
    .$if(conditions.length > 0, (query) => query.where(sql<boolean>`${sql.join(conditions, sql` and `)}`))
    .groupBy(sql`1`);
  const first = groupBy === 'DAY' ? sql`to_char(min(key), 'YYYY-MM-DD')` : sql`min(key)`;
  const isRest = sql<boolean>`total > ${sql.lit(MAX_ROWS)} and place >= ${sql.lit(MAX_ROWS)}`;
  return db
    .with('groups', () => groups)
    .with('placed', (query) =>
      query
        .selectFrom('groups')
        .selectAll()
        .select([sql<number>`row_number() over (order by ${LARGEST_FIRST})`.as('place')])
        .select(sql<number>`count(*) over ()`.as('total')),
    )
    .selectFrom('placed')
    .select([
      sql<string | null>`case when bool_and(${isRest}) then null else ${first} end`.as('key'),
      sql<boolean>`bool_and(${isRest})`.as('isRest'),
      ...REPORT_FIELDS.map((field) => sql<number | null>`sum(${columnsOf(field)})::${castOf(field)}`.as(field)),
    ])
    .groupBy(sql`least(place, ${sql.lit(MAX_ROWS)})`)
    .orderBy(sql`min(place)`)
    .$castTo<SummedRow>();
});
