import { newValues } from '../../core/audit.ts';
import { ConflictError, NotFoundError, notFound } from '../../core/errors.ts';
import { isEmptyUpdate } from '../../core/input/expected-version.ts';
import { givenNames } from '../../core/keys-of.ts';
import { defineOperation, unchanged } from '../../core/operation.ts';
import type { KeyPolicy } from './key-policy-document.ts';
import { keyPolicyReference, updateKeyPolicyInput } from './input.ts';
import { readOrganizations } from './operations.ts';
import { lockActing } from './lock.ts';
import { ADMINISTER_ORGANIZATION, actingOrganization } from './policy.ts';

/** Which API keys act in an organization. Sign-ins and connected apps are no keys. */

interface Stored {
  readonly keyMaxDays?: number | null | undefined;
  readonly keysBoundOnly: boolean;
}

const policyOf = ({ keyMaxDays = null, keysBoundOnly }: Stored): KeyPolicy => ({
  maxDays: keyMaxDays,
  boundOnly: keysBoundOnly,
});

export const readOrganizationKeyPolicy = defineOperation({
  name: 'readOrganizationKeyPolicy',
  description: 'Reads which API keys people and service accounts can create and use in the organization.',
  access: ADMINISTER_ORGANIZATION,
  input: keyPolicyReference,
  errors: [NotFoundError],
  run: async (context, { organizationId }): Promise<KeyPolicy> => {
    const { id } = actingOrganization(context.actor, organizationId);
    const [stored] = await readOrganizations(context, [id], ['keyMaxDays', 'keysBoundOnly']);
    if (!stored) throw notFound('organization');
    return policyOf(stored);
  },
});

export const updateOrganizationKeyPolicy = defineOperation({
  name: 'updateOrganizationKeyPolicy',
  description:
    'Changes which API keys people and service accounts can create and use in the organization. An absent field does not change; null allows any age. Keys that exist act there no longer when they are older.',
  access: ADMINISTER_ORGANIZATION,
  input: updateKeyPolicyInput,
  errors: [NotFoundError, ConflictError],
  run: async (context, { organizationId, expectedUpdatedAt, ...changes }) => {
    const organization = await lockActing(context, { organizationId, expectedUpdatedAt });
    if (changes.maxDays !== undefined) organization.keyMaxDays = changes.maxDays;
    if (changes.boundOnly !== undefined) organization.keysBoundOnly = changes.boundOnly;
    const result = { organization, ...policyOf(organization) };
    if (isEmptyUpdate(changes)) return unchanged(result);
    organization.updatedAt = context.now();
    return result;
  },
  target: ({ organization: { id } }, { organizationId: _id, expectedUpdatedAt: _expected, ...changes }) => ({
    type: 'Organization',
    id,
    changedFields: givenNames(changes),
    detail: newValues(changes, ['maxDays', 'boundOnly']),
  }),
});
