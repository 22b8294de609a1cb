import { describeAccess, refusable } from '../../core/graphql/refusable.ts';
import { OWN_STATEMENT, builder } from '../../core/graphql/builder.ts';
import { ConflictError, NotFoundError } from '../../core/errors.ts';
import { mutation } from '../../core/graphql/mutations.ts';
import { keyFromId, nodeType, toGlobalId, uuidsOf } from '../../core/graphql/nodes.ts';
import { needs, selectedColumns } from '../../core/graphql/selection.ts';
import type { DeletionState } from './entity.ts';
import { cancelUserDeletionInput, deleteUserInput } from './input.ts';
import { cancelUserDeletion, deleteUser, readDeletionJobs } from './operations.ts';
import { READ_DELETION_JOBS } from './policy.ts';
import { type DeletionJobRow, deletionJobRow } from './queries.ts';
import { followDeletionJob } from './subscription.ts';

const DeletionJobStateEnum = builder.enumType('DeletionJobState', {
  description: 'Where a deletion stands.',
  values: {
    QUEUED: {
      value: 'queued',
      description:
        'Waits for a worker. The deletion of an account may wait for the end of the period of grace, and can be cancelled.',
    },
    RUNNING: { value: 'running', description: 'Runs; nothing stops it any more.' },
    DONE: { value: 'done', description: 'The account or organization is deleted.' },
    FAILED: {
      value: 'failed',
      description: 'The deletion was refused when it was about to begin. Nothing was deleted; `error` has the reason.',
    },
    CANCELLED: { value: 'cancelled', description: 'Was called off by the user; nothing was deleted.' },
  } satisfies Record<string, { value: DeletionState; description: string }>,
});

export const DeletionJobType = nodeType<DeletionJobRow>('DeletionJob', {
  description:
    'The deletion of an account or of an organization. Seen by whoever asked for it, with a key that outlives it: of an organization an unbound one, or one of another organization.',
  keyOf: ({ id }) => id,
  load: (context, keys, selected) => readDeletionJobs(context, uuidsOf(keys), selected),
  fields: (t) => ({
    databaseId: t.expose('id', { type: 'UUID', description: 'The id that REST uses: `deletionJobId`.' }),
    deletedOrganizationId: t.id({
      nullable: true,
      description: 'Global id of the organization that is deleted; null for an account.',
      extensions: needs<DeletionJobRow>('organizationId'),
      resolve: ({ organizationId }) => organizationId && toGlobalId('Organization', organizationId),
    }),
    state: t.expose('state', { type: DeletionJobStateEnum, description: 'Where it stands.' }),
    runAfter: t.expose('runAfter', {
      type: 'DateTime',
      description: 'It does not begin earlier; until it begins it can be cancelled.',
    }),
    createdAt: t.expose('createdAt', { type: 'DateTime', description: 'When it was asked for.' }),
    startedAt: t.expose('startedAt', {
      type: 'DateTime',
      nullable: true,
      description: 'When it began; from then on the keys are revoked.',
    }),
    finishedAt: t.expose('finishedAt', {
      type: 'DateTime',
      nullable: true,
      description: 'When it was done, refused or cancelled.',
    }),
    error: t.exposeString('error', { nullable: true, description: 'Why it failed.' }),
  }),
});

builder.queryField('deletionJob', (t) =>
  t.field({
    type: DeletionJobType,
    nullable: true,
    description: 'A deletion that the caller has asked for; null when there is none of this id.',
    extensions: { ...OWN_STATEMENT, ...refusable(readDeletionJobs.access) },
    args: { id: t.arg.id({ required: true, description: 'Either id of the deletion job.' }) },
    resolve: async (_, { id }, context, info) => {
      const ids = uuidsOf([String(keyFromId('DeletionJob', id))]);
      const [job] = await readDeletionJobs(context, ids, selectedColumns<DeletionJobRow>(info, 'DeletionJob'));
      return job ?? null;
    },
  }),
);

builder.subscriptionField('deletionJobChanged', (t) =>
  t.field({
    type: DeletionJobType,
    description: `Follows a deletion that the caller has asked for: as it is now, then each time it has another state. Ends when the deletion is over. That of the caller's account ends with the error \`UNAUTHENTICATED\` once it runs, since their keys are revoked then. ${describeAccess(READ_DELETION_JOBS)}`,
    args: { deletionJobId: t.arg.id({ required: true, description: 'Either id of the deletion job.' }) },
    subscribe: (_, { deletionJobId }, context) => {
      const [id] = uuidsOf([String(keyFromId('DeletionJob', deletionJobId))]);
      if (id === undefined) throw new NotFoundError('deletion job not found');
      return followDeletionJob(context, id);
    },
    resolve: (job) => job,
  }),
);

const DeletionQuestionnaireInput = builder.inputType('DeletionQuestionnaireInput', {
  description: 'Why the user leaves; each part may be left out.',
  fields: (t) => ({
    reasons: t.stringList({ description: 'At most 20, of 1 to 200 characters.' }),
    submittedAt: t.field({ type: 'DateTime', description: 'When the questionnaire was answered.' }),
    otherReason: t.string({ description: 'In their own words; 1 to 2000 characters.' }),
  }),
});

mutation('deleteUser', {
  access: deleteUser.access,
  description:
    "Queues the permanent deletion of the caller's own account. Asking again answers the same job. Refused while the caller is the only admin of an organization that has other members.",
  schema: deleteUserInput,
  ids: { userId: 'User' },
  input: (t) => ({
    userId: t.id({ required: true, description: "Either id of the caller's user." }),
    deletionQuestionnaire: t.field({ type: DeletionQuestionnaireInput, description: 'Why the user leaves.' }),
  }),
  errors: [ConflictError],
  run: async (context, input) => ({ deletionJob: deletionJobRow(await deleteUser(context, input)) }),
  payload: (t) => ({
    deletionJob: t.field({
      type: DeletionJobType,
      description: 'The job, queued or running.',
      resolve: ({ deletionJob }) => deletionJob,
    }),
  }),
});

mutation('cancelUserDeletion', {
  access: cancelUserDeletion.access,
  description: "Calls a deletion of the caller's account off, as long as it is queued: everything stays as it was.",
  schema: cancelUserDeletionInput,
  ids: { deletionJobId: 'DeletionJob' },
  input: (t) => ({ deletionJobId: t.id({ required: true, description: 'Either id of the deletion job.' }) }),
  errors: [NotFoundError, ConflictError],
  run: async (context, input) => ({ deletionJob: deletionJobRow(await cancelUserDeletion(context, input)) }),
  payload: (t) => ({
    deletionJob: t.field({
      type: DeletionJobType,
      description: 'The cancelled job.',
      resolve: ({ deletionJob }) => deletionJob,
    }),
  }),
});
