import { z } from 'zod';
import { expectedUpdatedAtInput } from '../../core/input/expected-version.ts';
import { listInput } from '../../core/input/lists.ts';
import { createdBetween } from '../../core/input/moments.ts';
import { ROLES } from '../../core/access.ts';
import type { OrganizationId } from '../../core/ids.ts';
import { keyPolicyDocument } from './key-policy-document.ts';
import { DEFINITION_DELETIONS } from './entity.ts';
import { WHOLE_DAYS, httpUri, idSchema, optional, rule, text, withDefault } from '../../core/input/validation.ts';

const name = text({ min: 1, max: 100 }).refine(
  (value) => value === '' || value.trim() !== '',
  rule('TOO_SHORT', 'must not be blank', 1),
);

export const SLUG_MAX_LENGTH = 100;
const slug = z
  .string()
  .min(1, 'must not be empty')
  .max(SLUG_MAX_LENGTH)
  .regex(
    /^(?:[a-z0-9]+(?:-[a-z0-9]+)*)?$/,
    'must be lowercase letters and digits in groups separated by single hyphens',
  );

const logoUrl = httpUri({ max: 2048 });

export const createOrganizationInput = z.strictObject({
  name: name.describe('Name of the organization.'),
  slug: optional(slug).describe(
    'Unique slug: lowercase letters and digits in groups separated by single hyphens. When absent, it is generated from the name.',
  ),
});

/** With `createApiKey`, which only GraphQL accepts: the documented REST answer has no field for a key. */
export const createOrganizationWithKeyInput = createOrganizationInput.extend({
  createApiKey: withDefault(z.boolean(), false).describe(
    'Whether to also create an API key that is bound to the new organization, with the scopes and the expiry of the calling key. Needs the scope `api_keys.write`.',
  ),
});
export type CreateOrganizationInput = z.output<typeof createOrganizationInput> & { readonly createApiKey?: boolean };

export const listOrganizationsInput = z.strictObject(listInput);

/** Exactly one of `id` and `slug` identifies the organization. */
export const organizationReference = z
  .strictObject({ id: optional(z.uuid()), slug: optional(text({ min: 1, max: SLUG_MAX_LENGTH })) })
  .refine((given) => (given.id === undefined) !== (given.slug === undefined), {
    path: ['id'],
    ...rule('CONFLICTING', 'give either id or slug'),
  });
export type OrganizationReference = z.output<typeof organizationReference>;

const roles = z.array(z.enum(ROLES)).max(100).nullish();

/** Conditions on a list of organizations. All that are given must be met; null is the same as absent; an empty list matches nothing. */
export const organizationFilter = z
  .strictObject({
    roles: roles.describe('Organizations in which the caller has any of these roles.'),
    search: text({ max: 100 })
      .nullish()
      .describe('Organizations whose name or slug contains this text. Case is ignored; there are no wildcards.'),
    ...createdBetween,
  })
  .describe(
    'Conditions on organizations. An organization is listed when it meets all of them. A condition with an empty list matches nothing.',
  );
export type OrganizationFilter = z.output<typeof organizationFilter>;

export const keyPolicyReference = z.strictObject({
  organizationId: idSchema<OrganizationId>().describe('Id of the organization, which must be the acting one.'),
});

/** An absent field does not change. */
export const updateKeyPolicyInput = keyPolicyReference.extend({
  maxDays: z
    .int()
    .min(1, WHOLE_DAYS)
    .max(3650)
    .nullable()
    .optional()
    .describe(keyPolicyDocument.shape.maxDays.description ?? ''),
  boundOnly: z
    .boolean()
    .optional()
    .describe(keyPolicyDocument.shape.boundOnly.description ?? ''),
  expectedUpdatedAt: expectedUpdatedAtInput,
});

export const updateOrganizationInput = z.strictObject({
  organizationId: idSchema<OrganizationId>().describe('Id of the organization.'),
  name: name.optional().describe('Name of the organization; unchanged when absent.'),
  logoUrl: logoUrl
    .nullable()
    .optional()
    .describe('Address of the logo: http or https; unchanged when absent, cleared by null.'),
  definitionDeletion: z
    .enum(DEFINITION_DELETIONS)
    .optional()
    .describe('Who can delete event definitions; unchanged when absent.'),
  expectedUpdatedAt: expectedUpdatedAtInput,
});
