import { z } from 'zod';
import type { OrganizationId } from '../../core/ids.ts';
import { idSchema, optional, text } from '../../core/validation.ts';

/** The acting organization, named or not; its slug again, or where it has none its id, since this cannot be undone. */
export const deleteOrganizationInput = z.strictObject({
  organizationId: optional(idSchema<OrganizationId>()),
  confirmSlug: text({ min: 1, max: 255 }),
});
export type DeleteOrganizationInput = z.output<typeof deleteOrganizationInput>;
