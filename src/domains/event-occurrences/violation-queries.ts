import type { EntityManager } from '@mikro-orm/postgresql';
import { sql } from 'kysely';
import { requireOrganization } from '../../core/access.ts';
import type { InputFaultCode } from '../../core/errors.ts';
import type { OperationContext } from '../../core/operation.ts';
import { defineList, inActingOrganization } from '../../core/postgres/reading/lists.ts';
import { type Readable, type RowOf, listOf, queriesOn } from '../../core/postgres/reading/queries.ts';
import { DAY_MS } from '../../core/text/timestamps.ts';
import { EVENT_VIOLATION_COLUMNS, type EventViolationTables, UNKNOWN_EVENT } from './entity.ts';
import type { EventViolationFilter } from './input.ts';

const db = queriesOn<EventViolationTables>();
type Tables = Readable<EventViolationTables>;

/** A row has the selected columns only; without a selection it has all columns. */
export type EventViolationRow = Omit<RowOf<Tables['event_violation']>, 'organizationId' | 'occurrences'>;

/** Occurrences of one request that were refused for the same reason. */
export interface Violation {
  readonly definitionId: string;
  readonly reason: InputFaultCode;
  /** Empty if the fault is not in a property. Of an unknown event it is the name that was sent. */
  readonly property: string;
  readonly count: number;
  /** Those of which this is the first fault. */
  readonly occurrences: number;
}

const COLUMNS = EVENT_VIOLATION_COLUMNS.filter((name) => name !== 'organizationId' && name !== 'occurrences');

/** How many rows an organization can have for an hour before names of properties are left out. */
const MAX_ROWS_AN_HOUR = 1_000;
export const KEPT_DAYS = 30;

/**
 * Adds to the counts of this hour. A client chooses the names of unknown properties and events: once the organization has many rows for the hour, only
 * definition, reason and key are told apart.
 */
export async function addViolations(
  { sql: reader, actor, now }: Pick<OperationContext, 'sql' | 'actor' | 'now'>,
  violations: readonly Violation[],
): Promise<void> {
  const organizationId = requireOrganization(actor).id;
  const hour = new Date(now());
  hour.setUTCMinutes(0, 0, 0);
  const values = <Name extends keyof Violation>(name: Name) => violations.map((violation) => violation[name]);
  const lists = [
    listOf('uuid', values('definitionId')),
    listOf('text', values('reason')),
    listOf('text', values('property')),
    listOf('bigint', values('count')),
    listOf('bigint', values('occurrences')),
  ];
  const present = db
    .selectFrom('event_violation as v')
    .select('v.id')
    .where('v.organization_id', '=', organizationId)
    .where('v.hour', '=', hour.toISOString())
    .limit(MAX_ROWS_AN_HOUR);
  await reader.primary.all(
    db
      .insertInto('event_violation')
      .columns(['organization_id', 'hour', 'key_id', 'definition_id', 'reason', 'property', 'count', 'occurrences'])
      .expression(
        db
          .with('room', (room) =>
            room.selectFrom(present.as('present')).select(sql<boolean>`count(*) < ${MAX_ROWS_AN_HOUR}`.as('is_left')),
          )
          .selectFrom(
            sql<
              Record<'definition_id' | 'reason' | 'property' | 'count' | 'occurrences', string>
            >`unnest(${sql.join(lists)})`.as<'g'>(sql`g(definition_id, reason, property, count, occurrences)`),
          )
          .crossJoin('room')
          .select([
            sql`${organizationId}::uuid`.as('organization_id'),
            sql`${hour}::timestamptz`.as('hour'),
            sql`${actor.keyId}::uuid`.as('key_id'),
          ])
          .select(['g.definition_id', 'g.reason'])
          .select([
            sql`case when room.is_left then g.property else '' end`.as('named'),
            sql`sum(g.count)::bigint`.as('total'),
            sql`sum(g.occurrences)::bigint`.as('refused'),
          ])
          .groupBy(['g.definition_id', 'g.reason', 'named'])
          // In one order, so that no two requests wait for each other.
          .orderBy('g.definition_id')
          .orderBy('g.reason')
          .orderBy('named'),
      )
      .onConflict((conflict) =>
        conflict.columns(['organization_id', 'hour', 'definition_id', 'reason', 'property', 'key_id']).doUpdateSet({
          count: sql<number>`event_violation.count + excluded.count`,
          occurrences: sql<number>`event_violation.occurrences + excluded.occurrences`,
        }),
      ),
  );
}

/** Deletes a batch of the counts that are older than 30 days. @returns how many. */
export async function deleteOldViolations(em: EntityManager, at: Date, batch: number): Promise<number> {
  const tables = em.getKysely<Tables>();
  const before = new Date(at.getTime() - KEPT_DAYS * DAY_MS).toISOString();
  const old = tables.selectFrom('event_violation').where('hour', '<', before).orderBy('hour');
  // Of one organization, whose rows are on one shard.
  const first = await old.select('organization_id as organizationId').limit(1).executeTakeFirst();
  if (!first) return 0;
  const { numDeletedRows } = await tables
    .deleteFrom('event_violation')
    .where('organization_id', '=', first.organizationId)
    .where(
      'id',
      'in',
      old.where('organization_id', '=', first.organizationId).select('id').limit(batch).forUpdate().skipLocked(),
    )
    .executeTakeFirst();
  return Number(numDeletedRows);
}

export type EventViolationOrderField = 'HOUR';

/** The counts of the acting organization. */
export const VIOLATIONS = defineList<EventViolationRow, EventViolationFilter, EventViolationOrderField>()(
  db.selectFrom('event_violation as v'),
  {
    name: 'EVENT_VIOLATION',
    alias: 'v',
    columns: COLUMNS,
    reach: inActingOrganization,
    filter: ({ oneOf, between }) => ({
      eventDefinitionIds: oneOf('definitionId', 'uuid'),
      isUnknownEvent: {
        // A constant, because a plan for all values expects that few rows are of other events.
        inText: (isUnknown) => sql`v.definition_id ${sql.raw(isUnknown ? '=' : '<>')} ${sql.lit(UNKNOWN_EVENT)}`,
      },
      reasons: oneOf('reason'),
      ...between('hour', 'hour'),
    }),
    orders: { HOUR: { hour: 'timestamptz' } },
  },
);
