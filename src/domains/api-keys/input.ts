import { z } from 'zod';
import { SCOPES } from '../../core/access.ts';
import { listInput } from '../../core/input/lists.ts';
import { createdBetween } from '../../core/input/moments.ts';
import type { ApiKeyId, OrganizationId, UserId } from '../../core/ids.ts';
import { idSchema, optional, rule, text, withDefault } from '../../core/input/validation.ts';

const name = text({ min: 1, max: 100 });

export const createApiKeyInput = z
  .strictObject({
    name,
    scopes: z
      .array(z.enum(SCOPES))
      .min(1)
      .max(SCOPES.length)
      .transform((scopes) => [...new Set(scopes)]),
    expiresAt: optional(
      z.iso
        .datetime({ offset: true, error: 'must be an ISO 8601 date and time' })
        .transform((value) => new Date(value)),
    ),
    organizationId: optional(idSchema<OrganizationId>()),
    allOrganizations: withDefault(z.boolean(), false),
  })
  .refine(({ organizationId, allOrganizations }) => organizationId === undefined || !allOrganizations, {
    path: ['allOrganizations'],
    ...rule('CONFLICTING', 'must not be given together with organizationId'),
  });
export type CreateApiKeyInput = z.output<typeof createApiKeyInput>;

/** Conditions on a list of keys. All that are given must be met; null is the same as absent; an empty list matches nothing. */
export const apiKeyFilter = z.strictObject({
  includeRevoked: z.boolean().nullish(),
  userIds: z.array(idSchema<UserId>()).max(100).nullish(),
  search: text({ max: 100 }).nullish(),
  ...createdBetween,
});
export type ApiKeyFilter = z.output<typeof apiKeyFilter>;

export const listApiKeysInput = z.strictObject({ ...listInput, includeRevoked: z.boolean().default(false) });

export const renameApiKeyInput = z.strictObject({ apiKeyId: idSchema<ApiKeyId>(), name });
export type RenameApiKeyInput = z.output<typeof renameApiKeyInput>;

export const revokeApiKeyInput = z.strictObject({ apiKeyId: idSchema<ApiKeyId>() });
export type RevokeApiKeyInput = z.output<typeof revokeApiKeyInput>;
