import type { OperationSettings } from '../../core/operation.ts';
import { DAY_MS } from '../../core/text/timestamps.ts';

/** How long things are kept: the shorter of what the organization has set and the bound of the operator. */

export const KINDS = ['sessionDays', 'occurrenceDays', 'auditLogDays'] as const;
export type Kind = (typeof KINDS)[number];

/** Days; null keeps forever. */
export type Periods = Readonly<Record<Kind, number | null>>;

export interface Retention extends Periods {
  readonly isLimitedByOperator: boolean;
}

export const FOREVER: Periods = { sessionDays: null, occurrenceDays: null, auditLogDays: null };

export function retentionOf(
  own: Periods,
  { retentionMaxDays }: Pick<OperationSettings, 'retentionMaxDays'>,
): Retention {
  const bounded = (days: number | null) =>
    retentionMaxDays === 0 ? days : Math.min(days ?? retentionMaxDays, retentionMaxDays);
  const { sessionDays, occurrenceDays, auditLogDays } = own;
  return {
    sessionDays: bounded(sessionDays),
    occurrenceDays: bounded(occurrenceDays),
    auditLogDays: bounded(auditLogDays),
    isLimitedByOperator: KINDS.some((kind) => bounded(own[kind]) !== own[kind]),
  };
}

/** What is older is deleted; undefined keeps everything. */
export function cutoff(days: number | null, now: Date): Date | undefined {
  return days === null ? undefined : new Date(now.getTime() - days * DAY_MS);
}
