import type { EntityManager } from '@mikro-orm/postgresql';

import type { OperationContext } from '../../core/operation.ts';
import { type Readable, type RowOf, anyOf, asRow, columns, queriesOn } from '../../core/postgres/queries.ts';
import { type Columns, withColumns } from '../../core/postgres/columns.ts';
import { DELETION_JOB_COLUMNS, type DeletionJob, type DeletionTables } from './entity.ts';

const db = queriesOn<DeletionTables>();

/** Rows have the columns that were asked for; without a selection they have all. */
export type DeletionJobRow = Omit<RowOf<Readable<DeletionTables>['deletion_job']>, 'memberIds'>;

const SHOWN = DELETION_JOB_COLUMNS.filter((name): name is keyof DeletionJobRow => name !== 'memberIds');

/** Those of the ids that are deletions which the caller has asked for, in no particular order. */
export function findDeletionJobs(
  { actor, sql: reader }: OperationContext,
  ids: readonly string[],
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

/** A version of the present state of each deletion: two states differ in it. */
export async function readDeletionJobVersions(
  { sql: reader }: Pick<OperationContext, 'sql'>,
  ids: readonly string[],
): Promise<Map<string, string>> {
  const rows = await reader.all(
    db.selectFrom('deletion_job as j').select(['j.id', 'j.state as version']).where('j.id', '=', anyOf('uuid', ids)),
  );
  return new Map(rows.map(({ id, version }) => [id, version]));
}

/** How long it is kept why somebody has left, once their deletion is over. */
export const QUESTIONNAIRE_DAYS = 30;

/** Forgets a batch of the questionnaires of deletions that ended before. @returns how many. */
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

/** A deletion that was just written, as it will be read. */
export function deletionJobRow(job: DeletionJob): DeletionJobRow {
  return asRow(job, SHOWN);
}
