import { ConflictError, ForbiddenError } from '../../core/errors.ts';
import { requireScopes } from '../../core/access.ts';
import { auditEntry, recordAudit } from '../../core/audit.ts';
import { type OperationContext, defineOperation } from '../../core/operation.ts';
import { type CreatedApiKey, createdApiKeyTarget, issueApiKeyLike } from '../api-keys/public.ts';
import {
  CREATE_ORGANIZATIONS,
  type CreateOrganizationInput,
  type Organization,
  SLUG_CONFLICTS,
  insertOrganization,
  createOrganizationInput,
} from '../organizations/public.ts';

export interface CreatedOrganization {
  readonly organization: Organization;
  /** The key that is bound to the new organization; undefined unless it was requested. */
  readonly created: CreatedApiKey | undefined;
}

export const createOrganization = defineOperation({
  name: 'createOrganization',
  description:
    'Creates an organization and makes the caller its administrator. A person can own at most 20 organizations, as creator or administrator.',
  access: CREATE_ORGANIZATIONS,
  input: createOrganizationInput,
  errors: [ConflictError],
  run: async (context, input: CreateOrganizationInput): Promise<CreatedOrganization> => {
    if (context.settings.organizationCreation === 'operator')
      throw new ForbiddenError('only the operator of this gateway creates organizations');
    if (input.createApiKey) requireScopes(context.actor, ['api_keys.write']);
    const organization = await insertOrganization(context, input);
    return { organization, created: input.createApiKey ? await issueFirstKey(context, organization) : undefined };
  },
  // The audit log entry belongs to the new organization.
  target: ({ organization: { id } }) => ({ type: 'Organization', id, organizationId: id }),
  conflicts: SLUG_CONFLICTS,
});

async function issueFirstKey(context: OperationContext, { id, name }: Organization): Promise<CreatedApiKey> {
  const { em, actor } = context;
  const key = { userId: actor.userId, organizationId: id, name: `First key of ${name}`.slice(0, 100) };
  // The organization must be inserted before the rows that refer to it.
  await em.flush();
  const created = await issueApiKeyLike(context, key);
  await recordAudit(em, auditEntry(context, 'createApiKey', createdApiKeyTarget(created.apiKey)));
  return created;
}
