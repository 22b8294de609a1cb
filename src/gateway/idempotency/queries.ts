import { sql } from 'kysely';
import type { OrganizationId, UserId } from '../../core/ids.ts';
import type { Role, Scope } from '../../core/access.ts';
import { prepared, queriesOn } from '../../core/postgres/reading/queries.ts';
import type { IdempotencyTables } from './entity.ts';

const db = queriesOn<IdempotencyTables>();

/** The primary key of a stored answer. */
export interface KeyPlace {
  readonly userId: UserId;
  readonly digest: string;
}

/** A key and the attempt that has claimed it. */
export interface ClaimedKey extends KeyPlace {
  readonly claim: string;
}

interface KeptAnswer {
  readonly answer: string;
  readonly operation: string | null;
  readonly targetType: string | null;
  readonly targetId: string | null;
  readonly hasSessions: boolean;
}

interface NewClaim extends ClaimedKey {
  readonly organizationId: OrganizationId | null;
  readonly fingerprint: string;
  readonly scopes: Scope[];
  readonly role: Role | null;
  readonly createdAt: Date;
  readonly expiresAt: Date;
}

/**
 * Claims a key. Expired claims and answers are taken over. Concurrent requests with the same key wait here for the
 * commit or rollback of the first one.
 */
export const claimKey = prepared<NewClaim>()((value) =>
  db
    .insertInto('idempotency_key')
    .values({
      user_id: value('userId'),
      digest: value('digest'),
      organization_id: value('organizationId'),
      fingerprint: value('fingerprint'),
      scopes: value('scopes'),
      role: value('role'),
      claim: value('claim'),
      created_at: value('createdAt'),
      expires_at: value('expiresAt'),
    })
    .onConflict((conflict) =>
      conflict
        .columns(['user_id', 'digest'])
        .doUpdateSet((eb) => ({
          fingerprint: eb.ref('excluded.fingerprint'),
          scopes: eb.ref('excluded.scopes'),
          role: eb.ref('excluded.role'),
          operation: null,
          target_type: null,
          target_id: null,
          claim: eb.ref('excluded.claim'),
          answer: null,
          created_at: eb.ref('excluded.created_at'),
          expires_at: eb.ref('excluded.expires_at'),
        }))
        .whereRef('idempotency_key.expires_at', '<=', 'excluded.created_at'),
    )
    .returning('digest'),
);

/** Reads the stored answer, which is null while the first request is running. */
export const readAnswer = prepared<KeyPlace>()((value) =>
  db
    .selectFrom('idempotency_key')
    .select(['fingerprint', 'answer', 'scopes', 'role', 'operation'])
    .select(['target_type as targetType', 'target_id as targetId'])
    .where('user_id', '=', value('userId'))
    .where('digest', '=', value('digest')),
);

/** Stores the answer of the attempt that has the claim. */
export const keepAnswer = prepared<ClaimedKey & KeptAnswer>()((value) =>
  db
    .updateTable('idempotency_key')
    .set({
      answer: value('answer'),
      operation: value('operation'),
      has_sessions: value('hasSessions'),
      target_type: value('targetType'),
      target_id: value('targetId'),
      expires_at: sql<string>`(created_at at time zone 'utc' + interval '24 hours') at time zone 'utc'`,
    })
    .where('user_id', '=', value('userId'))
    .where('digest', '=', value('digest'))
    .where('claim', '=', value('claim')),
);

/** Deletes a claim, so that the request can be retried. */
export const releaseClaim = prepared<ClaimedKey>()((value) =>
  db
    .deleteFrom('idempotency_key')
    .where('user_id', '=', value('userId'))
    .where('digest', '=', value('digest'))
    .where('claim', '=', value('claim')),
);

/** Sets how long statements of the transaction wait for locks; `0` means without limit. */
export const setLockTimeout = prepared<{ timeout: string }>()((value) =>
  db.selectNoFrom(sql`set_config('lock_timeout', ${value('timeout')}, true)`.as('timeout')),
);
