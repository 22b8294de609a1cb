import { exportedList } from '../../core/exported-pages.ts';
import type { Module } from '../../core/module.ts';
import { deletionStep, DELETION_BATCH } from '../../core/module.ts';
import { DAY_MS } from '../../core/text/timestamps.ts';
import { AuditEntry, AuditOrigin } from '../../core/audit.ts';
import { auditLogRoutes } from './rest.ts';
import { AuditStream, ErasedActor, RefusedAttempt } from './entity.ts';
import {
  AUDIT_ENTRIES,
  deleteAuditEntries,
  deleteEntriesOf,
  deleteErasedActors,
  forgetUninvited,
  forgetUserInEntries,
} from './queries.ts';

export const auditLog = {
  entities: [AuditEntry, AuditOrigin, AuditStream, ErasedActor, RefusedAttempt],
  graphql: () => import('./graphql.ts'),
  routes: auditLogRoutes,
  pages: [],
  jobs: () => [],
  cleanups: {
    'audit entries': (em, at, batch, { auditRetentionDays: days }) =>
      days > 0 ? deleteAuditEntries(em, new Date(at.getTime() - days * DAY_MS), batch) : Promise.resolve(0),
    // The entries that name these keys are older, and gone.
    'labels of erased accounts': (em, at, batch, { auditRetentionDays: days }) =>
      days > 0 ? deleteErasedActors(em, new Date(at.getTime() - days * DAY_MS), batch) : Promise.resolve(0),
    'addresses of invitations': forgetUninvited,
  },
  topics: [],
  deletionSteps: {
    // Entries refer to their author by the API key, which is deleted with the account. This step handles entries about the user and their keys.
    ofUser: [deletionStep('audit entries', (context, { id }) => forgetUserInEntries(context, id, DELETION_BATCH))],
    ofOrganization: [deletionStep('audit entries', ({ em }, { id }) => deleteEntriesOf(em, id, DELETION_BATCH))],
  },
  exports: [
    exportedList('auditEntry', AUDIT_ENTRIES, { field: 'OCCURRED_AT', ofPerson: (id) => ({ actorIds: [id] }) }),
  ],
  replays: {},
} as const satisfies Module;
