import type { EntityManager } from '@mikro-orm/postgresql';
import { type RawBuilder, sql } from 'kysely';
import type { OrganizationId, SessionId, UserId } from '../../core/ids.ts';
import { type Readable, queriesOn, snake } from '../../core/postgres/reading/queries.ts';
import type { SessionTables } from './entity.ts';
import type { UsageSumTables } from './usage-sum-entity.ts';
import { USAGE_FIELDS } from './vocabulary.ts';

/** Writes the sums of usage: in the transaction of what they count, so that they equal the totals of the sessions. */

export const SUM_FIELDS = ['sessions', 'failedSessions', ...USAGE_FIELDS] as const;
export type SumField = (typeof SUM_FIELDS)[number];

/** What is added to the sums of one model and one tool. An amount that is absent or null adds nothing. */
export interface AddedSum extends Partial<Readonly<Record<SumField, number | null>>> {
  readonly model?: string;
  readonly tool?: string;
  /** Where it is not that of the append. */
  readonly day?: string;
  /** Set for the sum, of no model and no tool, from which calls are taken that were counted before. */
  readonly takesBack?: true;
}

type Tables = UsageSumTables & SessionTables;
/** With `head`, a row if the events are appended. */
const db = queriesOn<Tables & { head: { base: number } }>();
const tablesOf = (em: EntityManager) => em.getKysely<Readable<Tables>>();

/** Concurrent changes of the same sums wait for each other until the first commits, so they are spread by session. */
const SLOTS = 8;
const GROUP = ['agent', 'project_id', 'creator_id', 'model', 'tool'] as const;
const AMOUNTS = SUM_FIELDS.map(snake);
const COLUMNS = ['organization_id', 'day', 'key', 'slot', ...GROUP, ...AMOUNTS] as const;
type Groups = Readonly<Record<(typeof GROUP)[number], RawBuilder<never>>>;

const typeOf = (amount: (typeof AMOUNTS)[number]) => sql.raw(amount === 'cost_usd' ? 'double precision' : 'bigint');

/** The values of {@link COLUMNS}. `amountOf` is an expression for each amount. */
function valuesOf(
  place: {
    readonly organizationId: RawBuilder<unknown>;
    readonly day: RawBuilder<unknown>;
    readonly slot: RawBuilder<unknown>;
  },
  groups: Groups,
  amountOf: (amount: (typeof AMOUNTS)[number]) => RawBuilder<unknown>,
) {
  const group = GROUP.map((name) => groups[name]);
  const hash = sql`sha256(convert_to(json_build_array(${sql.join(group)})::text, 'UTF8'))`;
  return [
    sql<string>`${place.organizationId}::uuid`.as('organization_id'),
    sql<string>`${place.day}::date`.as('day'),
    sql<string>`encode(substring(${hash} for 16), 'hex')::uuid`.as('key'),
    sql<number>`${place.slot}::smallint`.as('slot'),
    ...GROUP.map((name) => sql<string | null>`${groups[name]}`.as(name)),
    ...AMOUNTS.map((amount) => sql<number>`${amountOf(amount)}`.as(amount)),
  ];
}

/** Adds to stored sums. One stays null until something is added to it. */
const added = Object.fromEntries(
  AMOUNTS.map((amount) => {
    const [stored, given] = [sql.ref(`usage_sum.${amount}`), sql.ref(`excluded.${amount}`)];
    return [amount, sql<number>`coalesce(${stored} + ${given}, ${given}, ${stored})`];
  }),
);

/** The part of the statement that appends events: adds what they report. Rows are locked in the order of their keys. */
export function sumsOfAppended(of: {
  readonly sessionId: RawBuilder<string>;
  readonly organizationId: RawBuilder<string>;
  readonly at: RawBuilder<string>;
  /** A list of {@link AddedSum}, as {@link sumsToJson} writes it. */
  readonly sums: RawBuilder<string>;
  /** Whether the head has what is taken back of calls. */
  readonly hasTaken: boolean;
}) {
  const columns = sql.join(AMOUNTS.map((amount) => sql`${sql.ref(amount)} ${typeOf(amount)}`));
  const rows = sql`json_to_recordset(${of.sums}::json)`.as<'u'>(
    sql`u(model text, tool text, day date, takes_back boolean, ${columns})`,
  );
  const amountOf = (amount: (typeof AMOUNTS)[number]) => {
    const [given, taken] = [sql.ref(`u.${amount}`), sql.ref(`head.taken_${amount}`)];
    const isTaken = of.hasTaken && (amount === 'tool_calls' || amount === 'tool_errors');
    return isTaken
      ? sql`case when u.takes_back and ${taken} <> 0 then coalesce(${given}, 0) + ${taken} else ${given} end`
      : given;
  };
  const place = {
    organizationId: of.organizationId,
    day: sql`coalesce(u.day, ${utcDay(of.at)})`,
    slot: sql`get_byte(uuid_send(s.id), 15) % ${sql.lit(SLOTS)}`,
  };
  const groups = {
    agent: sql<never>`s.agent`,
    project_id: sql<never>`s.project_id`,
    creator_id: sql<never>`s.creator_id`,
    model: sql<never>`u.model`,
    tool: sql<never>`u.tool`,
  };
  return db
    .insertInto('usage_sum')
    .columns(COLUMNS)
    .expression(
      db
        .selectFrom(['head', 'session as s', rows])
        .select(valuesOf(place, groups, amountOf))
        .where('s.id', '=', sql<SessionId>`${of.sessionId}`)
        .where('s.organization_id', '=', sql<OrganizationId>`${of.organizationId}`)
        .where(sql<boolean>`num_nonnulls(${sql.join(AMOUNTS.map(amountOf))}) > 0`)
        .orderBy('key')
        .orderBy('day'),
    )
    .onConflict((conflict) => conflict.columns(['organization_id', 'day', 'key', 'slot']).doUpdateSet(added));
}

const utcDay = (at: RawBuilder<unknown>) => sql`(${at}::timestamptz at time zone 'utc')`;

/** The value `sums` of {@link sumsOfAppended}. */
export const sumsToJson = (sums: readonly AddedSum[]): string =>
  JSON.stringify(
    sums.map((sum) => Object.fromEntries(Object.entries(sum).map(([name, value]) => [snake(name), value]))),
  );

export interface CountedSession {
  readonly id: SessionId;
  readonly organizationId: OrganizationId;
  readonly creatorId: UserId | null;
  readonly agent: string | null;
  readonly projectId: string | null;
}

/** Counts a session on the day of this time, in the transaction of the caller. */
export async function countSession(
  em: EntityManager,
  counted: 'sessions' | 'failedSessions',
  { id, organizationId, creatorId, agent, projectId }: CountedSession,
  at: Date,
): Promise<void> {
  const groups = {
    agent: sql<never>`${agent}::text`,
    project_id: sql<never>`${projectId}::text`,
    creator_id: sql<never>`${creatorId}::uuid`,
    model: sql<never>`null::text`,
    tool: sql<never>`null::text`,
  };
  const place = {
    organizationId: sql`${organizationId}`,
    day: utcDay(sql`${at}`),
    slot: sql`${Number.parseInt(id.slice(-2), 16) % SLOTS}`,
  };
  const amountOf = (amount: (typeof AMOUNTS)[number]) =>
    sql`${sql.lit(amount === snake(counted) ? 1 : null)}::${typeOf(amount)}`;
  const tables = tablesOf(em);
  await tables
    .insertInto('usage_sum')
    .columns(COLUMNS)
    .expression(tables.selectNoFrom(valuesOf(place, groups, amountOf)))
    .onConflict((conflict) => conflict.columns(['organization_id', 'day', 'key', 'slot']).doUpdateSet(added))
    .execute();
}

/** Moves a batch of sums of an organization to other rows, where they are added. @returns how many. */
async function moveSums(
  em: EntityManager,
  organizationId: OrganizationId,
  {
    where,
    batch,
    isForgotten,
  }: { readonly where: RawBuilder<boolean>; readonly batch: number; readonly isForgotten: boolean },
): Promise<number> {
  const tables = em.getKysely<Readable<Tables> & { gone: Readable<Tables>['usage_sum'] }>();
  const groups: Groups = {
    agent: sql.ref('agent'),
    project_id: sql.ref('project_id'),
    creator_id: isForgotten ? sql<never>`null::uuid` : sql.ref('creator_id'),
    model: sql.ref('model'),
    tool: sql.ref('tool'),
  };
  const place = { organizationId: sql`${organizationId}`, day: sql.ref('day'), slot: sql.lit(0) };
  const summed = (amount: (typeof AMOUNTS)[number]) => sql`sum(${sql.ref(amount)})::${typeOf(amount)}`;
  const { count } = await tables
    .with('gone', (query) =>
      query
        .deleteFrom('usage_sum')
        .where('organization_id', '=', organizationId)
        .where(isInBatch(em, organizationId, { where, batch }))
        .where(where)
        .returningAll(),
    )
    .with('moved', (query) =>
      query
        .insertInto('usage_sum')
        .columns(COLUMNS)
        .expression(
          query
            .selectFrom('gone')
            .select(valuesOf(place, groups, summed))
            .groupBy(['day', 'agent', 'project_id', 'model', 'tool'])
            .$if(!isForgotten, (all) => all.groupBy('creator_id'))
            .orderBy('key'),
        )
        .onConflict((conflict) => conflict.columns(['organization_id', 'day', 'key', 'slot']).doUpdateSet(added)),
    )
    .selectFrom('gone')
    .select((eb) => eb.fn.countAll<string>().as('count'))
    .executeTakeFirstOrThrow();
  return Number(count);
}

/** Adds the sums of a user to those without creator, a batch in one organization at a time. */
export async function forgetSumCreator(em: EntityManager, userId: UserId, batch: number): Promise<number> {
  const where = sql<boolean>`creator_id = ${userId}::uuid`;
  const [first] = await organizationsWith(em, where);
  return first === undefined ? 0 : moveSums(em, first, { where, batch, isForgotten: true });
}

/** Adds up the slots of days that are over, a batch in one organization at a time, so that reports read fewer rows. */
export async function mergeSlots(em: EntityManager, at: Date, batch: number): Promise<number> {
  // Clocks differ by less than an hour.
  const where = sql<boolean>`slot > 0 and day < ${utcDay(sql`${new Date(at.getTime() - 3_600_000)}`)}::date`;
  const [first] = await organizationsWith(em, where);
  return first === undefined ? 0 : moveSums(em, first, { where, batch, isForgotten: false });
}

async function organizationsWith(em: EntityManager, where: RawBuilder<boolean>): Promise<OrganizationId[]> {
  const rows = await tablesOf(em).selectFrom('usage_sum').select('organization_id').where(where).limit(1).execute();
  return rows.map(({ organization_id: id }) => id);
}

/** Deletes a batch of the sums of an organization. @returns how many. */
export async function deleteSums(em: EntityManager, organizationId: OrganizationId, batch: number): Promise<number> {
  const { numDeletedRows } = await tablesOf(em)
    .deleteFrom('usage_sum')
    .where('organization_id', '=', organizationId)
    .where(isInBatch(em, organizationId, { where: sql<boolean>`true`, batch }))
    .executeTakeFirst();
  return Number(numDeletedRows);
}

/** The first sums of an organization that meet the condition. */
function isInBatch(
  em: EntityManager,
  organizationId: OrganizationId,
  { where, batch }: { readonly where: RawBuilder<boolean>; readonly batch: number },
): RawBuilder<boolean> {
  const some = tablesOf(em)
    .selectFrom('usage_sum')
    .select(['day', 'key', 'slot'])
    .where('organization_id', '=', organizationId)
    .where(where)
    .orderBy('day')
    .limit(batch);
  return sql<boolean>`(day, key, slot) in (${some})`;
}
