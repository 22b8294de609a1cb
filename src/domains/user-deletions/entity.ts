import { type InferKyselyDB, defineEntity, p } from '@mikro-orm/postgresql';
import type { DeletionJobId, OrganizationId, UserId } from '../../core/ids.ts';
import { columnNames } from '../../core/postgres/reading/queries.ts';
import { DELETION_KINDS, DELETION_STATES, type DeletionQuestionnaire, type DeletionState } from './input.ts';

/** By what the occurrences of an object are found. */
export interface ErasedObject {
  readonly objectType: string;
  readonly objectIds: readonly string[];
  readonly emails: readonly string[];
  readonly utks: readonly string[];
}

/** Whose private sessions are deleted. */
export interface ErasedMember {
  readonly memberId: UserId;
}

/** What is redacted. */
export interface RedactedText {
  readonly text: string;
}

const DeletionJobSchema = defineEntity({
  name: 'DeletionJob',
  tableName: 'deletion_job',
  properties: {
    /** Also the id of the job in the job queue. */
    id: p.uuid().$type<DeletionJobId>().primary(),
    /** The user who requested the deletion. Not a foreign key, because the row stays when the user is deleted. */
    userId: p.uuid().$type<UserId>(),
    /** What is deleted; null in rows of earlier versions. */
    kind: p.enum(DELETION_KINDS).nullable(),
    /** The organization to delete, or that of what is deleted; null for an account. Not a foreign key, because the row stays when the organization is deleted. */
    organizationId: p.uuid().$type<OrganizationId>().nullable(),
    /** The members of the organization when its deletion was requested; empty when the deletion is finished. */
    memberIds: p.json<string[]>().default('[]'),
    /** Whether something in the organization is to be deleted: earlier versions take it for an object then. */
    isOfObject: p.boolean().default(false),
    /** What that is; null when the deletion is finished, because its identifiers must not be kept. */
    object: p.json<ErasedObject | ErasedMember | RedactedText>().nullable(),
    /** Of a redaction: the sessions that had the text, and those that were left because they are held. */
    redactedSessions: p.integer().nullable(),
    heldSessions: p.integer().nullable(),
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
