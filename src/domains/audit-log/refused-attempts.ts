import { sql } from 'kysely';
import type { AuditTables, Refusal, RequestIdOrigin } from '../../core/audit.ts';
import { type ApiKeyId, type OrganizationId, idAt } from '../../core/ids.ts';
import { prepared, queriesOn } from '../../core/postgres/reading/queries.ts';
import type { Sql } from '../../core/postgres/reading/sql.ts';
import type { ApiKeyTables } from '../api-keys/public.ts';
import type { RefusedAttemptTables } from './entity.ts';

/** A refused attempt with a known API key, which may be revoked. */
export interface NewRefusedAttempt {
  readonly keyId: ApiKeyId;
  readonly refusal: Refusal;
  /** The acting organization of the request. When undefined, the organization of the key is recorded. */
  readonly organizationId: OrganizationId | undefined;
  readonly operation: string;
  /** What the caller was told. */
  readonly message: string;
  readonly requestId: string;
  readonly requestIdOrigin: RequestIdOrigin;
}

interface Values extends Omit<NewRefusedAttempt, 'organizationId'> {
  readonly organizationId: OrganizationId | null;
  readonly id: string;
  readonly at: Date;
}

const db = queriesOn<AuditTables & ApiKeyTables & RefusedAttemptTables>();

/** One statement: it reserves the minute for key and reason, and writes the entry only when the minute was not reserved yet. */
const record = prepared<Values>()((value) => {
  const at = sql<Date>`${value('at')}::timestamptz`;
  return db
    .with('claimed', (query) =>
      query
        .insertInto('refused_attempt')
        .values({ key_id: value('keyId'), refusal: value('refusal'), recorded_at: at })
        .onConflict((conflict) =>
          conflict
            .columns(['key_id', 'refusal'])
            .doUpdateSet((eb) => ({ recorded_at: eb.ref('excluded.recorded_at') }))
            // A stored time in the future means that the clock was set back; `abs` lets such a row expire too.
            .where(
              sql<boolean>`abs(extract(epoch from excluded.recorded_at - refused_attempt.recorded_at)) >= ${sql.lit(SECONDS)}`,
            ),
        )
        .returning('key_id'),
    )
    .insertInto('audit_entry')
    .columns([
      'occurred_at',
      'id',
      'organization_id',
      'source',
      'key_id',
      'operation',
      'target_type',
      'target_id',
      'target_label',
      'request_id',
      'request_id_origin',
      'refusal',
      'detail',
    ])
    .expression((eb) =>
      eb
        .selectFrom('claimed')
        .innerJoin('api_key as k', 'k.id', 'claimed.key_id')
        .select([
          at.as('occurredAt'),
          sql<string>`${value('id')}::uuid`.as('id'),
          sql<string | null>`coalesce(${value('organizationId')}::uuid, k.organization_id)`.as('organizationId'),
          sql<'request'>`'request'`.as('source'),
          'k.id as keyId',
          sql<string>`${value('operation')}::text`.as('operation'),
          sql<string>`'ApiKey'`.as('targetType'),
          'k.id as targetId',
          sql<string>`concat_ws(' ', k.name, '(' || nullif(k.preview, '') || ')')`.as('targetLabel'),
          sql<string>`${value('requestId')}::text`.as('requestId'),
          sql<RequestIdOrigin>`${value('requestIdOrigin')}::text`.as('requestIdOrigin'),
          sql<Refusal>`${value('refusal')}::text`.as('refusal'),
          sql<string>`left(${value('message')}::text, ${sql.lit(MAX_DETAIL)})`.as('detail'),
        ]),
    );
});

const SECONDS = 60;
/** Longer messages list the scopes that a key lacks. */
const MAX_DETAIL = 1000;

/** Writes an entry for the refused attempt, unless one was written for the same key and reason in the last minute. */
export async function recordRefusedAttempt(
  { sql: writer, now, newId }: { readonly sql: Sql; readonly now: () => Date; readonly newId: () => string },
  { organizationId, ...rest }: NewRefusedAttempt,
): Promise<void> {
  const at = now();
  await writer.all(record({ ...rest, organizationId: organizationId ?? null, id: idAt(at, newId()), at }));
}
