import type { EntityManager } from '@mikro-orm/postgresql';
import type { DeletionJobId } from '../../core/ids.ts';
import type { OperationContext } from '../../core/operation.ts';
import { type Readable, type RowOf, anyOf, asRow, columns, queriesOn } from '../../core/postgres/reading/queries.ts';
import { type Columns, withColumns } from '../../core/postgres/reading/columns.ts';
import { countOf } from '../../core/postgres/reading/counts.ts';
import { type Order, type Page, type PageArguments, orderingBy, planPage } from '../../core/postgres/reading/keyset.ts';
import { DELETION_JOB_COLUMNS, type DeletionJob, type DeletionTables } from './entity.ts';
import type { DeletionJobFilter } from './input.ts';

const db = queriesOn<DeletionTables>();

/** A row has the selected columns only; without a selection it has all columns. */
export type DeletionJobRow = Omit<RowOf<Readable<DeletionTables>['deletion_job']>, 'memberIds'>;

const SHOWN = DELETION_JOB_COLUMNS.filter((name): name is keyof DeletionJobRow => name !== 'memberIds');

/** The deletions with these ids that the caller requested, in any order. */
export function findDeletionJobs(
  { actor, sql: reader }: OperationContext,
  ids: readonly DeletionJobId[],
  asked?: Columns<DeletionJobRow>,
): Promise<DeletionJobRow[]> {
  return reader.all(
    db
      .selectFrom('deletion_job as j')
      .select(columns('j', withColumns<DeletionJobRow>(asked, SHOWN, 'id')))
      .where('j.id', '=', anyOf('uuid', ids))
      .where('j.user_id', '=', actor.userId),
  );
}

export interface DeletionJobList {
  readonly filter: DeletionJobFilter;
  readonly order: Order<'CREATED_AT'>;
  readonly page: PageArguments;
}

const ORDERED_BY = {
  name: 'DELETION_JOB',
  prefix: 'j.',
  columns: { CREATED_AT: { property: 'createdAt', type: 'timestamptz' } },
} as const;

/** The deletions that the caller requested. */
function deletionsOf({ actor }: OperationContext, { states, createdFrom, createdBefore }: DeletionJobFilter) {
  let jobs = db.selectFrom('deletion_job as j').where('j.user_id', '=', actor.userId);
  if (states != null) jobs = jobs.where('j.state', '=', anyOf('text', states));
  if (createdFrom != null) jobs = jobs.where('j.created_at', '>=', createdFrom);
  if (createdBefore != null) jobs = jobs.where('j.created_at', '<', createdBefore);
  return jobs;
}

export async function pageOfDeletionJobs(
  context: OperationContext,
  { filter, order, page }: DeletionJobList,
  asked?: Columns<DeletionJobRow>,
): Promise<Page<DeletionJobRow>> {
  const ordering = orderingBy<DeletionJobRow, 'CREATED_AT'>(ORDERED_BY, order);
  const plan = planPage(ordering, page);
  const names = withColumns<DeletionJobRow>(asked, SHOWN, 'id', ordering.property);
  const jobs = deletionsOf(context, filter).select(columns('j', names));
  return plan.toPage(await context.sql.page(plan.apply(jobs)));
}

export function countDeletionJobs(context: OperationContext, filter: DeletionJobFilter): Promise<number> {
  return countOf(context.sql, deletionsOf(context, filter));
}

/** A version of each deletion, which changes with its state. */
export async function readDeletionJobVersions(
  { sql: reader }: Pick<OperationContext, 'sql'>,
  ids: readonly DeletionJobId[],
): Promise<Map<DeletionJobId, string>> {
  const rows = await reader.all(
    db.selectFrom('deletion_job as j').select(['j.id', 'j.state as version']).where('j.id', '=', anyOf('uuid', ids)),
  );
  return new Map(rows.map(({ id, version }) => [id, version]));
}

/** How many days the questionnaire is stored after the deletion is finished. */
export const QUESTIONNAIRE_DAYS = 30;

/** Deletes a batch of the questionnaires of deletions that finished before a time. @returns how many were deleted. */
export async function forgetQuestionnaires(em: EntityManager, endedBefore: Date, batch: number): Promise<number> {
  const tables = em.getKysely<Readable<DeletionTables>>();
  const expired = tables
    .selectFrom('deletion_job')
    .select('id')
    .where('questionnaire', 'is not', null)
    .where('finished_at', '<', endedBefore.toISOString())
    .limit(batch);
  const forgotten = await tables
    .updateTable('deletion_job')
    .set({ questionnaire: null })
    .where('id', 'in', expired)
    .returning('id')
    .execute();
  return forgotten.length;
}

/** The row of a deletion that was just written. */
export function deletionJobRow(job: DeletionJob): DeletionJobRow {
  return asRow(job, SHOWN);
}
