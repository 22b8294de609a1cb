import { z } from 'zod';
import { ROLES } from '../../core/access.ts';
import type { ServiceAccountId } from '../../core/ids.ts';
import { expectedUpdatedAtInput } from '../../core/input/expected-version.ts';
import { listInput } from '../../core/input/lists.ts';
import { createdBetween } from '../../core/input/moments.ts';
import { idSchema, rule, text, withDefault } from '../../core/input/validation.ts';

const name = text({ min: 1, max: 100 }).refine(
  (value) => value === '' || value.trim() !== '',
  rule('TOO_SHORT', 'must not be blank', 1),
);
const role = z.enum(ROLES);
const ROLE =
  'The role of the service account in the organization, which decides what its keys can do beside their scopes.';

export const createServiceAccountInput = z.strictObject({
  name: name.describe('The name of the service account.'),
  role: withDefault(role, 'member').describe(ROLE),
});

const serviceAccountId = idSchema<ServiceAccountId>().describe('Id of the service account.');
export const serviceAccountReference = z.strictObject({ serviceAccountId });

export const updateServiceAccountInput = z.strictObject({
  serviceAccountId,
  name: name.optional().describe('The new name of the service account.'),
  role: role.optional().describe(ROLE),
  expectedUpdatedAt: expectedUpdatedAtInput,
});

/** Conditions on a list of service accounts. Null is the same as absent. */
export const serviceAccountFilter = z
  .strictObject({
    roles: z.array(role).max(ROLES.length).nullish().describe('Service accounts with any of these roles.'),
    search: text({ max: 100 })
      .nullish()
      .describe('Service accounts whose name contains this text. Case is ignored; there are no wildcards.'),
    ...createdBetween,
  })
  .describe(
    'Conditions on service accounts. One is listed when it meets all of them. A condition with an empty list matches nothing.',
  );
export type ServiceAccountFilter = z.output<typeof serviceAccountFilter>;

export const listServiceAccountsInput = z.strictObject({ ...listInput });
