import { z } from 'zod';
import type { OrganizationId } from '../../core/ids.ts';
import { idSchema, optional, text } from '../../core/input/validation.ts';

/** The optional id must be the acting organization. The slug, or the id when there is no slug, confirms the deletion. */
export const deleteOrganizationInput = z.strictObject({
  organizationId: optional(idSchema<OrganizationId>()).describe(
    'Id of the organization, as a safety check. When given, it must be the organization that the request acts in.',
  ),
  confirmSlug: text({ min: 1, max: 255 }).describe(
    'The slug of the organization as confirmation, or its id when it has no slug.',
  ),
});
