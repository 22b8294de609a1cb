import { ConflictError, NotFoundError, invalid, notFound } from '../../core/errors.ts';
import type { OrganizationId } from '../../core/ids.ts';
import { enqueueJob } from '../../core/jobs.ts';
import { requireOrganization } from '../../core/access.ts';
import { type OperationContext, defineOperation, guarded } from '../../core/operation.ts';
import { apiKeyTopic, revokeKeysOfOrganization } from '../api-keys/public.ts';
import { deleteInvitationsOf } from '../invitations/public.ts';
import { Organization, actingOrganization, emptyOrganization, lockOrganization } from '../organizations/public.ts';
import { organizationsWithHeldSessions } from '../sessions/public.ts';
import { DeletionJob } from '../user-deletions/public.ts';
import { deleteOrganizationInput } from './input.ts';
import { DELETE_ORGANIZATION } from './policy.ts';
import { type DeletionPreview, findDeletionPreview } from './queries.ts';

/**
 * Ends all access to an organization at once, and queues the deletion of everything in it, as listed in
 * docs/privacy.md. After the answer no key can access the organization and nothing is written in it. The deletion
 * cannot be canceled.
 * @throws ValidationError when `confirmSlug` is not the slug; NotFoundError when another organization is given.
 */
export const deleteOrganization = defineOperation({
  name: 'deleteOrganization',
  description:
    'Deletes the organization that the request acts in, with everything in it. This cannot be undone. Nobody can access the organization any more after the answer; a background job then deletes its records. The accounts of its members are not deleted.',
  access: DELETE_ORGANIZATION,
  input: deleteOrganizationInput,
  errors: [NotFoundError, ConflictError],
  run: async (context, { organizationId, confirmSlug }) => {
    const { em, actor, now, newId } = context;
    const { id } = actingOrganization(actor, organizationId);
    await lockOrganization(em, id);
    const organization = await em.findOne(Organization, { id });
    if (!organization) throw notFound('organization');
    if (confirmSlug !== (organization.slug ?? id))
      throw invalid('confirmSlug', `must be the ${organization.slug == null ? 'id' : 'slug'} of the organization`);
    if ((await organizationsWithHeldSessions(em, [id])).length > 0)
      throw new ConflictError('HELD', 'the organization has held sessions; release them before deleting it');
    const at = now();
    const memberIds = await emptyOrganization(em, id);
    const keyIds = await revokeKeysOfOrganization(em, { organizationId: id, memberIds }, at);
    await deleteInvitationsOf(em, [id]);
    const job = em.create(DeletionJob, {
      id: newId(),
      userId: actor.userId,
      kind: 'organization',
      organizationId: id,
      memberIds,
      state: 'queued',
      questionnaire: null,
      emptiedOrganizations: [id],
      leftOrganizations: [],
      runAfter: at,
      createdAt: at,
    });
    await enqueueJob(em, 'organization-deletion', { id: job.id, data: { deletionJobId: job.id }, delaySeconds: 0 });
    return { job, keyIds, memberIds };
  },
  // The audit log of the organization is deleted too, so this entry belongs to no organization.
  target: ({ job }) => ({ type: 'Organization', id: job.organizationId ?? null, organizationId: null }),
  endsRightsOf: ({ memberIds }) => memberIds,
  afterCommit: async (context, { job, keyIds }) => {
    for (const id of keyIds) context.notifier.publish(apiKeyTopic(id));
    return job;
  },
});

/**
 * What would be deleted together with the acting organization.
 * @throws ValidationError (400) when another organization is given.
 */
export const readDeletionPreview = guarded(
  DELETE_ORGANIZATION,
  async (context: OperationContext, organizationId: OrganizationId): Promise<DeletionPreview> => {
    requireOrganization(context.actor, organizationId);
    const preview = await findDeletionPreview(context, organizationId);
    if (!preview) throw notFound('organization');
    return preview;
  },
);
