import { newValues } from '../../core/audit.ts';
import { ConflictError, NotFoundError, invalid } from '../../core/errors.ts';
import { isEmptyUpdate } from '../../core/input/expected-version.ts';
import { requireOrganization } from '../../core/access.ts';
import { givenNames } from '../../core/keys-of.ts';
import { type OperationContext, defineOperation, guarded, unchanged } from '../../core/operation.ts';
import { ADMINISTER_ORGANIZATION, actingOrganization, lockActing } from '../organizations/public.ts';
import { OrganizationRetention } from './entity.ts';
import { type RetentionPreviewInput, retentionReference, updateRetentionInput } from './input.ts';
import { FOREVER, KINDS, type Periods, type Retention, cutoff, retentionOf } from './periods.ts';
import { type RetentionCounts, countExpired, readPeriods } from './queries.ts';

export const readOrganizationRetention = defineOperation({
  name: 'readOrganizationRetention',
  description: 'Reads how long the organization keeps sessions, event occurrences and its audit log.',
  access: ADMINISTER_ORGANIZATION,
  input: retentionReference,
  errors: [NotFoundError],
  run: async (context, { organizationId }): Promise<Retention> => {
    actingOrganization(context.actor, organizationId);
    return retentionOf(await readPeriods(context.sql, organizationId), context.settings);
  },
});

export const updateOrganizationRetention = defineOperation({
  name: 'updateOrganizationRetention',
  description:
    'Changes how long the organization keeps sessions, event occurrences and its audit log. An absent field does not change; null keeps forever. A job deletes what is older, at least once an hour; `Organization.retentionPreview` counts it first.',
  access: ADMINISTER_ORGANIZATION,
  input: updateRetentionInput,
  errors: [NotFoundError, ConflictError],
  run: async (context, { organizationId, expectedUpdatedAt, ...changes }) => {
    actingOrganization(context.actor, organizationId);
    const { em, now, settings } = context;
    const { auditRetentionMinDays: floor } = settings;
    if (changes.auditLogDays != null && changes.auditLogDays < floor)
      throw invalid('auditLogDays', `must be at least ${floor}, as the operator has set`, 'TOO_SMALL', floor);
    const organization = await lockActing(context, { organizationId, expectedUpdatedAt });
    const known = await em.findOne(OrganizationRetention, { organization: organizationId });
    const retention = known ?? em.create(OrganizationRetention, { organization: organizationId, ...FOREVER });
    for (const kind of KINDS) if (changes[kind] !== undefined) retention[kind] = changes[kind];
    const periods: Periods = {
      sessionDays: retention.sessionDays ?? null,
      occurrenceDays: retention.occurrenceDays ?? null,
      auditLogDays: retention.auditLogDays ?? null,
    };
    const result = { organization, ...retentionOf(periods, context.settings) };
    if (isEmptyUpdate(changes)) return unchanged(result);
    organization.updatedAt = now();
    return result;
  },
  target: ({ organization: { id } }, { organizationId: _id, expectedUpdatedAt: _expected, ...changes }) => ({
    type: 'Organization',
    id,
    changedFields: givenNames(changes),
    detail: newValues(changes, KINDS),
  }),
});

/** Counts what would be deleted now with these periods, and with the bound of the operator. */
export const previewRetention = guarded(
  ADMINISTER_ORGANIZATION,
  async (context: OperationContext, given: RetentionPreviewInput): Promise<RetentionCounts> => {
    const { id } = requireOrganization(context.actor);
    const { sessionDays = null, occurrenceDays = null, auditLogDays = null } = given;
    const periods = retentionOf({ sessionDays, occurrenceDays, auditLogDays }, context.settings);
    const at = await context.storedNow();
    return countExpired(context.sql, id, {
      sessions: cutoff(periods.sessionDays, at),
      occurrences: cutoff(periods.occurrenceDays, at),
      auditEntries: cutoff(periods.auditLogDays, at),
    });
  },
);
