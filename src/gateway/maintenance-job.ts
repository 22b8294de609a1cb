import type { EntityManager } from '@mikro-orm/postgresql';
import { z } from 'zod';
import { DAY_MS } from '../core/text/timestamps.ts';
import type { Config } from '../core/config.ts';
import { type JobHandler, jobHandler } from '../core/jobs.ts';
import { deleteAuditEntries } from '../domains/audit-log/public.ts';
import { deleteExpiredUuids } from '../domains/event-occurrences/public.ts';
import { deleteExpiredInvitations } from '../domains/invitations/public.ts';
import { deleteExpiredAuthorizations } from '../domains/mcp-connections/public.ts';
import { QUESTIONNAIRE_DAYS, forgetQuestionnaires } from '../domains/user-deletions/public.ts';
import { deleteExpiredKeys } from './idempotency/maintenance.ts';

/** Deletes a batch of expired rows with one statement. @returns how many rows; 0 when nothing is left. */
type Cleanup = (em: EntityManager, at: Date, batch: number) => Promise<number>;

const BATCH = 1_000;

/** Deletes expired rows once an hour. It can be interrupted at any point; the next run continues. */
export function maintenanceJob({ AUDIT_RETENTION_DAYS: days }: Pick<Config, 'AUDIT_RETENTION_DAYS'>): JobHandler {
  const chores: Readonly<Record<string, Cleanup>> = {
    'idempotency keys': deleteExpiredKeys,
    'occurrence uuids': deleteExpiredUuids,
    authorizations: deleteExpiredAuthorizations,
    invitations: deleteExpiredInvitations,
    'deletion questionnaires': (em, at, batch) =>
      forgetQuestionnaires(em, new Date(at.getTime() - QUESTIONNAIRE_DAYS * DAY_MS), batch),
    ...(days > 0 && {
      'audit entries': (em, at, batch) => deleteAuditEntries(em, new Date(at.getTime() - days * DAY_MS), batch),
    }),
  };
  return jobHandler({
    queue: 'maintenance',
    data: z.unknown(),
    schedule: '17 * * * *',
    run: async ({ em, now, signal, log }) => {
      for (const [what, deleteSome] of Object.entries(chores)) {
        let deleted = 0;
        for (let count = BATCH; count > 0; deleted += count) {
          signal.throwIfAborted();
          count = await deleteSome(em.fork(), now(), BATCH);
        }
        if (deleted > 0) log.info({ what, deleted }, 'expired');
      }
    },
  });
}
