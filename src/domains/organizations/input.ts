import { z } from 'zod';
import { expectedUpdatedAtInput } from '../../core/input/expected-version.ts';
import { listInput } from '../../core/input/lists.ts';
import { createdBetween } from '../../core/input/moments.ts';
import { ROLES } from '../../core/access.ts';
import type { OrganizationId } from '../../core/ids.ts';
import { httpUri, idSchema, optional, rule, text, withDefault } from '../../core/input/validation.ts';

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

export const createOrganizationInput = z.strictObject({ name, slug: optional(slug) });

/** With `createApiKey`, which only GraphQL accepts: the documented REST answer has no field for a key. */
export const createOrganizationWithKeyInput = createOrganizationInput.extend({
  createApiKey: withDefault(z.boolean(), false),
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
export const organizationFilter = z.strictObject({ roles, search: text({ max: 100 }).nullish(), ...createdBetween });
export type OrganizationFilter = z.output<typeof organizationFilter>;

export const updateOrganizationInput = z.strictObject({
  organizationId: idSchema<OrganizationId>(),
  name: name.optional(),
  logoUrl: logoUrl.nullable().optional(),
  expectedUpdatedAt: expectedUpdatedAtInput,
});
export type UpdateOrganizationInput = z.output<typeof updateOrganizationInput>;
