import type { Module } from '../../core/module.ts';
import { deletionStep, DELETION_BATCH } from '../../core/module.ts';
import { DAY_MS } from '../../core/text/timestamps.ts';
import { AuditEntry } from '../../core/audit.ts';
import { RefusedAttempt } from './entity.ts';
import { deleteAuditEntries, deleteEntriesOf, forgetUserInEntries } from './queries.ts';

export const auditLog = {
  entities: [AuditEntry, RefusedAttempt],
  graphql: () => import('./graphql.ts'),
  routes: [],
  pages: [],
  jobs: () => [],
  cleanups: {
    'audit entries': (em, at, batch, { auditRetentionDays: days }) =>
      days > 0 ? deleteAuditEntries(em, new Date(at.getTime() - days * DAY_MS), batch) : Promise.resolve(0),
  },
  topics: [],
  deletionSteps: {
    // Entries refer to their author by the API key, which is deleted with the account. This step handles entries about the user and their keys.
    ofUser: [deletionStep('audit entries', ({ em }, { id }) => forgetUserInEntries(em, id, DELETION_BATCH))],
    ofOrganization: [deletionStep('audit entries', ({ em }, { id }) => deleteEntriesOf(em, id, DELETION_BATCH))],
  },
  replays: {},
} as const satisfies Module;
