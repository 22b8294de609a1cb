import { LRUCache } from 'lru-cache';
import type { Logger } from 'pino';
import type { Refusal, RequestIdOrigin } from '../../core/audit.ts';
import { ConflictError, ForbiddenError } from '../../core/errors.ts';
import type { ApiKeyId } from '../../core/ids.ts';
import type { Actor } from '../../core/operation.ts';
import { databaseTrouble } from '../../core/postgres/failures.ts';
import type { Sql } from '../../core/postgres/sql.ts';
import { type RefusedAttempt, recordRefusedAttempt } from '../../domains/audit-log/refused-attempts.ts';
import { RefusedKeyError } from './authenticate.ts';

/** An operation that was refused, and the key, where the request has no actor. */
interface Refused {
  readonly operation: string;
  readonly keyId?: ApiKeyId;
}

/** What was refused of a request, by reason. */
export type Refusals = Map<Refusal, Refused>;

/** Notes what refused an operation; errors that are no refusals, and keys that nobody knows, are left out. */
export function noteRefusal(refusals: Refusals, error: unknown, operation: string): void {
  if (error instanceof ForbiddenError) refusals.set('forbidden', { operation });
  if (error instanceof ConflictError && error.reason === 'LAST_ADMINISTRATOR')
    refusals.set('last_administrator', { operation });
  const { refusal, keyId } = (error instanceof RefusedKeyError && error.known) || {};
  if (refusal && keyId !== undefined) refusals.set(refusal, { operation, keyId });
}

/** A request, some of which was refused. */
export interface RefusedRequest {
  readonly requestId: string;
  readonly requestIdOrigin: RequestIdOrigin;
  readonly refusals: Refusals;
  readonly actor?: Actor | undefined;
}

export interface RefusalLogParts {
  readonly sql: Sql;
  readonly now: () => Date;
  readonly newId: () => string;
  readonly log: Pick<Logger, 'warn' | 'debug'>;
}

/** Keys and reasons that are remembered, so that who goes on asking costs no statement. */
const MAX_KNOWN = 20_000;
const MINUTE_MS = 60_000;

/** Records refused attempts of known keys in the audit log, at most once a minute for a key and a reason. */
export function createRefusalLog(parts: RefusalLogParts): (refused: RefusedRequest) => Promise<void> {
  const { now, log } = parts;
  const recorded = new LRUCache<string, number>({ max: MAX_KNOWN });

  async function record(attempt: RefusedAttempt): Promise<void> {
    const known = `${attempt.keyId} ${attempt.refusal}`;
    const at = now().getTime();
    if (Math.abs(at - (recorded.get(known) ?? -Infinity)) < MINUTE_MS) return;
    recorded.set(known, at);
    try {
      await recordRefusedAttempt(parts, attempt);
    } catch (error) {
      recorded.delete(known);
      // Nobody is answered otherwise for want of it.
      log[databaseTrouble(error) === 'away' ? 'debug' : 'warn']({ err: error }, 'refused attempt not recorded');
    }
  }

  return async ({ requestId, requestIdOrigin, refusals, actor }) => {
    for (const [refusal, { operation, keyId = actor?.keyId }] of refusals) {
      const organizationId = actor?.organization?.id;
      if (keyId !== undefined && !actor?.isOperator)
        await record({ keyId, refusal, organizationId, operation, requestId, requestIdOrigin });
    }
  };
}
