import { z } from 'zod';
import { answering } from '../../core/documents.ts';
import { KINDS, type Retention } from './periods.ts';

/** What both APIs answer. */

const days = () => z.int().nullable();

export const retentionDocument = z
  .strictObject({
    sessionDays: days()
      .describe(
        'Days for which a session is kept after its last event or change. Queued, running, pinned and held sessions stay. Null keeps all.',
      )
      .meta({ example: 90 }),
    occurrenceDays: days()
      .describe('Days for which an occurrence is kept after it occurred and was received. Null keeps all.')
      .meta({ example: 400 }),
    auditLogDays: days().describe(
      'Days for which an entry of the audit log is kept. Null keeps all, unless the operator deletes them earlier.',
    ),
    ownSessionDays: days()
      .describe('`sessionDays` as the organization has set it. Null keeps all.')
      .meta({ example: 90 }),
    ownOccurrenceDays: days()
      .describe('`occurrenceDays` as the organization has set it. Null keeps all.')
      .meta({ example: 400 }),
    ownAuditLogDays: days().describe('`auditLogDays` as the organization has set it. Null keeps all.'),
    limitedByOperator: z
      .array(z.enum(KINDS))
      .describe(
        'Which of the first three the operator deletes earlier than the organization has set: by the bound for all organizations, or, for the audit log, by the days for which it is kept.',
      )
      .meta({ example: ['auditLogDays'] }),
    isLimitedByOperator: z.boolean().describe('Whether `limitedByOperator` names any.').meta({ example: true }),
  })
  .meta({ id: 'Retention' });
export const toRetention = answering<Retention, typeof retentionDocument>(retentionDocument, () => ({}));

export const retentionPreviewDocument = z.strictObject({
  sessions: z.int().describe('Sessions that would be deleted.'),
  occurrences: z.int().describe('Event occurrences that would be deleted.'),
  auditEntries: z.int().describe('Entries of the audit log that would be deleted.'),
});
