import { DAY_MS } from '../../core/text/timestamps.ts';
import type { DeliveryProgress, LeasedWebhook } from './delivery-queries.ts';
import type { SentResult } from './request.ts';

/** When a webhook is tried again, given up and disabled. */

/** The pauses before the retries of an entry. After the last one the entry is given up. */
const RETRY_MS = [5_000, 300_000, 1_800_000, 7_200_000, 18_000_000, 36_000_000, 36_000_000];
/** Each pause is up to this part longer, so that what failed at the same time is not sent at the same time again. */
const JITTER = 0.2;
/** A webhook whose deliveries all fail for this time is disabled. */
const FAILING_MS = 5 * DAY_MS;
/** How long before that it is announced, or longer. */
const NOTICE_MS = DAY_MS;

/** After so many tries in a row that were not answered in time, the next one has less time. */
const MAX_TIMEOUTS = 3;
const SHORT_MS = 3_000;
/** A try that comes so long after the one before has the usual time again. */
const REST_MS = 300_000;

/** How long a request may take. A webhook that never answers must not hold its organization's slots. */
export function timeLimit(
  { timeouts, lastTriedAt }: Pick<DeliveryProgress, 'timeouts' | 'lastTriedAt'>,
  { isAsked, at, usualMs }: { readonly isAsked: boolean; readonly at: Date; readonly usualMs: number },
): number {
  const isRested = lastTriedAt === null || at.getTime() - Date.parse(lastTriedAt) >= REST_MS;
  return timeouts < MAX_TIMEOUTS || isAsked || isRested ? usualMs : Math.min(SHORT_MS, usualMs);
}

/** What any try says of the webhook. */
export const afterTry = (
  { timeouts }: Pick<DeliveryProgress, 'timeouts'>,
  { state, isLate }: SentResult,
  triedAt: Date,
): Pick<DeliveryProgress, 'lastTriedAt' | 'hasFailed' | 'timeouts'> => ({
  lastTriedAt: triedAt.toISOString(),
  hasFailed: state === 'failed',
  timeouts: isLate ? timeouts + 1 : 0,
});

/** A try of an entry. */
interface Tried {
  readonly entryId: number;
  readonly result: SentResult;
  readonly at: Date;
}

/** A replay ends with its last entry, or with one that fails: then the webhook goes on where it was. */
export function afterReplay({ replayUntil }: LeasedWebhook, { entryId, result }: Tried): Partial<DeliveryProgress> {
  if (result.state === 'failed' && replayUntil !== null) return { cursor: replayUntil, replayUntil: null };
  return { cursor: entryId, ...(entryId === replayUntil && { replayUntil: null }) };
}

export function afterEntry(webhook: LeasedWebhook, { entryId, result, at }: Tried): Partial<DeliveryProgress> {
  const begun = { attempts: 0, failedEntryId: null, nextAttemptAt: null, disableAfter: null };
  if (result.state === 'succeeded')
    return { ...begun, cursor: entryId, failingSince: null, lastDeliveredAt: at.toISOString() };
  const failingSince = webhook.failingSince ?? at.toISOString();
  const isGone = result.status === 410;
  if (isGone || (webhook.disableAfter !== null && at.getTime() >= Date.parse(webhook.disableAfter)))
    return { ...begun, failingSince, disabledAt: at.toISOString(), disabledReason: isGone ? 'gone' : 'failing' };
  if (webhook.nextAttemptAt !== null && at.getTime() < Date.parse(webhook.nextAttemptAt)) {
    // A try that was asked for is no step of the schedule.
    const disableAfter =
      webhook.disableAfter ?? disablingAfter({ failingSince, at, nextTry: Date.parse(webhook.nextAttemptAt) });
    return { failingSince, disableAfter };
  }
  const pause = pauseAfter(webhook, result);
  const nextTry = at.getTime() + (pause ?? 0);
  const disableAfter = webhook.disableAfter ?? disablingAfter({ failingSince, at, nextTry });
  if (pause === undefined) return { ...begun, failingSince, disableAfter, cursor: entryId };
  const nextAttemptAt = new Date(nextTry).toISOString();
  return { attempts: webhook.attempts + 1, failedEntryId: entryId, nextAttemptAt, failingSince, disableAfter };
}

/** The pause after a failed try: the step of the schedule, or what the receiver asked for, if that is longer, up to the following step. */
function pauseAfter(
  { attempts, leaseId }: Pick<LeasedWebhook, 'attempts' | 'leaseId'>,
  { retryAfterMs = 0 }: SentResult,
): number | undefined {
  const step = RETRY_MS[attempts];
  if (step === undefined) return undefined;
  const asked = Math.min(retryAfterMs, RETRY_MS[attempts + 1] ?? step);
  return Math.max(step * (1 + JITTER * fractionOf(leaseId)), asked);
}

/** A number from 0 to 1, from the first digits of a random id. */
const fractionOf = (id: string) => Number.parseInt(id.slice(0, 8), 16) / 2 ** 32;

/** When a failure will disable the webhook, if the next try is too late for announcing it; otherwise null. */
function disablingAfter({
  failingSince,
  at,
  nextTry,
}: {
  readonly failingSince: string;
  readonly at: Date;
  readonly nextTry: number;
}): string | null {
  const end = Date.parse(failingSince) + FAILING_MS;
  return nextTry < end - NOTICE_MS ? null : new Date(Math.max(end, at.getTime() + NOTICE_MS)).toISOString();
}
