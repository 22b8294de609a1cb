import type { EntityManager } from '@mikro-orm/postgresql';
import type { DeletionJobId } from '../../core/ids.ts';
import type { OperationContext } from '../../core/operation.ts';
import { defineList } from '../../core/postgres/reading/lists.ts';
import { type Readable, type RowOf, anyOf, asRow, queriesOn } from '../../core/postgres/reading/queries.ts';
import { DELETION_JOB_COLUMNS, type DeletionJob, type DeletionTables } from './entity.ts';
import type { DeletionJobFilter } from './input.ts';

const db = queriesOn<DeletionTables>();

/** A row has the selected columns only; without a selection it has all columns. */
export type DeletionJobRow = Omit<RowOf<Readable<DeletionTables>['deletion_job']>, 'memberIds' | 'object'>;

const SHOWN = DELETION_JOB_COLUMNS.filter(
  (name): name is keyof DeletionJobRow => name !== 'memberIds' && name !== 'object',
);

/** The deletions that the caller requested. */
export const DELETION_JOBS = defineList<DeletionJobRow, DeletionJobFilter, 'CREATED_AT'>()(
  db.selectFrom('deletion_job as j'),
  {
    name: 'DELETION_JOB',
    alias: 'j',
    columns: SHOWN,
    reach: ({ actor: { userId } }) => ({ all: { userId } }),
    filter: ({ oneOf, between }) => ({ states: oneOf('state'), ...between('created', 'createdAt') }),
    orders: { CREATED_AT: { createdAt: 'timestamptz' } },
  },
);

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
export const deletionJobRow = (job: DeletionJob): DeletionJobRow => asRow(job, SHOWN);
