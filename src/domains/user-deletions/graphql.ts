import { exposed, nullable } from '../../core/graphql/fields.ts';
import { withAccess } from '../../core/graphql/refusable.ts';
import { builder, ownStatements } from '../../core/graphql/builder.ts';
import { NotFoundError } from '../../core/errors.ts';
import { filterType, inputType } from '../../core/graphql/derived-inputs.ts';
import { enumOf } from '../../core/graphql/enums.ts';
import { mutation, one } from '../../core/graphql/mutations.ts';
import { keyFromId, toGlobalId, uuidsOf } from '../../core/graphql/global-ids.ts';
import { entityType, nodeQuery, resolveNode } from '../../core/graphql/nodes.ts';
import { listType } from '../../core/graphql/lists.ts';
import { needs } from '../../core/graphql/selection.ts';
import { DELETION_KINDS, DELETION_STATES, deletionJobFilter, deletionQuestionnaire } from './input.ts';
import { cancelUserDeletion, deleteUser, readDeletionJobs } from './operations.ts';
import { READ_DELETION_JOBS } from './policy.ts';
import type { DeletionJob } from './entity.ts';
import { type DeletionJobRow, deletionJobRow } from './queries.ts';
import { followDeletionJob } from './subscription.ts';
import { deleteOrganizationMemberData, redactOrganization } from './work-in-organization.ts';

const DeletionJobStateEnum = enumOf('DeletionJobState', 'State of a deletion.', DELETION_STATES, {
  queued:
    'The deletion waits for a worker. The deletion of an account also waits for the end of the grace period, and can be canceled until it runs.',
  running: 'The deletion is running and can no longer be canceled.',
  done: 'The account, organization or object is deleted.',
  failed: 'The deletion was refused before it began. Nothing was deleted; `error` contains the reason.',
  cancelled: 'The user canceled the deletion. Nothing was deleted.',
});

const DeletionJobKindEnum = enumOf('DeletionJobKind', 'What a deletion deletes.', DELETION_KINDS, {
  account: 'An account (`deleteUser`).',
  organization: 'An organization (`deleteOrganization`).',
  object: 'The occurrences of an object of events (`deleteObjectOccurrences`).',
  member_data: 'What a person has recorded privately in an organization.',
  redaction: 'A text in all sessions of an organization, which is redacted (`redactOrganization`).',
});

const kindOf = ({ kind, organizationId, isOfObject }: DeletionJobRow) =>
  kind ?? (isOfObject ? 'object' : organizationId === null ? 'account' : 'organization');

export const DeletionJobType = entityType<DeletionJobRow>('DeletionJob', {
  stored: { table: 'deletion_job', organization: null },
  description:
    'The deletion of an account, of an organization, or of something in one, or a redaction. Only the user who requested it can see it. The deletion of an organization revokes its keys, so use an unbound key or a key of another organization to follow it.',
  read: readDeletionJobs,
  databaseId: 'The id that REST uses: `deletionJobId`.',
  fields: (t) => ({
    kind: t.field({
      type: DeletionJobKindEnum,
      description: 'What is deleted.',
      extensions: needs<DeletionJobRow>('kind', 'organizationId', 'isOfObject'),
      resolve: kindOf,
    }),
    subject: t.field({
      type: builder.nodeInterfaceRef(),
      nullable: true,
      description: 'The account or organization. Null once it is gone, and for other kinds.',
      extensions: { ...ownStatements(2), ...needs<DeletionJobRow>('kind', 'organizationId', 'isOfObject', 'userId') },
      resolve: (row, _, context, info) => {
        const kind = kindOf(row);
        if (kind === 'account') return resolveNode({ context, info }, 'User', row.userId);
        return kind === 'organization' ? resolveNode({ context, info }, 'Organization', row.organizationId) : null;
      },
    }),
    redactedSessions: t.exposeInt('redactedSessions', {
      nullable: true,
      description: 'How many sessions had the text of a redaction until now. Null if none had it, and for deletions.',
    }),
    heldSessions: t.exposeInt('heldSessions', {
      nullable: true,
      description:
        'How many sessions a redaction has left because they are held. Null until it is done, and for deletions.',
    }),
    deletedOrganizationId: t.id({
      nullable: true,
      deprecationReason: 'Use `subject` and `kind`. Removed on 2027-12-01.',
      description: 'Global id of the organization to delete. Null for deletions of another kind.',
      extensions: needs<DeletionJobRow>('organizationId', 'isOfObject'),
      resolve: ({ organizationId, isOfObject }) =>
        isOfObject ? null : organizationId && toGlobalId('Organization', organizationId),
    }),
    isOfObject: t.exposeBoolean('isOfObject', {
      deprecationReason: 'Use `kind`. Removed on 2027-12-01.',
      description: 'Whether something in an organization is deleted or redacted; see `kind`.',
    }),
    ...exposed(t, {
      state: [DeletionJobStateEnum, 'State of the deletion.'],
      runAfter: ['DateTime', 'Earliest time at which the deletion begins.'],
      createdAt: ['DateTime', 'When the deletion was requested.'],
      startedAt: [nullable('DateTime'), 'When the deletion began, and the keys were revoked. Null while it is queued.'],
      error: [nullable('String'), 'Why the deletion failed. Null unless the state is `FAILED`.'],
    }),
    finishedAt: t.expose('finishedAt', {
      type: 'DateTime',
      nullable: true,
      description: 'When the deletion was done, failed or canceled. Null while it is queued or running.',
    }),
  }),
});

export const DELETION_JOB_LIST = listType(DeletionJobType, {
  of: 'deletions',
  filter: filterType('DeletionJobFilter', deletionJobFilter),
  conditions: 'Conditions on the deletions. When absent, all deletions are listed.',
  fields: { CREATED_AT: 'When the deletion was requested.' },
  otherwise: { field: 'CREATED_AT', direction: 'DESC' },
});

nodeQuery('deletionJob', DeletionJobType, {
  description: 'A deletion that the caller requested. Null when there is none with this id.',
  of: 'deletion job',
  access: readDeletionJobs.access,
  read: readDeletionJobs,
});

builder.subscriptionField('deletionJobChanged', (t) =>
  t.field({
    type: DeletionJobType,
    extensions: { access: READ_DELETION_JOBS },
    description: withAccess(
      "Sends the current state of a deletion that the caller requested, and then each new state. Ends when the deletion is finished. For the deletion of the caller's account it ends with the error `UNAUTHENTICATED` when the deletion begins, because that revokes the key.",
      READ_DELETION_JOBS,
    ),
    args: { deletionJobId: t.arg.id({ required: true, description: '`id` or `databaseId` of the deletion job.' }) },
    subscribe: (_, { deletionJobId }, context) => {
      const [id] = uuidsOf([String(keyFromId('DeletionJob', deletionJobId))]);
      if (id === undefined) throw new NotFoundError('deletion job not found');
      return followDeletionJob(context, id);
    },
    resolve: (job) => job,
  }),
);

inputType('DeletionQuestionnaireInput', deletionQuestionnaire);

mutation(deleteUser, {
  ids: { userId: 'User' },
  fields: (t) => ({
    userId: t.id({ required: true, description: '`id` or `databaseId` of the caller. Other users are refused.' }),
  }),
  payload: one('deletionJob', DeletionJobType, 'The queued or running job.', deletionJobRow),
});

mutation(cancelUserDeletion, {
  ids: { deletionJobId: 'DeletionJob' },
  payload: one('deletionJob', DeletionJobType, 'The canceled job.', deletionJobRow),
});

interface MemberDataDeletion {
  readonly job: DeletionJob;
}

mutation(deleteOrganizationMemberData, {
  ids: { organizationId: 'Organization', userId: 'User' },
  payload: one('deletionJob', DeletionJobType, 'The queued or running job.', ({ job }: MemberDataDeletion) =>
    deletionJobRow(job),
  ),
});

mutation(redactOrganization, {
  payload: one('deletionJob', DeletionJobType, 'The queued job.', deletionJobRow),
});
