import { type EntityManager, LockMode } from '@mikro-orm/postgresql';
import { z } from 'zod';
import { recordAudit } from '../../core/audit.ts';
import { type JobContext, jobHandler } from '../../core/jobs.ts';
import { jobEntry } from '../../core/operation.ts';
import { apiKeyTopic } from '../api-keys/entity.ts';
import { lockOrganization } from '../organizations/operations.ts';
import { sessionTopic } from '../sessions/operations.ts';
import { DeletedSession, DeletionJob } from './entity.ts';
import { onlyAdminConflict } from './policy.ts';
import { ORGANIZATION_STEPS, type Step, USER_STEPS, purgeEvents } from './steps.ts';

/**
 * Deletes an account. It may end at any point and be run again, by two workers at once even: what is decided is decided in the transaction
 * that begins it, everything after that is repeated until there is nothing left, and the transaction that finds nothing left ends it.
 */
export const userDeletionJob = jobHandler({
  queue: 'user-deletion',
  data: z.strictObject({ deletionJobId: z.uuid() }),
  run: async (context, { deletionJobId }) => {
    if (!(await begin(context, deletionJobId))) return;
    do {
      await sweep(context, deletionJobId);
      await purge(context, deletionJobId);
    } while (!(await finish(context, deletionJobId)));
  },
});

/**
 * The point of no return, all at once: keys answer 401, the user has neither name nor memberships, and organizations without members are
 * noted. Before that the rule about only admins is checked again; broken, it fails the deletion, and nothing has changed.
 * @returns whether there is anything to do.
 */
async function begin({ em, now, newId, notifier }: JobContext, id: string): Promise<boolean> {
  const revoked = await em.fork().transactional(async (transaction) => {
    const job = await lockJob(transaction, id);
    if (!job?.isActive()) return undefined;
    if (job.state === 'running') return [];
    await transaction.execute('select 1 from user_account where id = ? for no key update', [job.userId]);
    await lockOrganizationsOf(transaction, job.userId);
    const conflict = await onlyAdminConflict(transaction, job.userId);
    if (conflict) {
      job.finish('failed', now(), conflict.message);
      return undefined;
    }
    job.start(now());
    const left = await leaveOrganizations(transaction, job.userId);
    job.addEmptied(left.emptied);
    for (const organizationId of left.others)
      await recordAudit(
        transaction,
        jobEntry({ now, newId }, id, 'deleteUser', { type: 'User', id: null, organizationId }),
      );
    await transaction.execute('update user_account set email = null, name = null where id = ?', [job.userId]);
    return transaction.execute<{ id: string }[]>(
      'update api_key set revoked_at = ? where user_id = ? and revoked_at is null returning id',
      [now(), job.userId],
    );
  });
  for (const key of revoked ?? []) notifier.publish(apiKeyTopic(key.id));
  return revoked !== undefined;
}

function lockJob(em: EntityManager, id: string): Promise<DeletionJob | null> {
  return em.findOne(DeletionJob, { id }, { lockMode: LockMode.PESSIMISTIC_WRITE });
}

/** In the order of their ids, so that two deletions do not wait for each other. */
async function lockOrganizationsOf(em: EntityManager, userId: string): Promise<void> {
  const memberships = await em.execute<{ id: string }[]>(
    'select organization_id as id from membership where user_id = ? order by organization_id',
    [userId],
  );
  for (const { id } of memberships) await lockOrganization(em, id);
}

/** @returns the organizations that have no member any more, and the others. Without a slug nobody can be added to the former by name either. */
async function leaveOrganizations(em: EntityManager, userId: string): Promise<{ emptied: string[]; others: string[] }> {
  const left = await em.execute<{ id: string }[]>(
    'delete from membership where user_id = ? returning organization_id as id',
    [userId],
  );
  if (left.length === 0) return { emptied: [], others: [] };
  const emptied = await em.execute<{ id: string }[]>(
    `update organization o set slug = null where id = any(?::uuid[]) and not exists (select from membership m where m.organization_id = o.id) returning id`,
    [`{${left.map(({ id }) => id).join(',')}}`],
  );
  const ids = emptied.map(({ id }) => id);
  return { emptied: ids, others: left.flatMap(({ id }) => (ids.includes(id) ? [] : [id])) };
}

/** Every step, each in as many transactions as it takes. */
async function sweep(context: JobContext, deletionJobId: string): Promise<void> {
  const { em } = context;
  const { userId, emptiedOrganizations } = await em.fork().findOneOrFail(DeletionJob, { id: deletionJobId });
  for (const step of USER_STEPS) await exhaust(context, step, { deletionJobId, id: userId });
  for (const id of emptiedOrganizations) {
    for (const step of ORGANIZATION_STEPS) await exhaust(context, step, { deletionJobId, id });
  }
}

async function exhaust(
  { em, signal, notifier }: JobContext,
  step: Step,
  target: Parameters<Step['run']>[1],
): Promise<void> {
  for (;;) {
    signal.throwIfAborted();
    const ids = await em.fork().transactional((transaction) => step.run(transaction, target));
    if (ids.length === 0) return;
    // Who follows a session that is gone is told so.
    if (step.endsSessions) for (const id of ids) notifier.publish(sessionTopic(id));
  }
}

/** The events of the sessions that are gone, in batches. */
async function purge({ em, signal }: JobContext, deletionJobId: string): Promise<void> {
  for (;;) {
    const sessions = await em.fork().find(DeletedSession, { deletionJob: deletionJobId }, { limit: 100 });
    if (sessions.length === 0) return;
    for (const { sessionId } of sessions) {
      do signal.throwIfAborted();
      while ((await purgeEvents(em.fork(), sessionId)) > 0);
    }
  }
}

/**
 * Deletes the organizations and the user, unless something has come to be meanwhile by a request that was on its way: with their rows
 * locked nothing can refer to them any more, so what is found now is all there is.
 * @returns whether the deletion is over.
 */
async function finish({ em, now }: JobContext, id: string): Promise<boolean> {
  return em.fork().transactional(async (transaction) => {
    const job = await lockJob(transaction, id);
    if (job?.state !== 'running') return true;
    const { userId, emptiedOrganizations } = job;
    await transaction.execute('select 1 from user_account where id = ? for update', [userId]);
    for (const organizationId of emptiedOrganizations.toSorted())
      await transaction.execute('select 1 from organization where id = ? for update', [organizationId]);
    job.addEmptied((await leaveOrganizations(transaction, userId)).emptied);
    let found = job.emptiedOrganizations.length - emptiedOrganizations.length;
    for (const step of USER_STEPS) found += (await step.run(transaction, { deletionJobId: id, id: userId })).length;
    for (const organizationId of emptiedOrganizations) {
      for (const step of ORGANIZATION_STEPS)
        found += (await step.run(transaction, { deletionJobId: id, id: organizationId })).length;
    }
    if (found > 0) return false;
    for (const organizationId of emptiedOrganizations)
      await transaction.execute('delete from organization where id = ?', [organizationId]);
    await transaction.execute('delete from user_account where id = ?', [userId]);
    job.finish('done', now());
    return true;
  });
}
