import type { EntityManager } from '@mikro-orm/postgresql';
import { type RawBuilder, sql } from 'kysely';
import type { AuditTables } from '../../core/audit.ts';
import type { OrganizationId } from '../../core/ids.ts';
import { counted } from '../../core/postgres/reading/counts.ts';
import { type Readable, queriesOn } from '../../core/postgres/reading/queries.ts';
import type { Sql } from '../../core/postgres/reading/sql.ts';
import type { EventOccurrenceTables } from '../event-occurrences/public.ts';
import type { EventDefinitionTables } from '../event-definitions/public.ts';
import type { OrganizationTables } from '../organizations/public.ts';
import { type SessionTables, selectsSessions } from '../sessions/public.ts';
import type { RetentionTables } from './entity.ts';
import { FOREVER, type Periods } from './periods.ts';

type Tables = RetentionTables &
  OrganizationTables &
  SessionTables &
  EventDefinitionTables &
  EventOccurrenceTables &
  AuditTables;
const db = queriesOn<Tables>();

export async function readPeriods(reader: Sql, organizationId: OrganizationId): Promise<Periods> {
  const row = await reader.first(
    db
      .selectFrom('organization_retention')
      .select(['session_days as sessionDays', 'occurrence_days as occurrenceDays', 'audit_log_days as auditLogDays'])
      .where('organization_id', '=', organizationId),
  );
  return row ?? FOREVER;
}

/** The organizations after an id, with what they have set. */
export const findOrganizations = async (reader: Sql, after: string, limit: number) =>
  reader.all(
    db
      .selectFrom('organization as o')
      .leftJoin('organization_retention as r', 'r.organization_id', 'o.id')
      .select([
        'o.id',
        'r.session_days as sessionDays',
        'r.occurrence_days as occurrenceDays',
        'r.audit_log_days as auditLogDays',
      ])
      .where(sql<boolean>`o.id > ${after}::uuid`)
      .orderBy('o.id')
      .limit(limit),
  );

/** The occurrences \`e\` that are old. The time of receipt counts too, because clients choose when an occurrence happened. */
const isOldOccurrence = (before: Date): RawBuilder<boolean> =>
  sql<boolean>`occurred_at < ${before}::timestamptz and received_at < ${before}::timestamptz`;

/** Before what time each kind is deleted; undefined deletes nothing. */
export interface Cutoffs {
  readonly sessions: Date | undefined;
  readonly occurrences: Date | undefined;
  readonly auditEntries: Date | undefined;
}

export interface RetentionCounts {
  readonly sessions: number;
  readonly occurrences: number;
  readonly auditEntries: number;
}

/** Counts what would be deleted. */
export async function countExpired(
  reader: Sql,
  organizationId: OrganizationId,
  { sessions, occurrences, auditEntries }: Cutoffs,
): Promise<RetentionCounts> {
  const none = sql<number>`0`;
  const countOf = (query: Parameters<typeof counted>[0]) => sql<number>`(${counted(query)})`;
  const row = await reader.first(
    db.selectNoFrom([
      (sessions
        ? countOf(db.selectFrom('session').where(selectsSessions({ organizationId, unchangedSince: sessions })))
        : none
      ).as('sessions'),
      (occurrences
        ? countOf(
            db
              .selectFrom('event_occurrence as e')
              .innerJoin('event_definition as d', (join) =>
                join.onRef('d.id', '=', 'e.definition_id').onRef('d.organization_id', '=', 'e.organization_id'),
              )
              .where('d.organization_id', '=', organizationId)
              .where('d.deleted_at', 'is', null)
              .where('e.organization_id', '=', organizationId)
              .where(isOldOccurrence(occurrences)),
          )
        : none
      ).as('occurrences'),
      (auditEntries
        ? countOf(
            db
              .selectFrom('audit_entry')
              .where('organization_id', '=', organizationId)
              .where('occurred_at', '<', auditEntries.toISOString()),
          )
        : none
      ).as('auditEntries'),
    ]),
  );
  return row ?? { sessions: 0, occurrences: 0, auditEntries: 0 };
}

/** The ids of the definitions of an organization. Occurrences of deleted ones are purged anyway. */
export async function definitionIdsOf(reader: Sql, organizationId: OrganizationId) {
  const rows = await reader.all(
    db
      .selectFrom('event_definition')
      .select('id')
      .where('organization_id', '=', organizationId)
      .where('deleted_at', 'is', null),
  );
  return rows.map(({ id }) => id);
}

const tablesOf = (em: EntityManager) => em.getKysely<Readable<Tables>>();

/** Deletes a batch of the old occurrences of a definition. @returns how many. */
export async function deleteOldOccurrences(
  em: EntityManager,
  { organizationId, definitionId }: { readonly organizationId: OrganizationId; readonly definitionId: string },
  before: Date,
  batch: number,
): Promise<number> {
  const tables = tablesOf(em);
  const old = tables
    .selectFrom('event_occurrence')
    .select(sql`ctid`.as('place'))
    .where(sql<boolean>`definition_id = ${definitionId}::uuid`)
    .where('organization_id', '=', organizationId)
    .where(isOldOccurrence(before))
    .limit(batch);
  const { numDeletedRows } = await tables
    .deleteFrom('event_occurrence')
    // All rows of a definition are in one partition of one shard, so `ctid` identifies them.
    .where(sql<boolean>`definition_id = ${definitionId}::uuid`)
    .where('organization_id', '=', organizationId)
    .where(sql`ctid`, '=', sql`any(array(${old}))`)
    .executeTakeFirst();
  return Number(numDeletedRows);
}
