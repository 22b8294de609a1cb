import { createHash } from 'node:crypto';
import { z } from 'zod';
import { requireOrganization } from '../../core/access.ts';
import { ConflictError, limitReached } from '../../core/errors.ts';
import type { DeletionJobId } from '../../core/ids.ts';
import { idSchema } from '../../core/input/validation.ts';
import { type JobContext, enqueueJob, jobHandler } from '../../core/jobs.ts';
import { defineOperation } from '../../core/operation.ts';
import { eraseLateAnswers } from '../../core/stored-answers.ts';
import { WORK } from '../../core/work-budget.ts';
import { DeletionJob, runDeletion } from '../user-deletions/public.ts';
import { type DeleteObjectOccurrencesInput, FORMS, deleteObjectOccurrencesInput } from './input.ts';
import { DELETE_OBJECTS } from './policy.ts';
import { definitionsOfObjects, deleteIdentifiersOfObject, deleteOccurrencesOf, findObject } from './object-queries.ts';

/** Erases an object: its occurrences and its registered identifiers. */

export const deleteObjectOccurrences = defineOperation({
  name: 'deleteObjectOccurrences',
  description:
    'Queues the permanent deletion of all occurrences of an object that were received until now, with their deduplication keys, and of its registered identifiers. An e-mail address or token is also that of the contact for whom it is registered as `email` or `utk`, and a contact has its registered ones. A background job deletes them. What is received after the request stays.',
  access: DELETE_OBJECTS,
  input: deleteObjectOccurrencesInput,
  errors: [ConflictError],
  run: async ({ em, actor, now, newId }, input) => {
    const organizationId = requireOrganization(actor).id;
    // Resolved now, because the identifiers can change before the job runs.
    const object = await findObject(em, organizationId, input);
    if (object.emails.length + object.utks.length > WORK.erasedIdentifiers)
      throw limitReached(
        WORK.erasedIdentifiers,
        `the contact has more than ${WORK.erasedIdentifiers} registered e-mail addresses and tokens; remove some of them, and delete their occurrences by email or utk`,
      );
    const at = now();
    const job = em.create(DeletionJob, {
      id: newId(),
      userId: actor.userId,
      organizationId,
      object,
      kind: 'object',
      isOfObject: true,
      state: 'queued',
      questionnaire: null,
      emptiedOrganizations: [],
      leftOrganizations: [],
      runAfter: at,
      createdAt: at,
    });
    await enqueueJob(em, 'object-deletion', { id: job.id, data: { deletionJobId: job.id }, delaySeconds: 0 });
    return { job, digest: digestOf(input) };
  },
  target: ({ job, digest }) => ({ type: 'DeletionJob', id: job.id, detail: digest }),
  afterCommit: async (_, { job }) => job,
});

/** For the audit log, which never has the identifier. */
function digestOf(input: DeleteObjectOccurrencesInput): string {
  const name = FORMS.find((form) => input[form] !== undefined) ?? 'objectId';
  const digest = createHash('sha256')
    .update(input[name] ?? '')
    .digest('hex');
  return `SHA-256 of ${name}: ${digest}`;
}

/** It can be interrupted at any point and run again, even by two workers at once: what to delete was decided by the request. */
export const objectDeletionJob = jobHandler({
  queue: 'object-deletion',
  data: z.strictObject({ deletionJobId: idSchema<DeletionJobId>() }),
  run: (context, { deletionJobId }) => runDeletion(context, deletionJobId, (job) => deleteObject(context, job)),
});

async function deleteObject({ em, sql, signal }: JobContext, job: DeletionJob): Promise<void> {
  const { organizationId, object, createdAt: until } = job;
  if (organizationId == null || object == null || !('objectIds' in object)) return;
  const exhaust = async (deleteSome: () => Promise<number>) => {
    do signal.throwIfAborted();
    while ((await deleteSome()) > 0);
  };
  const values = [
    ['object_id', object.objectIds],
    ['email', object.emails],
    ['utk', object.utks],
  ] as const;
  for (const definitionId of await definitionsOfObjects(sql.primary, organizationId, object.objectType))
    for (const [column, given] of values)
      if (given.length > 0)
        await exhaust(() => deleteOccurrencesOf(em.fork(), { organizationId, definitionId, column, given, until }));
  await exhaust(() => deleteIdentifiersOfObject(em.fork(), organizationId, object, until));
  // Of changes whose answers have occurrences or identifiers.
  await eraseLateAnswers(em.fork(), organizationId, []);
}
