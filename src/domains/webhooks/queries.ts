import type { EntityManager } from '@mikro-orm/postgresql';
import { sql } from 'kysely';
import type { OrganizationId, WebhookId } from '../../core/ids.ts';
import { defineList, inActingOrganization } from '../../core/postgres/reading/lists.ts';
import { type Readable, type RowOf, asRow, queriesOn } from '../../core/postgres/reading/queries.ts';
import { DAY_MS } from '../../core/text/timestamps.ts';
import {
  DELIVERY_COLUMNS,
  DELIVERY_STATES,
  type DeliveryState,
  IS_QUEUED,
  WEBHOOK_COLUMNS,
  type Webhook,
  type WebhookTables,
} from './entity.ts';
import type { DeliveryFilter, WebhookFilter } from './input.ts';
import { deleteWebhookSecrets } from './secrets.ts';

const db = queriesOn<WebhookTables>();
type Tables = Readable<WebhookTables>;

const INTERNAL = ['leaseId', 'leaseUntil', 'replayUntil', 'generation', 'failedEntryId', 'replaysOnlyFailed'] as const;
type Internal = (typeof INTERNAL)[number];
const isInternal = (name: string): name is Internal => INTERNAL.some((each) => each === name);

/** A row has the selected columns only; without a selection it has all columns. */
export type WebhookRow = Omit<RowOf<Tables['webhook']>, Internal>;
export type DeliveryRow = RowOf<Tables['webhook_delivery']>;

const SHOWN = WEBHOOK_COLUMNS.filter((name): name is keyof WebhookRow => !isInternal(name));
const KEPT_MS = 30 * DAY_MS;

export type WebhookOrderField = 'CREATED_AT' | 'UPDATED_AT';
export type DeliveryOrderField = 'CREATED_AT';

/** The webhooks of the acting organization. */
export const WEBHOOKS = defineList<WebhookRow, WebhookFilter, WebhookOrderField>()(db.selectFrom('webhook as w'), {
  name: 'WEBHOOK',
  alias: 'w',
  columns: SHOWN,
  reach: inActingOrganization,
  filter: ({ between }) => ({
    isEnabled: { inText: (isEnabled) => (isEnabled ? sql`w.disabled_at is null` : sql`w.disabled_at is not null`) },
    ...between('created', 'createdAt'),
  }),
  orders: { CREATED_AT: { createdAt: 'timestamptz' }, UPDATED_AT: { updatedAt: 'timestamptz' } },
});

interface DeliveryConditions extends DeliveryFilter {
  readonly webhookId?: WebhookId;
  readonly isOfWebhook?: true;
}

/** The deliveries of the acting organization. */
export const DELIVERIES = defineList<DeliveryRow, DeliveryConditions, DeliveryOrderField>()(
  db.selectFrom('webhook_delivery as d'),
  {
    name: 'WEBHOOK_DELIVERY',
    alias: 'd',
    columns: DELIVERY_COLUMNS,
    below: { parent: 'webhookId' },
    reach: inActingOrganization,
    filter: ({ is, oneOf, between }) => ({
      webhookId: is('webhookId'),
      // Whether the webhook exists.
      isOfWebhook: {
        inText: () =>
          sql`exists (select from webhook w where w.organization_id = d.organization_id and w.id = d.webhook_id)`,
      },
      // In the text: waiting deliveries are few and have a separate index, which a variable cannot use.
      states: { inText: (states) => sql`d.state = any(${sql.lit(`{${statesIn(states)}}`)}::text[])` },
      kinds: oneOf('kind'),
      ...between('created', 'createdAt'),
    }),
    orders: { CREATED_AT: { createdAt: 'timestamptz' } },
  },
);

/** Of the lists with the same states, one. */
const statesIn = (states: readonly DeliveryState[]) => DELIVERY_STATES.filter((state) => states.includes(state)).join();

const tablesOf = (em: EntityManager) => em.getKysely<Tables>();

/** The number of messages of a webhook that somebody asked for and that wait. */
export async function countQueued(
  em: EntityManager,
  organizationId: OrganizationId,
  webhookId: WebhookId,
): Promise<number> {
  const { count } = await tablesOf(em)
    .selectFrom('webhook_delivery')
    .select(({ fn }) => fn.countAll<string>().as('count'))
    .where('organization_id', '=', organizationId)
    .where('webhook_id', '=', webhookId)
    .where(sql<boolean>`${sql.raw(IS_QUEUED)}`)
    .executeTakeFirstOrThrow();
  return Number(count);
}

/** Adds a delivery that waits, in the transaction of the caller. */
export async function insertDelivery(em: EntityManager, row: DeliveryRow): Promise<void> {
  await tablesOf(em)
    .insertInto('webhook_delivery')
    .values({
      id: row.id,
      organization_id: row.organizationId,
      webhook_id: row.webhookId,
      kind: row.kind,
      state: row.state,
      type: row.type,
      feed_entry_id: row.feedEntryId,
      attempt: row.attempt,
      status: row.status,
      error: row.error,
      answer: row.answer,
      duration_ms: row.durationMs,
      created_at: row.createdAt,
    })
    .execute();
}

/** Deletes a batch of the deliveries that are older than 30 days. @returns how many. */
export async function deleteOldDeliveries(em: EntityManager, at: Date, batch: number): Promise<number> {
  const tables = tablesOf(em);
  const before = new Date(at.getTime() - KEPT_MS).toISOString();
  const some = tables
    .selectFrom('webhook_delivery')
    .select(['organization_id', 'id'])
    .where('created_at', '<', before)
    .orderBy('created_at')
    .limit(batch);
  const { numDeletedRows } = await tables
    .deleteFrom('webhook_delivery')
    .where((eb) => eb(eb.refTuple('organization_id', 'id'), 'in', some.$asTuple('organization_id', 'id')))
    .executeTakeFirst();
  return Number(numDeletedRows);
}

/** Deletes a batch of the deliveries of an organization. @returns how many. */
export async function deleteDeliveriesOf(
  em: EntityManager,
  organizationId: OrganizationId,
  batch: number,
): Promise<number> {
  const tables = tablesOf(em);
  const some = tables
    .selectFrom('webhook_delivery')
    .select('id')
    .where('organization_id', '=', organizationId)
    .limit(batch);
  const { numDeletedRows } = await tables
    .deleteFrom('webhook_delivery')
    .where('organization_id', '=', organizationId)
    .where('id', 'in', some)
    .executeTakeFirst();
  return Number(numDeletedRows);
}

/** Deletes the webhooks of an organization with their secrets. @returns their ids. */
export async function deleteWebhooksOf(em: EntityManager, organizationId: OrganizationId): Promise<WebhookId[]> {
  const deleted = await tablesOf(em)
    .deleteFrom('webhook')
    .where('organization_id', '=', organizationId)
    .returning('id')
    .execute();
  const ids = deleted.map(({ id }) => id);
  await deleteWebhookSecrets(em, ids);
  return ids;
}

/** The conditions of a webhook, as both APIs show them. */
export function conditionsOf({ sessionStates }: Pick<WebhookRow, 'sessionStates'>) {
  return sessionStates && { sessionStates };
}

/** When the next try is, as both APIs show it: null if one was asked for. */
export function nextAttemptOf({ isTryRequested, nextAttemptAt }: Pick<WebhookRow, 'isTryRequested' | 'nextAttemptAt'>) {
  return isTryRequested ? null : nextAttemptAt;
}

/** The row of a webhook that was just written. */
export function webhookRow({ organization, ...properties }: Webhook): WebhookRow {
  return asRow({ ...properties, organizationId: organization.id }, SHOWN);
}

/** The fields of a webhook that REST and the export of the organization have. */
export function webhookAnswer(row: WebhookRow) {
  return {
    id: row.id,
    url: row.url,
    types: row.types,
    conditions: conditionsOf(row),
    isEnabled: row.disabledAt === null,
    disabledAt: row.disabledAt,
    disabledReason: row.disabledReason,
    cursor: row.requestedCursor ?? row.cursor,
    attempts: row.attempts,
    nextAttemptAt: nextAttemptOf(row),
    failingSince: row.failingSince,
    disableAfter: row.disableAfter,
    lastDeliveredAt: row.lastDeliveredAt,
    previousSecretExpiresAt: row.previousSecretExpiresAt,
    createdAt: row.createdAt,
    updatedAt: row.updatedAt,
  };
}
