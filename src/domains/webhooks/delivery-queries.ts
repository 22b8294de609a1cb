import type { EntityManager } from '@mikro-orm/postgresql';
import { type RawBuilder, sql } from 'kysely';
import type { Subscriptions } from '../../core/config.ts';
import type { FeedTables } from '../../core/feed.ts';
import type { OrganizationId, WebhookId } from '../../core/ids.ts';
import { type Readable, anyOf, columns, queriesOn } from '../../core/postgres/reading/queries.ts';
import type { Sql } from '../../core/postgres/reading/sql.ts';
import type { OrganizationTables } from '../organizations/public.ts';
import { DELIVERY_COLUMNS, type DisabledReason, IS_QUEUED, type WebhookTables } from './entity.ts';
import type { DeliveryRow } from './queries.ts';

/** The statements of deliveries. They use the clock of the database for leases, because clocks of gateways can differ. */

const db = queriesOn<WebhookTables & FeedTables & OrganizationTables>();
const NOW = sql<string>`now()`;
const WAITS = sql<boolean>`d.${sql.raw(IS_QUEUED)}`;

export interface WebhookReference {
  readonly id: WebhookId;
  readonly organizationId: OrganizationId;
}

/** Webhooks with something to send to which no process sends, those that waited longest first. */
export function findDue(reader: Sql, at: Date, limit: number): Promise<WebhookReference[]> {
  const queued = db
    .selectFrom('webhook_delivery as d')
    .select('d.id')
    .where('d.organization_id', '=', sql.ref<string>('w.organization_id'))
    .where('d.webhook_id', '=', sql.ref<string>('w.id'))
    .where(WAITS);
  const unnumbered = db
    .selectFrom('feed_entry as e')
    .select('e.key')
    .where('e.organization_id', '=', sql.ref<string>('w.organization_id'))
    .where('e.id', 'is', null);
  return reader.primary.all(
    db
      .selectFrom('webhook as w')
      .leftJoin('feed_stream as s', 's.organization_id', 'w.organization_id')
      .select(['w.id', 'w.organization_id as organizationId'])
      .where((eb) => eb.or([eb('w.lease_until', 'is', null), eb('w.lease_until', '<=', NOW)]))
      .where((eb) =>
        eb.or([
          eb('w.requested_cursor', 'is not', null),
          eb.exists(queued),
          eb.and([
            eb('w.disabled_at', 'is', null),
            eb.or([eb('w.next_attempt_at', 'is', null), eb('w.next_attempt_at', '<=', at.toISOString())]),
            eb.or([eb('s.last_id', '>', eb.ref('w.cursor')), eb.exists(unnumbered)]),
          ]),
        ]),
      )
      .orderBy('w.lease_until', (order) => order.asc().nullsFirst())
      .limit(limit),
  );
}

export interface LeasedWebhook extends WebhookReference {
  readonly leaseId: string;
  readonly url: string;
  readonly types: readonly string[] | null;
  readonly cursor: number;
  readonly replayUntil: number | null;
  readonly attempts: number;
  readonly nextAttemptAt: string | null;
  readonly failingSince: string | null;
  readonly disabledAt: string | null;
  readonly previousSecretExpiresAt: string | null;
}

/** Takes the lease of a webhook, and begins a replay that was asked for. Undefined if it was deleted, or another process has the lease. */
export async function takeLease(
  reader: Sql,
  { id, organizationId }: WebhookReference,
  leaseId: string,
  leaseMs: number,
): Promise<LeasedWebhook | undefined> {
  const ifReplayed = <Value>(value: RawBuilder<unknown>, otherwise: string) =>
    sql<Value>`case when requested_cursor is null then ${sql.ref(otherwise)} else ${value} end`;
  const row = await reader.primary.first(
    db
      .updateTable('webhook')
      .set({
        lease_id: leaseId,
        lease_until: sql<string>`now() + ${leaseMs} * interval '1 millisecond'`,
        replay_until: ifReplayed<number>(sql`greatest(replay_until, cursor)`, 'replay_until'),
        cursor: ifReplayed<number>(sql`requested_cursor`, 'cursor'),
        attempts: ifReplayed<number>(sql`0`, 'attempts'),
        next_attempt_at: ifReplayed<string>(sql`null`, 'next_attempt_at'),
        requested_cursor: null,
      })
      .where('organization_id', '=', organizationId)
      .where('id', '=', id)
      .where((eb) => eb.or([eb('lease_until', 'is', null), eb('lease_until', '<=', NOW)]))
      .returning([
        'url',
        'types',
        'cursor',
        'replay_until as replayUntil',
        'attempts',
        'next_attempt_at as nextAttemptAt',
        'failing_since as failingSince',
        'disabled_at as disabledAt',
        'previous_secret_expires_at as previousSecretExpiresAt',
      ]),
  );
  return row && { id, organizationId, leaseId, ...row };
}

/** Renews leases, by their ids. */
export async function extendLeases(
  reader: Sql,
  leases: ReadonlyMap<string, WebhookReference>,
  leaseMs: number,
): Promise<void> {
  const organizationIds = [...leases.values()].map(({ organizationId }) => organizationId);
  await reader.primary.all(
    db
      .updateTable('webhook')
      .set({ lease_until: sql<string>`now() + ${leaseMs} * interval '1 millisecond'` })
      .where('organization_id', '=', anyOf('uuid', organizationIds))
      .where('lease_id', '=', anyOf('uuid', [...leases.keys()])),
  );
}

/** The oldest message that somebody asked for. */
export function findQueued(reader: Sql, { id, organizationId }: WebhookReference): Promise<DeliveryRow | undefined> {
  return reader.primary.first(
    db
      .selectFrom('webhook_delivery as d')
      .select(columns('d', DELIVERY_COLUMNS))
      .where('d.organization_id', '=', organizationId)
      .where('d.webhook_id', '=', id)
      .where(WAITS)
      .orderBy('d.created_at')
      .orderBy('d.id')
      .limit(1),
  );
}

/** What an organization lets its administrators see. */
export async function findSubscriptions(reader: Sql, id: OrganizationId): Promise<Subscriptions | undefined> {
  const row = await reader.primary.first(db.selectFrom('organization').select('subscriptions').where('id', '=', id));
  return row?.subscriptions;
}

/** What a delivery changes. */
export interface StateAfterDelivery {
  readonly cursor?: number;
  readonly replayUntil?: null;
  readonly attempts?: number;
  readonly nextAttemptAt?: Date | null;
  readonly failingSince?: Date | null;
  readonly lastDeliveredAt?: Date;
  readonly disabledAt?: Date;
  readonly disabledReason?: DisabledReason;
}

const tablesOf = (em: EntityManager) => em.getKysely<Readable<WebhookTables>>();

/**
 * Saves the state after a delivery and returns the lease, in the transaction of the caller.
 * @returns false if the webhook was deleted, or another process has taken the lease: then nothing is changed.
 */
export async function returnLease(
  em: EntityManager,
  { id, organizationId, leaseId }: LeasedWebhook,
  state: StateAfterDelivery = {},
): Promise<boolean> {
  const { cursor, attempts, nextAttemptAt, failingSince, lastDeliveredAt, disabledAt, disabledReason } = state;
  const { numUpdatedRows } = await tablesOf(em)
    .updateTable('webhook')
    .set({
      lease_id: null,
      lease_until: NOW,
      ...(cursor !== undefined && { cursor }),
      ...(state.replayUntil === null && { replay_until: null }),
      ...(attempts !== undefined && { attempts }),
      ...(nextAttemptAt !== undefined && { next_attempt_at: nextAttemptAt }),
      ...(failingSince !== undefined && { failing_since: failingSince }),
      ...(lastDeliveredAt && { last_delivered_at: lastDeliveredAt }),
      ...(disabledAt && { disabled_at: disabledAt }),
      ...(disabledReason && { disabled_reason: disabledReason }),
    })
    .where('organization_id', '=', organizationId)
    .where('id', '=', id)
    .where('lease_id', '=', leaseId)
    .executeTakeFirst();
  return numUpdatedRows > 0n;
}

export interface WebhookState {
  readonly state: 'enabled' | 'failing' | 'disabled';
  readonly count: number;
  /** Age of the earliest entry that is due; null if none waits. */
  readonly waitSeconds: number | null;
}

/** The numbers of webhooks by state, for metrics. */
export function countWebhookStates(reader: Sql): Promise<WebhookState[]> {
  const next = db
    .selectFrom('feed_entry as e')
    .select('e.created_at')
    .where('e.organization_id', '=', sql.ref<string>('w.organization_id'))
    .where('e.id', '>', sql.ref<number>('w.cursor'))
    .orderBy('e.id')
    .limit(1);
  const state = sql<WebhookState['state']>`case when w.disabled_at is not null then 'disabled'
    when w.failing_since is not null then 'failing' else 'enabled' end`;
  return reader.all(
    db
      .selectFrom('webhook as w')
      .leftJoinLateral(next.as('next'), (join) => join.onTrue())
      .select([state.as('state'), ({ fn }) => fn.countAll<number>().as('count')])
      .select(sql<number | null>`extract(epoch from now() - min(next.created_at))::float8`.as('waitSeconds'))
      .groupBy('state'),
  );
}

/** Saves the result of a message that waited. */
export async function settleQueued(
  em: EntityManager,
  { id, organizationId }: Pick<DeliveryRow, 'id' | 'organizationId'>,
  {
    state,
    status,
    error,
    answer,
    durationMs,
  }: Pick<DeliveryRow, 'state' | 'status' | 'error' | 'answer' | 'durationMs'>,
): Promise<void> {
  await tablesOf(em)
    .updateTable('webhook_delivery')
    .set({ state, status, error, answer, duration_ms: durationMs })
    .where('organization_id', '=', organizationId)
    .where('id', '=', id)
    .execute();
}
