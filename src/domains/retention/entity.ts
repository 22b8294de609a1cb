import { type InferKyselyDB, defineEntity, p } from '@mikro-orm/postgresql';
import { Organization } from '../organizations/public.ts';

const RetentionSchema = defineEntity({
  name: 'OrganizationRetention',
  tableName: 'organization_retention',
  properties: {
    organization: () => p.oneToOne(Organization).owner().primary().deleteRule('cascade'),
    /** Days; null keeps forever. */
    sessionDays: p.integer().nullable(),
    occurrenceDays: p.integer().nullable(),
    auditLogDays: p.integer().nullable(),
  },
});

/** How long an organization keeps what is recorded. Without a row, it keeps everything. */
export class OrganizationRetention extends RetentionSchema.class {}
RetentionSchema.setClass(OrganizationRetention);

export type RetentionTables = InferKyselyDB<typeof RetentionSchema>;
