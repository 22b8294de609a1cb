import { z } from 'zod';
import { SCOPES } from '../../core/access.ts';
import { listInput } from '../../core/input/lists.ts';
import { createdBetween } from '../../core/input/moments.ts';
import type { ApiKeyId, OrganizationId, ServiceAccountId, UserId } from '../../core/ids.ts';
import { idSchema, optional, rule, text, withDefault } from '../../core/input/validation.ts';

const name = text({ min: 1, max: 100 });
const includeRevoked = z.boolean().describe('Whether revoked keys are listed too.');

const newKey = {
  name: name.describe('The name of the key.'),
  scopes: z
    .array(z.enum(SCOPES))
    .min(1)
    .max(SCOPES.length)
    .transform((scopes) => [...new Set(scopes)])
    .describe('The permissions of the new key: only scopes that the calling key has.'),
  expiresAt: optional(z.iso.datetime({ offset: true }).transform((value) => new Date(value))).describe(
    'When the key expires; must not be later than the expiry of the calling key. When absent, the key expires when the calling key does, or never.',
  ),
};

export const createApiKeyInput = z
  .strictObject({
    ...newKey,
    organizationId: optional(idSchema<OrganizationId>()).describe(
      'Id of the organization to bind the key to. The caller must be a member of it. When absent, the organization that the request acts in.',
    ),
    allOrganizations: withDefault(z.boolean(), false).describe(
      'Whether to create an unbound key, which acts in any organization of its user. Must not be combined with `organizationId`.',
    ),
  })
  .refine(({ organizationId, allOrganizations }) => organizationId === undefined || !allOrganizations, {
    path: ['allOrganizations'],
    ...rule('CONFLICTING', 'must not be given together with organizationId'),
  });

export const createServiceAccountApiKeyInput = z.strictObject({
  serviceAccountId: idSchema<ServiceAccountId>().describe('Id of the service account.'),
  ...newKey,
});

/** Conditions on a list of keys. All that are given must be met; null is the same as absent; an empty list matches nothing. */
export const apiKeyFilter = z
  .strictObject({
    includeRevoked: includeRevoked.nullish().meta({ default: false }),
    ownerIds: z
      .array(idSchema<UserId>())
      .max(100)
      .nullish()
      .describe('Keys of any of these people and service accounts.'),
    userIds: z.array(idSchema<UserId>()).max(100).nullish().describe('Keys of any of these users.'),
    isBound: z.boolean().nullish().describe('Whether only keys of one organization are listed, or only unbound ones.'),
    search: text({ max: 100 })
      .nullish()
      .describe('Keys whose name contains this text. Case is ignored; there are no wildcards.'),
    ...createdBetween,
  })
  .describe(
    'Conditions on API keys. A key is listed when it meets all of them. A condition with an empty list matches nothing.',
  );
export type ApiKeyFilter = z.output<typeof apiKeyFilter>;

export const listApiKeysInput = z.strictObject({ ...listInput, includeRevoked: includeRevoked.default(false) });

const apiKeyId = idSchema<ApiKeyId>().describe('Id of the key.');

export const renameApiKeyInput = z.strictObject({ apiKeyId, name: name.describe('The new name of the key.') });

export const revokeApiKeyInput = z.strictObject({ apiKeyId });
