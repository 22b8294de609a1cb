import { sql } from 'kysely';
import { z } from 'zod';
import { type Actor, operatorIn, requireOrganization } from '../../core/access.ts';
import { ConflictError, NotFoundError, notFound } from '../../core/errors.ts';
import type { DeletionJobId, OrganizationId, SessionId, UserId } from '../../core/ids.ts';
import { idSchema } from '../../core/input/validation.ts';
import { type JobContext, type Queue, enqueueJob, jobHandler } from '../../core/jobs.ts';
import { SMALL_DELETION_BATCH } from '../../core/module.ts';
import { type OperationContext, defineOperation, unchanged } from '../../core/operation.ts';
import { queriesOn } from '../../core/postgres/reading/queries.ts';
import { FormerMembership } from '../memberships/public.ts';
import { actingOrganization } from '../organizations/public.ts';
import { purgeSessions, redactIn } from '../session-events/public.ts';
import { type SessionTables, deleteSessions, sessionsTopic } from '../sessions/public.ts';
import { User } from '../users/public.ts';
import { deleteContents, runDeletion } from './deletion-operations.ts';
import { DeletionJob, type ErasedMember, type RedactedText } from './entity.ts';
import { deleteMemberDataInput, redactOrganizationInput } from './input.ts';
import { queueDeletion } from './operations.ts';
import { DELETE_MEMBER_DATA, REDACT_ORGANIZATION } from './policy.ts';

/** What administrators delete and redact in an organization that stays. */

const db = queriesOn<SessionTables>();
const data = z.strictObject({ deletionJobId: idSchema<DeletionJobId>() });

/** Queues a job of the caller, in the transaction of the caller. */
async function queueWork(
  { em, actor, now, newId }: OperationContext,
  queue: Queue,
  work: { readonly kind: 'member_data' | 'redaction'; readonly object: ErasedMember | RedactedText },
): Promise<DeletionJob> {
  const at = now();
  const job = em.create(DeletionJob, {
    ...work,
    id: newId(),
    userId: actor.userId,
    organizationId: requireOrganization(actor).id,
    isOfObject: true,
    state: 'queued',
    questionnaire: null,
    emptiedOrganizations: [],
    leftOrganizations: [],
    runAfter: at,
    createdAt: at,
  });
  await enqueueJob(em, queue, { id: job.id, data: { deletionJobId: job.id }, delaySeconds: 0 });
  return job;
}

export const deleteOrganizationMemberData = defineOperation({
  name: 'deleteOrganizationMemberData',
  description:
    'Queues the permanent deletion of what a person has recorded privately in the organization: their private sessions, but those that are held. The membership stays; somebody who has left is no longer listed. With `account` the account is deleted with everything of the person, as `deleteUser` does, without its grace period; 409 for a person who belongs to another organization, too. For administrators; also for people who have left.',
  access: DELETE_MEMBER_DATA,
  input: deleteMemberDataInput,
  errors: [NotFoundError, ConflictError],
  run: async (context, { organizationId, userId, account }) => {
    const { em, actor } = context;
    actingOrganization(actor, organizationId);
    const user = await em.findOne(User, { id: userId });
    const places = user === null ? [] : await placesOf(context, userId);
    if (user === null || !places.some(({ id }) => id === organizationId)) throw notFound('member');
    if (!account)
      return {
        job: await queueWork(context, 'member-data-deletion', { kind: 'member_data', object: { memberId: userId } }),
        user,
      };
    if (places.some(({ id, isMember }) => isMember && id !== organizationId))
      throw new ConflictError('WRONG_STATE', 'the person belongs to other organizations, too; leave out account');
    const { job, isNew } = await queueDeletion(context, userId, { delaySeconds: 0 });
    return isNew ? { job, user } : unchanged({ job, user });
  },
  target: ({ job, user }, { account }) =>
    account ? { type: 'DeletionJob', id: job.id } : { type: 'User', id: user.id, label: user.label() },
});

/** The organizations to which a person belongs or belonged, suspended or not, or in which they have sessions. */
async function placesOf({ em }: OperationContext, userId: UserId) {
  const { rows } = await sql<{ id: OrganizationId; isMember: boolean }>`
    select organization_id as id, true as "isMember" from membership where user_id = ${userId}
    union all select organization_id, true from suspended_membership where user_id = ${userId}
    union all select organization_id, false from former_membership where user_id = ${userId}
    union all select distinct organization_id, false from session where creator_id = ${userId}`.execute(em.getKysely());
  return rows;
}

export const memberDataDeletionJob = jobHandler({
  queue: 'member-data-deletion',
  data,
  run: (context, { deletionJobId }) =>
    runDeletion(context, deletionJobId, async ({ organizationId, object }) => {
      if (organizationId == null || object == null || !('memberId' in object)) return;
      const which = { privateOf: object.memberId, within: organizationId };
      const batch = { batch: SMALL_DELETION_BATCH, deletionJobId, reason: 'requested' as const };
      const run = ({ em }: Pick<JobContext, 'em'>) => deleteSessions(em, which, batch);
      await deleteContents(context, [{ name: 'private sessions', run }], { deletionJobId, id: object.memberId });
      await purgeSessions(context, { deletionJobId });
      const place = { organization: organizationId, user: object.memberId };
      await context.em.fork().nativeDelete(FormerMembership, place);
    }),
});

export const redactOrganization = defineOperation({
  name: 'redactOrganization',
  description:
    'Queues a redaction: each occurrence of a text in all sessions of the organization becomes `[redacted]`, where `redactSessionEvents` replaces it. Held sessions are left and counted.',
  access: REDACT_ORGANIZATION,
  input: redactOrganizationInput,
  run: (context, { text }) => queueWork(context, 'organization-redaction', { kind: 'redaction', object: { text } }),
  target: ({ id }) => ({ type: 'DeletionJob', id }),
});

export const organizationRedactionJob = jobHandler({
  queue: 'organization-redaction',
  data,
  run: (context, { deletionJobId }) =>
    runDeletion(context, deletionJobId, async ({ organizationId, object }) => {
      if (organizationId == null || object == null || !('text' in object)) return undefined;
      const actor = operatorIn({ id: organizationId, number: 0 });
      let heldSessions = 0;
      for (let ids = await sessionsAfter(context, organizationId); ids.length > 0;) {
        for (const sessionId of ids) {
          context.signal.throwIfAborted();
          const found = await redactSession(context, actor, { sessionId, organizationId, text: object.text });
          if (found === 'held') heldSessions += 1;
          if (found === 'redacted') await countRedacted(context, deletionJobId);
        }
        ids = await sessionsAfter(context, organizationId, ids.at(-1));
      }
      context.notifier.publish(sessionsTopic(organizationId));
      return { heldSessions };
    }),
});

async function sessionsAfter(
  { sql: reader }: JobContext,
  organizationId: OrganizationId,
  after?: SessionId,
): Promise<SessionId[]> {
  const sessions = db.selectFrom('session').select('id').where('organization_id', '=', organizationId);
  const next = after === undefined ? sessions : sessions.where('id', '>', after);
  return (await reader.primary.all(next.orderBy('id').limit(SMALL_DELETION_BATCH))).map(({ id }) => id);
}

async function redactSession(
  { em, now }: JobContext,
  actor: Actor,
  { text, ...place }: { readonly sessionId: SessionId; readonly organizationId: OrganizationId; readonly text: string },
): Promise<'held' | 'redacted' | 'none'> {
  try {
    const by = {
      actor,
      now,
      transact: <Result>(run: (inner: JobContext['em']) => Promise<Result>) => em.fork().transactional(run),
    };
    const { redactedTexts } = await redactIn(by, place, { text });
    return redactedTexts > 0 ? 'redacted' : 'none';
  } catch (error) {
    if (error instanceof ConflictError) return 'held';
    // Deleted meanwhile.
    if (error instanceof NotFoundError) return 'none';
    throw error;
  }
}

async function countRedacted({ em }: JobContext, id: DeletionJobId): Promise<void> {
  await sql`update deletion_job set redacted_sessions = coalesce(redacted_sessions, 0) + 1 where id = ${id}`.execute(
    em.fork().getKysely(),
  );
}
