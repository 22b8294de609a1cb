import { type RawBuilder, sql } from 'kysely';
import type { Subscriptions } from '../../core/config.ts';
import type { FeedTables } from '../../core/feed.ts';
import type { OrganizationId, UserId, WebhookId } from '../../core/ids.ts';
import { anyOf, columns, queriesOn } from '../../core/postgres/reading/queries.ts';
import type { Sql } from '../../core/postgres/reading/sql.ts';
import type { OrganizationTables } from '../organizations/public.ts';
import { DELIVERY_COLUMNS, type DisabledReason, IS_QUEUED, type WebhookTables } from './entity.ts';
import type { DeliveryRow } from './queries.ts';

/** The statements of deliveries. They use the clock of the database for leases, because clocks of gateways can differ. */

const db = queriesOn<WebhookTables & FeedTables & OrganizationTables>();
const NOW = sql<string>`now()`;
const WAITS = sql<boolean>`d.${sql.raw(IS_QUEUED)}`;

const afterNow = (ms: number) => sql<string>`now() + ${ms} * interval '1 millisecond'`;

export interface WebhookReference {
  readonly id: WebhookId;
  readonly organizationId: OrganizationId;
}

export interface DueWebhook extends WebhookReference {
  /** Who created the organization; null if the account was deleted. */
  readonly creatorId: UserId | null;
  /** Whether its last delivery has failed. */
  readonly hasFailed: boolean;
}

/**
 * Webhooks with something to send to which no process sends, some of each organization: those first whose last delivery has not failed, and of
 * an organization those that waited longest.
 */
export function findDue(
  reader: Sql,
  at: Date,
  limits: { readonly all: number; readonly ofOrganization: number },
): Promise<DueWebhook[]> {
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
  const due = db
    .selectFrom('webhook as w')
    .innerJoin('organization as o', 'o.id', 'w.organization_id')
    .leftJoin('feed_stream as s', 's.organization_id', 'w.organization_id')
    .select(['w.id', 'w.organization_id as organizationId', 'o.creator_id as creatorId'])
    .select(['w.has_failed as hasFailed', 'w.lease_until as leaseUntil'])
    .select(
      sql<number>`row_number() over (partition by w.organization_id order by w.has_failed, w.lease_until nulls first)`.as(
        'turn',
      ),
    )
    .where((eb) => eb.or([eb('w.lease_until', 'is', null), eb('w.lease_until', '<=', NOW)]))
    .where((eb) =>
      eb.or([
        eb('w.requested_cursor', 'is not', null),
        eb.exists(queued),
        eb.and([
          eb('w.disabled_at', 'is', null),
          eb.or([
            eb('w.is_try_requested', '=', true),
            eb('w.lease_id', 'is not', null),
            eb('w.next_attempt_at', 'is', null),
            eb('w.next_attempt_at', '<=', at.toISOString()),
          ]),
          eb.or([eb('s.last_id', '>', eb.ref('w.cursor')), eb.exists(unnumbered)]),
        ]),
      ]),
    )
    .as('due');
  return reader.primary.all(
    db
      .selectFrom(due)
      .select(['id', 'organizationId', 'creatorId', 'hasFailed'])
      .where('turn', '<=', limits.ofOrganization)
      .orderBy('hasFailed')
      .orderBy('turn')
      .orderBy('leaseUntil', (order) => order.asc().nullsFirst())
      .limit(limits.all),
  );
}

/** The state of the deliveries of a webhook, which results of requests change. */
export interface DeliveryProgress {
  readonly cursor: number;
  readonly replayUntil: number | null;
  readonly attempts: number;
  readonly failedEntryId: number | null;
  readonly nextAttemptAt: string | null;
  readonly failingSince: string | null;
  readonly disableAfter: string | null;
  readonly lastDeliveredAt: string | null;
  readonly lastTriedAt: string | null;
  readonly hasFailed: boolean;
  readonly timeouts: number;
  readonly disabledAt: string | null;
  readonly disabledReason: DisabledReason | null;
}

export interface LeasedWebhook extends WebhookReference, DeliveryProgress {
  readonly leaseId: string;
  readonly generation: number;
  /** The entry that failed is tried now, although the schedule may have its next try later. */
  readonly isTryAsked: boolean;
  readonly replaysOnlyFailed: boolean;
  readonly url: string | null;
  readonly numberedUntil: number | null;
  readonly types: readonly string[] | null;
  readonly sessionStates: readonly string[] | null;
  readonly previousSecretExpiresAt: string | null;
}

const PROGRESS = [
  'cursor',
  'replayUntil',
  'attempts',
  'failedEntryId',
  'nextAttemptAt',
  'failingSince',
  'disableAfter',
  'lastDeliveredAt',
  'lastTriedAt',
  'hasFailed',
  'timeouts',
  'disabledAt',
  'disabledReason',
] as const satisfies readonly (keyof DeliveryProgress)[];

/**
 * Takes the lease of a webhook, and begins a replay or a try that was asked for. After a lease that was not ended, its try is begun again.
 * @returns undefined if the webhook was deleted, or another process has the lease.
 */
export async function takeLease(
  reader: Sql,
  { id, organizationId }: WebhookReference,
  leaseId: string,
  leaseMs: number,
): Promise<LeasedWebhook | undefined> {
  const ifReplayed = <Value>(value: RawBuilder<unknown>, otherwise: string) =>
    sql<Value>`case when requested_cursor is null then ${sql.ref(otherwise)} else ${value} end`;
  const free = db
    .selectFrom('webhook as w')
    .select('w.id as freeId')
    .select(sql<boolean>`w.is_try_requested or w.lease_id is not null`.as('isTryAsked'))
    .where('w.organization_id', '=', organizationId)
    .where('w.id', '=', id)
    .where((eb) => eb.or([eb('w.lease_until', 'is', null), eb('w.lease_until', '<=', NOW)]))
    .forUpdate();
  const row = await reader.primary.first(
    db
      .updateTable('webhook')
      .from(free.as('free'))
      .set({
        lease_id: leaseId,
        lease_until: afterNow(leaseMs),
        replay_until: ifReplayed<number>(sql`greatest(replay_until, cursor)`, 'replay_until'),
        cursor: ifReplayed<number>(sql`requested_cursor`, 'cursor'),
        attempts: ifReplayed<number>(sql`0`, 'attempts'),
        next_attempt_at: ifReplayed<string>(sql`null`, 'next_attempt_at'),
        requested_cursor: null,
        is_try_requested: false,
      })
      .where('organization_id', '=', organizationId)
      .whereRef('id', '=', 'free.freeId')
      .returning([
        'free.isTryAsked',
        'url',
        'numbered_until as numberedUntil',
        'types',
        'session_states as sessionStates',
        'generation',
        'replays_only_failed as replaysOnlyFailed',
        'previous_secret_expires_at as previousSecretExpiresAt',
        ...columns('webhook', PROGRESS),
      ]),
  );
  return row && { id, organizationId, leaseId, ...row };
}

/** Gives the messages random ids about entries that the webhook has not tried. @returns the last entry that it may have tried. */
export async function endNumberedIds(
  reader: Sql,
  { id, organizationId, leaseId, isTryAsked }: LeasedWebhook,
): Promise<number | null> {
  const head = db
    .selectFrom('feed_stream as s')
    .select('s.last_id')
    .where('s.organization_id', '=', organizationId)
    .where(sql<boolean>`${isTryAsked}`);
  const row = await reader.primary.first(
    db
      .updateTable('webhook')
      // After a process that died, nobody knows what it has tried.
      .set({ numbered_until: sql<number>`greatest(cursor, replay_until, failed_entry_id, (${head}))` })
      .where('organization_id', '=', organizationId)
      .where('id', '=', id)
      .where('lease_id', '=', leaseId)
      .returning('numbered_until as numberedUntil'),
  );
  return row?.numberedUntil ?? null;
}

/** Renews leases. @returns the generations of their webhooks by the ids of the leases that are still held. */
export async function extendLeases(
  reader: Sql,
  leases: readonly LeasedWebhook[],
  leaseMs: number,
): Promise<Map<string, number>> {
  const rows = await reader.primary.all(
    db
      .updateTable('webhook')
      .set({ lease_until: afterNow(leaseMs) })
      .where(
        'organization_id',
        '=',
        anyOf(
          'uuid',
          leases.map(({ organizationId }) => organizationId),
        ),
      )
      .where(
        'lease_id',
        '=',
        anyOf(
          'uuid',
          leases.map(({ leaseId }) => leaseId),
        ),
      )
      .returning(['lease_id as leaseId', 'generation']),
  );
  return new Map(rows.map(({ leaseId, generation }) => [leaseId ?? '', generation]));
}

/** The messages that somebody asked for, oldest first. */
export const findQueued = (reader: Sql, { id, organizationId }: WebhookReference): Promise<DeliveryRow[]> =>
  reader.primary.all(
    db
      .selectFrom('webhook_delivery as d')
      .select(columns('d', DELIVERY_COLUMNS))
      .where('d.organization_id', '=', organizationId)
      .where('d.webhook_id', '=', id)
      .where(WAITS)
      .orderBy('d.created_at')
      .orderBy('d.id'),
  );

/** Entries of a replay that were tried and never delivered. The log of 30 days is read once for each page of them. */
export async function findFailedEntries(
  reader: Sql,
  { id, organizationId, cursor, replayUntil }: LeasedWebhook,
  limit: number,
): Promise<number[]> {
  const rows = await reader.primary.all(
    db
      .selectFrom('webhook_delivery as d')
      .select('d.feed_entry_id as entryId')
      .where('d.organization_id', '=', organizationId)
      .where('d.webhook_id', '=', id)
      .where('d.feed_entry_id', '>', cursor)
      .where('d.feed_entry_id', '<=', replayUntil)
      .groupBy('d.feed_entry_id')
      .having(sql<boolean>`bool_and(d.state = 'failed')`)
      .orderBy('d.feed_entry_id')
      .limit(limit),
  );
  return rows.flatMap(({ entryId }) => entryId ?? []);
}

/** What an organization lets its administrators see. */
export async function findSubscriptions(reader: Sql, id: OrganizationId): Promise<Subscriptions | undefined> {
  const row = await reader.primary.first(db.selectFrom('organization').select('subscriptions').where('id', '=', id));
  return row?.subscriptions;
}

export interface WebhookState {
  readonly state: 'enabled' | 'failing' | 'disabled';
  readonly count: number;
  /** Age of the earliest entry that is due, with or without a number; null if none waits. */
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
  const unnumbered = db
    .selectFrom('feed_entry as u')
    .select('u.recorded_at')
    .where('u.organization_id', '=', sql.ref<string>('w.organization_id'))
    .where('u.id', 'is', null)
    .orderBy('u.recorded_at')
    .limit(1);
  const state = sql<WebhookState['state']>`case when w.disabled_at is not null then 'disabled'
    when w.failing_since is not null then 'failing' else 'enabled' end`;
  return reader.all(
    db
      .selectFrom('webhook as w')
      .leftJoinLateral(next.as('next'), (join) => join.onTrue())
      .leftJoinLateral(unnumbered.as('unnumbered'), (join) => join.onTrue())
      .select([state.as('state'), ({ fn }) => fn.countAll<number>().as('count')])
      .select(
        sql<
          number | null
        >`extract(epoch from now() - min(coalesce(next.created_at, unnumbered.recorded_at)))::float8`.as('waitSeconds'),
      )
      .groupBy('state'),
  );
}
