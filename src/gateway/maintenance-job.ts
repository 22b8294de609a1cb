import { z } from 'zod';
import type { Config } from '../core/config.ts';
import { type JobHandler, jobHandler } from '../core/jobs.ts';
import { modules } from './modules.ts';

const BATCH = 1_000;

/** Deletes expired rows once an hour. It can be interrupted at any point; the next run continues. */
export function maintenanceJob({ AUDIT_RETENTION_DAYS }: Pick<Config, 'AUDIT_RETENTION_DAYS'>): JobHandler {
  const settings = { auditRetentionDays: AUDIT_RETENTION_DAYS };
  return jobHandler({
    queue: 'maintenance',
    data: z.unknown(),
    schedule: '17 * * * *',
    run: async ({ em, now, signal, log }) => {
      for (const [what, deleteSome] of modules.flatMap(({ cleanups }) => Object.entries(cleanups))) {
        let deleted = 0;
        for (let count = BATCH; count > 0; deleted += count) {
          signal.throwIfAborted();
          count = await deleteSome(em.fork(), now(), BATCH, settings);
        }
        if (deleted > 0) log.info({ what, deleted }, 'expired');
      }
    },
  });
}
