import { sql } from 'kysely';
import { keysOf } from '../../core/keys-of.ts';
import { type ValueOf, prepared, queriesOn, snake } from '../../core/postgres/reading/queries.ts';
import type { Sql } from '../../core/postgres/reading/sql.ts';
import type { LeasedWebhook } from './delivery-queries.ts';
import type { WebhookTables } from './entity.ts';
import type { DeliveryRow } from './queries.ts';

/**
 * The statements that save the result of a request, one for each message. A result counts only while the process has the lease, and for the
 * generation of the webhook that it was sent for.
 */

const db = queriesOn<WebhookTables>();

/** The lease is renewed with each result, so that it holds for the next request. */
type Progress = LeasedWebhook & { readonly leaseMs: number };
type EntryResult = Progress & { readonly [Name in keyof DeliveryRow as `log_${Name}`]: DeliveryRow[Name] };
type QueuedResult = Progress &
  Pick<DeliveryRow, 'state' | 'status' | 'error' | 'answer' | 'durationMs'> & { readonly deliveryId: string };

const LOG_TYPES = {
  id: 'uuid',
  organizationId: 'uuid',
  webhookId: 'uuid',
  kind: 'text',
  state: 'text',
  type: 'text',
  messageId: 'text',
  feedEntryId: 'bigint',
  attempt: 'int',
  status: 'int',
  error: 'text',
  answer: 'text',
  durationMs: 'int',
  createdAt: 'timestamptz',
} as const satisfies Readonly<Record<keyof DeliveryRow, string>>;

/** Saves the state, if the result counts. It goes on unless a replay or another secret was asked for meanwhile; a try then remains asked for. */
function progress(value: ValueOf<Progress>) {
  const goesOn = sql<boolean>`(requested_cursor is null and previous_secret_expires_at is not distinct from ${value('previousSecretExpiresAt')}::timestamptz)`;
  return db
    .updateTable('webhook')
    .set({
      lease_until: sql<string>`now() + ${value('leaseMs')}::int * interval '1 millisecond'`,
      cursor: sql<number>`${value('cursor')}::bigint`,
      replay_until: sql<number>`${value('replayUntil')}::bigint`,
      attempts: sql<number>`${value('attempts')}::int`,
      failed_entry_id: sql<number>`${value('failedEntryId')}::bigint`,
      next_attempt_at: sql<string>`${value('nextAttemptAt')}::timestamptz`,
      is_try_requested: sql<boolean>`is_try_requested or (${value('isTryAsked')}::boolean and not ${goesOn})`,
      failing_since: sql<string>`${value('failingSince')}::timestamptz`,
      disable_after: sql<string>`${value('disableAfter')}::timestamptz`,
      last_delivered_at: sql<string>`${value('lastDeliveredAt')}::timestamptz`,
      last_tried_at: sql<string>`${value('lastTriedAt')}::timestamptz`,
      has_failed: sql<boolean>`${value('hasFailed')}::boolean`,
      timeouts: sql<number>`${value('timeouts')}::int`,
      disabled_at: sql<string>`${value('disabledAt')}::timestamptz`,
      disabled_reason: sql<'gone'>`${value('disabledReason')}::text`,
    })
    .where('organization_id', '=', sql<LeasedWebhook['organizationId']>`${value('organizationId')}`)
    .where('id', '=', sql<LeasedWebhook['id']>`${value('id')}`)
    .where('lease_id', '=', sql<string>`${value('leaseId')}`)
    .where('generation', '=', sql<number>`${value('generation')}`)
    .returning(goesOn.as('goesOn'));
}

function log(value: ValueOf<EntryResult>) {
  const names = keysOf(LOG_TYPES);
  return db
    .insertInto('webhook_delivery')
    .columns(names.map(snake))
    .expression(
      db
        .selectFrom(sql`held`.as('held'))
        .select(names.map((name) => sql`${value(`log_${name}`)}::${sql.raw(LOG_TYPES[name])}`.as(name))),
    );
}

const entryResult = prepared<EntryResult>()((value) =>
  db
    .with('held', () => progress(value))
    .with('logged', () => log(value))
    .selectFrom('held')
    .select('goesOn'),
);

/** Only the log: the webhook was changed during the request. */
const abandonedResult = prepared<EntryResult>()((value) =>
  db
    .with('held', () =>
      db
        .selectFrom('webhook')
        .select('id')
        .where('organization_id', '=', sql<LeasedWebhook['organizationId']>`${value('organizationId')}`)
        .where('lease_id', '=', sql<string>`${value('leaseId')}`),
    )
    .with('logged', () => log(value))
    .selectFrom('held')
    .select(sql<boolean>`false`.as('goesOn')),
);

const queuedResult = prepared<QueuedResult>()((value) =>
  db
    .with('held', () => progress(value))
    .with('logged', () =>
      db
        .updateTable('webhook_delivery')
        .from(sql<object>`held`.as('held'))
        .set({
          state: sql<'failed'>`${value('state')}::text`,
          status: sql<number>`${value('status')}::int`,
          error: sql<string>`${value('error')}::text`,
          answer: sql<string>`${value('answer')}::text`,
          duration_ms: sql<number>`${value('durationMs')}::int`,
        })
        .where(
          'webhook_delivery.organization_id',
          '=',
          sql<LeasedWebhook['organizationId']>`${value('organizationId')}`,
        )
        .where('webhook_delivery.id', '=', sql<DeliveryRow['id']>`${value('deliveryId')}`),
    )
    .selectFrom('held')
    .select('goesOn'),
);

/** Saves the result of the delivery of an entry. @returns whether the turn may go on; undefined if the result does not count. */
export async function saveEntryResult(
  reader: Sql,
  webhook: LeasedWebhook,
  row: DeliveryRow,
  leaseMs: number,
): Promise<boolean | undefined> {
  const logged = Object.fromEntries(keysOf(LOG_TYPES).map((name) => [`log_${name}`, row[name]]));
  // The names are those of the type.
  const values = { ...webhook, ...logged, leaseMs } as EntryResult;
  const [saved] = await reader.primary.all(entryResult(values));
  if (!saved) await reader.primary.all(abandonedResult(values));
  return saved?.goesOn;
}

/** Saves the result of a message that somebody asked for. It waits again if the webhook was changed during the request. */
export async function saveQueuedResult(
  reader: Sql,
  webhook: LeasedWebhook,
  { id: deliveryId, state, status, error, answer, durationMs }: DeliveryRow,
  leaseMs: number,
): Promise<boolean> {
  const values = { ...webhook, deliveryId, state, status, error, answer, durationMs, leaseMs };
  return (await reader.primary.first(queuedResult(values)))?.goesOn ?? false;
}

/** Lets another process take the lease at once, and begin again what was interrupted. */
export async function releaseLease(
  reader: Sql,
  { id, organizationId, leaseId }: Pick<LeasedWebhook, 'id' | 'organizationId' | 'leaseId'>,
): Promise<void> {
  await reader.primary.all(
    db
      .updateTable('webhook')
      .set({ lease_until: sql<string>`now()` })
      .where('organization_id', '=', organizationId)
      .where('id', '=', id)
      .where('lease_id', '=', leaseId),
  );
}

/** Ends a lease. With a cursor, nothing up to it waits for the webhook: an entry that failed is no longer for it. */
export async function returnLease(
  reader: Sql,
  { id, organizationId, leaseId, generation }: LeasedWebhook,
  cursor?: number,
): Promise<void> {
  const ifCurrent = <Value>(
    value: Value,
    column: 'cursor' | 'replay_until' | 'attempts' | 'failed_entry_id' | 'next_attempt_at',
  ) => sql<Value>`case when generation = ${generation} then ${value} else ${sql.ref(column)} end`;
  const unlessSkipped = (column: 'failing_since' | 'disable_after') =>
    sql<string>`case when generation = ${generation} and failed_entry_id is not null then null else ${sql.ref(column)} end`;
  await reader.primary.all(
    db
      .updateTable('webhook')
      .set({
        lease_id: null,
        lease_until: sql<string>`now()`,
        ...(cursor !== undefined && {
          cursor: ifCurrent(cursor, 'cursor'),
          replay_until: ifCurrent(null, 'replay_until'),
          attempts: ifCurrent(0, 'attempts'),
          failed_entry_id: ifCurrent(null, 'failed_entry_id'),
          next_attempt_at: ifCurrent(null, 'next_attempt_at'),
          failing_since: unlessSkipped('failing_since'),
          disable_after: unlessSkipped('disable_after'),
        }),
      })
      .where('organization_id', '=', organizationId)
      .where('id', '=', id)
      .where('lease_id', '=', leaseId),
  );
}
