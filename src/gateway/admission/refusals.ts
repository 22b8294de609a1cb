import { LRUCache } from 'lru-cache';
import type { Logger } from 'pino';
import type { Refusal, RequestIdOrigin } from '../../core/audit.ts';
import { ConflictError, DomainError, ForbiddenError } from '../../core/errors.ts';
import type { ApiKeyId, UserId } from '../../core/ids.ts';
import type { Actor } from '../../core/access.ts';
import { databaseTrouble } from '../../core/postgres/failures.ts';
import type { Sql } from '../../core/postgres/reading/sql.ts';
import { type NewRefusedAttempt, recordRefusedAttempt } from '../../domains/audit-log/public.ts';
import { RefusedKeyError } from './authenticate.ts';

/** A refused operation, with the key when the request has no actor. */
interface Refused {
  readonly operation: string;
  /** What the caller was told. */
  readonly message: string;
  readonly keyId?: ApiKeyId;
}

/** The refused operations of a request, by reason. Only the log has those over a limit. */
export type Refusals = Map<Refusal | 'rate_limited', Refused>;

/** Adds a refused operation. Other errors, and refusals of unknown keys, are ignored. */
export function noteRefusal(refusals: Refusals | undefined, error: unknown, operation: string): Refusals | undefined {
  const reason = error instanceof DomainError && reasonOf(error);
  if (!reason) return refusals;
  const { message } = error;
  const keyId = error instanceof RefusedKeyError ? error.known?.keyId : undefined;
  const noted: Refusals = refusals ?? new Map();
  return noted.set(reason, { operation, message, ...(keyId && { keyId }) });
}

function reasonOf(error: DomainError): Refusal | 'rate_limited' | undefined | null {
  if (error instanceof ForbiddenError) return 'forbidden';
  if (error instanceof ConflictError && error.reason === 'LAST_ADMINISTRATOR') return 'last_administrator';
  if (error.kind === 'rateLimited') return 'rate_limited';
  if (!(error instanceof RefusedKeyError)) return undefined;
  // A key that sleeps is recorded as expired; the message says why.
  const refusal = error.known?.refusal;
  return refusal === 'key_asleep' ? 'key_expired' : refusal;
}

/** Fields of the log line of a request with refused operations: what was refused to whom, and why. */
export function refusedFields({
  refusals,
  actor,
  userId = actor?.userId,
}: Pick<RefusedRequest, 'refusals' | 'actor'> & { readonly userId?: UserId | undefined }): object | undefined {
  if (!refusals) return undefined;
  return {
    userId,
    organizationId: actor?.organization?.id,
    refused: [...refusals].map(([reason, { operation, message }]) => ({ reason, operation, message })),
  };
}

export interface RefusedRequest {
  readonly requestId: string;
  readonly requestIdOrigin: RequestIdOrigin;
  readonly refusals: Refusals | undefined;
  readonly actor?: Actor | undefined;
}

export interface RefusalLogParts {
  readonly sql: Sql;
  readonly now: () => Date;
  readonly newId: () => string;
  readonly log: Pick<Logger, 'warn' | 'debug'>;
}

/** Maximum number of remembered keys and reasons. Repeated attempts of a remembered key cost no statement. */
const MAX_KNOWN = 20_000;
const MINUTE_MS = 60_000;

/** Records refused attempts of known keys in the audit log, at most once a minute for each key and reason. */
export function createRefusalLog(parts: RefusalLogParts): (refused: RefusedRequest) => Promise<void> {
  const { now, log } = parts;
  const recorded = new LRUCache<string, number>({ max: MAX_KNOWN });

  async function record(attempt: NewRefusedAttempt): Promise<void> {
    const known = `${attempt.keyId} ${attempt.refusal}`;
    const at = now().getTime();
    if (Math.abs(at - (recorded.get(known) ?? -Infinity)) < MINUTE_MS) return;
    recorded.set(known, at);
    try {
      await recordRefusedAttempt(parts, attempt);
    } catch (error) {
      recorded.delete(known);
      // A failure does not change the answer to the request.
      log[databaseTrouble(error) === 'away' ? 'debug' : 'warn'](
        { err: error },
        'a refused attempt could not be recorded',
      );
    }
  }

  return async ({ requestId, requestIdOrigin, refusals, actor }) => {
    for (const [refusal, { operation, message, keyId = actor?.keyId }] of refusals ?? []) {
      const organizationId = actor?.organization?.id;
      if (refusal !== 'rate_limited' && keyId !== undefined && !actor?.isOperator)
        await record({ keyId, refusal, organizationId, operation, message, requestId, requestIdOrigin });
    }
  };
}
