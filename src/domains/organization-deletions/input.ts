import { z } from 'zod';
import type { OrganizationId } from '../../core/ids.ts';
import { idSchema, optional, text } from '../../core/input/validation.ts';

/** The optional id must be the acting organization. The slug, or the id when there is no slug, confirms the deletion. */
export const deleteOrganizationInput = z.strictObject({
  organizationId: optional(idSchema<OrganizationId>()),
  confirmSlug: text({ min: 1, max: 255 }),
});
export type DeleteOrganizationInput = z.output<typeof deleteOrganizationInput>;
