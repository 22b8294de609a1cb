import { type InferKyselyDB, defineEntity, p } from '@mikro-orm/postgresql';
import type { DeletionJobId, OrganizationId, SessionId, UserId } from '../../core/ids.ts';
import { columnNames } from '../../core/postgres/queries.ts';
import type { DeletionQuestionnaire } from './input.ts';

export const DELETION_STATES = ['queued', 'running', 'done', 'failed', 'cancelled'] as const;
export type DeletionState = (typeof DELETION_STATES)[number];

const DeletionJobSchema = defineEntity({
  name: 'DeletionJob',
  tableName: 'deletion_job',
  properties: {
    /** Also the id of the job in the queue. */
    id: p.uuid().$type<DeletionJobId>().primary(),
    /** Who asked for it: of an account, its user. No relation: it outlives the user. */
    userId: p.uuid().$type<UserId>(),
    /** Of the deletion of an organization, which one; null for an account. No relation: it outlives the organization. */
    organizationId: p.uuid().$type<OrganizationId>().nullable(),
    /** Who were members of the organization when its deletion was asked for; empty once it is over. */
    memberIds: p.json<string[]>().default('[]'),
    state: p.enum(DELETION_STATES),
    questionnaire: p.json<DeletionQuestionnaire>().nullable(),
    /** Organizations without members, which are deleted with everything in them. */
    emptiedOrganizations: p.json<string[]>(),
    /** The period of grace ends here. */
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

/** The deletion of one user's account, or of an organization: the record of it stays. */
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
  }

  /** Adds organizations that are to be deleted, and forgets none. */
  addEmptied(organizationIds: readonly OrganizationId[]): void {
    this.emptiedOrganizations = [...new Set([...this.emptiedOrganizations, ...organizationIds])];
  }
}
DeletionJobSchema.setClass(DeletionJob);

const DeletedSessionSchema = defineEntity({
  name: 'DeletedSession',
  tableName: 'deleted_session',
  properties: {
    sessionId: p.uuid().$type<SessionId>().primary(),
    organizationId: p.uuid().$type<OrganizationId>(),
    deletionJob: () => p.manyToOne(DeletionJob).deleteRule('cascade'),
  },
  indexes: [{ name: 'deleted_session_job_index', properties: ['deletionJob'] }],
});

/** A session that is gone, with everything but its events: these are many, and follow in batches. */
export class DeletedSession extends DeletedSessionSchema.class {}
DeletedSessionSchema.setClass(DeletedSession);

export type DeletionTables = InferKyselyDB<typeof DeletionJobSchema>;
export const DELETION_JOB_COLUMNS = columnNames<DeletionTables, 'deletion_job'>(DeletionJobSchema, 'deletion_job');
