import { OWN_STATEMENT, builder } from '../../core/graphql/builder.ts';
import { shown } from '../../core/graphql/derived-fields.ts';
import { mutation } from '../../core/graphql/mutations.ts';
import { refusable } from '../../core/graphql/refusable.ts';
import { needs } from '../../core/graphql/selection.ts';
import { OrganizationType } from '../organizations/graphql/types.ts';
import { organizationRow } from '../organizations/public.ts';
import { retentionDocument, retentionPreviewDocument } from './documents.ts';
import { retentionPreviewInput } from './input.ts';
import { previewRetention, readOrganizationRetention, updateOrganizationRetention } from './operations.ts';
import type { Retention } from './periods.ts';
import type { RetentionCounts } from './queries.ts';

const RetentionType = builder.objectRef<Retention>('OrganizationRetention').implement({
  description: 'How long an organization keeps what is recorded.',
  fields: (t) => ({
    ...shown(t, retentionDocument, ['sessionDays', 'occurrenceDays', 'auditLogDays', 'isLimitedByOperator']),
    ...shown(t, retentionDocument, ['ownSessionDays', 'ownOccurrenceDays', 'ownAuditLogDays']),
    limitedByOperator: t.exposeStringList('limitedByOperator', {
      description: retentionDocument.shape.limitedByOperator.description,
    }),
  }),
});

const RetentionPreviewType = builder.objectRef<RetentionCounts>('RetentionPreview').implement({
  description: 'What a retention would delete now.',
  fields: (t) => shown(t, retentionPreviewDocument, ['sessions', 'occurrences', 'auditEntries']),
});

builder.objectFields(OrganizationType, (t) => ({
  retention: t.field({
    type: RetentionType,
    description: 'How long the organization keeps what is recorded.',
    extensions: {
      ...OWN_STATEMENT,
      ...refusable(readOrganizationRetention.access, { actingOrganization: true }),
      ...needs<{ id: string }>('id'),
    },
    resolve: ({ id }, _, context) => readOrganizationRetention(context, { organizationId: id }),
  }),
  retentionPreview: t.field({
    type: RetentionPreviewType,
    description: 'What would be deleted now if the organization kept things for these days.',
    extensions: {
      ...OWN_STATEMENT,
      ...refusable(previewRetention.access, { actingOrganization: true }),
      ...needs<{ id: string }>('id'),
    },
    args: {
      sessionDays: t.arg.int({ description: 'Days for sessions, 1 to 36500; absent deletes none.' }),
      occurrenceDays: t.arg.int({ description: 'Days for event occurrences, 1 to 36500; absent deletes none.' }),
      auditLogDays: t.arg.int({ description: 'Days for entries of the audit log, 1 to 36500; absent deletes none.' }),
    },
    validate: retentionPreviewInput,
    resolve: (_, args, context) => previewRetention(context, args),
  }),
}));

mutation(updateOrganizationRetention, {
  ids: { organizationId: 'Organization' },
  payload: (t) => ({
    retention: t.field({
      type: RetentionType,
      description: 'The changed retention.',
      resolve: (retention) => retention,
    }),
    organization: t.field({
      type: OrganizationType,
      description: 'The organization, whose `updatedAt` has changed.',
      resolve: ({ organization }) => organizationRow(organization),
    }),
  }),
});
