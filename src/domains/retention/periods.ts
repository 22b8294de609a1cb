import type { OperationSettings } from '../../core/operation-settings.ts';
import { DAY_MS } from '../../core/text/timestamps.ts';

/** How long things are kept: the shorter of what the organization has set and the bound of the operator. */

export const KINDS = ['sessionDays', 'occurrenceDays', 'auditLogDays'] as const;
export type Kind = (typeof KINDS)[number];

/** Days; null keeps forever. */
export type Periods = Readonly<Record<Kind, number | null>>;

export interface Retention extends Periods {
  readonly ownSessionDays: number | null;
  readonly ownOccurrenceDays: number | null;
  readonly ownAuditLogDays: number | null;
  readonly limitedByOperator: readonly Kind[];
  readonly isLimitedByOperator: boolean;
}

export const FOREVER: Periods = { sessionDays: null, occurrenceDays: null, auditLogDays: null };

export function retentionOf(
  own: Periods,
  { retentionMaxDays, auditRetentionDays }: Pick<OperationSettings, 'retentionMaxDays' | 'auditRetentionDays'>,
): Retention {
  const within = (bound: number, days: number | null) => (bound === 0 ? days : Math.min(days ?? bound, bound));
  const bounded = (days: number | null) => within(retentionMaxDays, days);
  // The operator deletes entries of the audit log, whatever the organization keeps.
  const kept = (kind: Kind) =>
    kind === 'auditLogDays' ? within(auditRetentionDays, bounded(own[kind])) : bounded(own[kind]);
  const limitedByOperator = KINDS.filter((kind) => kept(kind) !== own[kind]);
  const { sessionDays, occurrenceDays, auditLogDays } = own;
  return {
    sessionDays: bounded(sessionDays),
    occurrenceDays: bounded(occurrenceDays),
    auditLogDays: bounded(auditLogDays),
    ownSessionDays: sessionDays,
    ownOccurrenceDays: occurrenceDays,
    ownAuditLogDays: auditLogDays,
    limitedByOperator,
    isLimitedByOperator: limitedByOperator.length > 0,
  };
}

/** What is older is deleted; undefined keeps everything. */
export const cutoff = (days: number | null, now: Date): Date | undefined =>
  days === null ? undefined : new Date(now.getTime() - days * DAY_MS);
