import { type InferKyselyDB, defineEntity, p } from '@mikro-orm/postgresql';
import type { DeletionJobId, OrganizationId, UserId } from '../../core/ids.ts';
import { columnNames } from '../../core/postgres/reading/queries.ts';
import { DELETION_STATES, type DeletionQuestionnaire, type DeletionState } from './input.ts';

/** By what the occurrences of an object are found. */
export interface ErasedObject {
  readonly objectType: string;
  readonly objectIds: readonly string[];
  readonly emails: readonly string[];
  readonly utks: readonly string[];
}

const DeletionJobSchema = defineEntity({
  name: 'DeletionJob',
  tableName: 'deletion_job',
  properties: {
    /** Also the id of the job in the job queue. */
    id: p.uuid().$type<DeletionJobId>().primary(),
    /** The user who requested the deletion. Not a foreign key, because the row stays when the user is deleted. */
    userId: p.uuid().$type<UserId>(),
    /** The organization to delete, or that of the object; null for an account. Not a foreign key, because the row stays when the organization is deleted. */
    organizationId: p.uuid().$type<OrganizationId>().nullable(),
    /** The members of the organization when its deletion was requested; empty when the deletion is finished. */
    memberIds: p.json<string[]>().default('[]'),
    /** Whether an object is to be deleted, with its occurrences. */
    isOfObject: p.boolean().default(false),
    /** That object; null when the deletion is finished, because its identifiers must not be kept. */
    object: p.json<ErasedObject>().nullable(),
    state: p.enum(DELETION_STATES),
    questionnaire: p.json<DeletionQuestionnaire>().nullable(),
    /** Organizations without members, which are deleted with everything in them. */
    emptiedOrganizations: p.json<string[]>(),
    /** Other organizations that the account was a member of, whose feeds say that it is deleted. */
    leftOrganizations: p.json<string[]>().default('[]'),
    /** The end of the grace period. */
    runAfter: p.datetime(),
    createdAt: p.datetime(),
    startedAt: p.datetime().nullable(),
    finishedAt: p.datetime().nullable(),
    error: p.text().nullable(),
  },
  uniques: [
    {
      name: 'deletion_job_active_unique',
      properties: ['userId'],
      where: `state in ('queued', 'running') and organization_id is null`,
    },
  ],
  indexes: [{ name: 'deletion_job_user_index', properties: ['userId'] }],
});

/** The deletion of an account, an organization or an object. The row stays after the deletion. */
export class DeletionJob extends DeletionJobSchema.class {
  isActive(): boolean {
    return this.state === 'queued' || this.state === 'running';
  }

  start(at: Date): void {
    this.state = 'running';
    this.startedAt = at;
  }

  finish(state: Exclude<DeletionState, 'queued' | 'running'>, at: Date, error: string | null = null): void {
    this.state = state;
    this.finishedAt = at;
    this.error = error;
    this.memberIds = [];
    this.object = null;
  }

  recordLeft(organizationIds: readonly OrganizationId[]): void {
    this.leftOrganizations = [...organizationIds];
  }

  /** Adds organizations to delete to the recorded ones. */
  addEmptied(organizationIds: readonly OrganizationId[]): void {
    this.emptiedOrganizations = [...new Set([...this.emptiedOrganizations, ...organizationIds])];
  }
}
DeletionJobSchema.setClass(DeletionJob);

export type DeletionTables = InferKyselyDB<typeof DeletionJobSchema>;
export const DELETION_JOB_COLUMNS = columnNames<DeletionTables, 'deletion_job'>(DeletionJobSchema, 'deletion_job');
