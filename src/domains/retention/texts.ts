/** What the fields of retention mean, for both APIs. */

export const RETENTION_TEXTS = {
  sessionDays:
    'Days for which a session is kept after its last event or change. Queued, running, pinned and held sessions stay. Null keeps all.',
  occurrenceDays: 'Days for which an occurrence is kept after it occurred and was received. Null keeps all.',
  auditLogDays:
    'Days for which an entry of the audit log is kept. Null keeps all, unless the operator deletes them earlier.',
  isLimitedByOperator:
    'Whether one of these is shorter than the organization has set, by the bound of the operator for all organizations.',
} as const;

export const RETENTION_PREVIEW_TEXTS = {
  sessions: 'Sessions that would be deleted.',
  occurrences: 'Event occurrences that would be deleted.',
  auditEntries: 'Entries of the audit log that would be deleted.',
} as const;
