import type { EntityManager } from '@mikro-orm/postgresql';
import { sql } from 'kysely';
import { requireOrganization } from '../../core/access.ts';
import type { OrganizationId, WebhookId } from '../../core/ids.ts';
import type { OperationContext } from '../../core/operation.ts';
import { defineList, inActingOrganization } from '../../core/postgres/reading/lists.ts';
import { type Readable, type RowOf, queriesOn } from '../../core/postgres/reading/queries.ts';
import { DAY_MS } from '../../core/text/timestamps.ts';
import {
  DELIVERY_COLUMNS,
  DELIVERY_STATES,
  type DeliveryState,
  IS_QUEUED,
  WEBHOOK_COLUMNS,
  type WebhookTables,
} from './entity.ts';
import type { DeliveryFilter, WebhookFilter } from './input.ts';
import { deleteWebhookSecrets, readAddresses } from './secrets.ts';

const db = queriesOn<WebhookTables>();
type Tables = Readable<WebhookTables>;

const INTERNAL = [
  'leaseId',
  'leaseUntil',
  'replayUntil',
  'generation',
  'failedEntryId',
  'replaysOnlyFailed',
  'lastTriedAt',
  'hasFailed',
  'timeouts',
  'numberedUntil',
] as const;
type Internal = (typeof INTERNAL)[number];
const isShown = <Name extends string>(name: Name): name is Exclude<Name, Internal> =>
  !INTERNAL.some((each) => each === name);

/** A row has the selected columns only; without a selection it has all columns. */
export type WebhookRow = Omit<RowOf<Tables['webhook']>, Internal>;
export type DeliveryRow = RowOf<Tables['webhook_delivery']>;

const SHOWN = WEBHOOK_COLUMNS.filter(isShown);
const KEPT_MS = 30 * DAY_MS;

export type WebhookOrderField = 'CREATED_AT' | 'UPDATED_AT';
export type DeliveryOrderField = 'CREATED_AT';

/** The webhooks of the acting organization. Their addresses are encrypted: see {@link withAddresses}. */
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

/** The rows with their addresses, if these were selected. */
export async function withAddresses(
  { secrets, sql: reader, actor }: Pick<OperationContext, 'secrets' | 'sql' | 'actor'>,
  rows: readonly WebhookRow[],
): Promise<WebhookRow[]> {
  const encrypted = rows.flatMap(({ id, url }) => (url === null ? [id] : []));
  const addresses = await readAddresses(reader, secrets, requireOrganization(actor).id, encrypted);
  return rows.map((row) => (row.url === null ? { ...row, url: addresses.get(row.id) ?? null } : row));
}

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
      message_id: row.messageId,
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
