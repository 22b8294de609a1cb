import { type InferKyselyDB, defineEntity, p } from '@mikro-orm/postgresql';
import type { FeedType } from '../../core/feed.ts';
import type { OrganizationId, WebhookDeliveryId, WebhookId } from '../../core/ids.ts';
import { columnNames } from '../../core/postgres/reading/queries.ts';
import { Organization } from '../organizations/public.ts';
import type { SessionState } from '../sessions/public.ts';

/** Why a webhook is disabled. */
export const DISABLED_REASONS = ['requested', 'gone', 'failing'] as const;
export type DisabledReason = (typeof DISABLED_REASONS)[number];

export const DELIVERY_KINDS = ['entry', 'replay', 'redelivery', 'ping'] as const;
export type DeliveryKind = (typeof DELIVERY_KINDS)[number];

export const DELIVERY_STATES = ['queued', 'succeeded', 'failed'] as const;
export type DeliveryState = (typeof DELIVERY_STATES)[number];
/** As the condition of an index, which serves only statements with the same text. */
export const IS_QUEUED = `state = 'queued'`;

/** The type of the message of a ping. */
export const PING = 'webhook.ping';

/** Versions before this one know only the ids of 1.0 for messages, and addresses that are not encrypted. */
export const KNOWS_SECRET_ADDRESSES = '1.1.0';

const WebhookSchema = defineEntity({
  name: 'Webhook',
  tableName: 'webhook',
  properties: {
    id: p.uuid().$type<WebhookId>().primary(),
    organization: () => p.manyToOne(Organization).deleteRule('cascade'),
    /** The address, as long as an earlier version can need it. Null when it is stored as a secret. */
    url: p.text().nullable(),
    /** Messages about later entries have random ids, those up to it the ids of 1.0. Null while an earlier version can send some. */
    numberedUntil: p.bigint('number').nullable(),
    /** Null for all types. */
    types: p.array<FeedType>().nullable(),
    /** The states to which a session must change for `session.state_changed` to be sent. Null for all. */
    sessionStates: p.array<SessionState>().nullable(),
    /** Counts the changes of what is sent where. The result of a request counts only for the generation that it was sent for. */
    generation: p.integer().default(0),
    /** Id of the last entry of the feed that was delivered, given up, or is not for this webhook. */
    cursor: p.bigint('number'),
    /** A replay that was asked for: the cursor that the next delivery begins with. */
    requestedCursor: p.bigint('number').nullable(),
    /** Of a replay: only entries that were never delivered are sent. */
    replaysOnlyFailed: p.boolean().default(false),
    /** Entries up to this id are replayed. They do not count as health. */
    replayUntil: p.bigint('number').nullable(),
    /** Failed tries of the entry with the id `failedEntryId`, without those that were asked for. */
    attempts: p.integer(),
    failedEntryId: p.bigint('number').nullable(),
    nextAttemptAt: p.datetime().nullable(),
    /** Somebody asked for a try at once, which is no step of the schedule, maybe during a request. Taking the lease resets it. */
    isTryRequested: p.boolean().default(false),
    /** The first failure since the last success. */
    failingSince: p.datetime().nullable(),
    /** A failure after this time disables the webhook. Null until that is announced, a day before. */
    disableAfter: p.datetime().nullable(),
    lastDeliveredAt: p.datetime().nullable(),
    /** The last try of any message: when it was, whether it failed, and how many up to it were not answered in time. */
    lastTriedAt: p.datetime().nullable(),
    hasFailed: p.boolean().default(false),
    timeouts: p.integer().default(0),
    disabledAt: p.datetime().nullable(),
    disabledReason: p.enum(DISABLED_REASONS).nullable(),
    /** Until then the previous secret signs too. */
    previousSecretExpiresAt: p.datetime().nullable(),
    /** The process with this lease sends the next requests, and no other one does until then. The end of a turn resets the id. */
    leaseId: p.uuid().nullable(),
    leaseUntil: p.datetime().nullable(),
    createdAt: p.datetime(),
    updatedAt: p.datetime(),
  },
  indexes: [{ name: 'webhook_organization_index', properties: ['organization', 'createdAt', 'id'] }],
});

/** An address that gets the entries of the feed as they are added: a cursor on the feed, and how its deliveries go. */
export class Webhook extends WebhookSchema.class {
  /** Forgets the failures, so that the next entry is sent at once, and the result of a request that is on its way. */
  startAgain(): void {
    this.generation += 1;
    this.attempts = 0;
    this.failedEntryId = null;
    this.nextAttemptAt = null;
    this.failingSince = null;
    this.disableAfter = null;
    this.lastTriedAt = null;
    this.hasFailed = false;
    this.timeouts = 0;
  }

  enable(): void {
    this.disabledAt = null;
    this.disabledReason = null;
    this.startAgain();
  }

  /** Makes a try due at once, also if a request that is on its way fails. */
  tryNow(): void {
    this.isTryRequested = true;
  }

  disable(reason: DisabledReason, at: Date): void {
    this.generation += 1;
    this.disableAfter = null;
    this.disabledAt = at;
    this.disabledReason = reason;
  }
}
WebhookSchema.setClass(Webhook);

const WebhookDeliverySchema = defineEntity({
  name: 'WebhookDelivery',
  tableName: 'webhook_delivery',
  properties: {
    id: p.uuid().$type<WebhookDeliveryId>().primary(),
    /** Neither is a foreign key: rows of a deleted webhook expire, because they can be too many for one transaction. */
    organizationId: p.uuid().$type<OrganizationId>(),
    webhookId: p.uuid().$type<WebhookId>(),
    kind: p.enum(DELIVERY_KINDS),
    state: p.enum(DELIVERY_STATES),
    type: p.text(),
    /** Null for an id of 1.0, which is made of the id of the entry, and for a ping. */
    messageId: p.text().nullable(),
    /** Null for a ping. The entry is read from the feed again, so that nothing of it is kept here. */
    feedEntryId: p.bigint('number').nullable(),
    attempt: p.integer(),
    status: p.integer().nullable(),
    error: p.text().nullable(),
    answer: p.text().nullable(),
    durationMs: p.integer().nullable(),
    createdAt: p.datetime(),
  },
  indexes: [
    { name: 'webhook_delivery_webhook_index', properties: ['webhookId', 'createdAt', 'id'] },
    { name: 'webhook_delivery_organization_index', properties: ['organizationId'] },
    { name: 'webhook_delivery_queued_index', properties: ['webhookId'], where: IS_QUEUED },
    { name: 'webhook_delivery_created_index', properties: ['createdAt'] },
  ],
});

/** A try to deliver a message, or a message that somebody asked for and that waits. Read as rows, never as entities. */
export class WebhookDelivery extends WebhookDeliverySchema.class {}
WebhookDeliverySchema.setClass(WebhookDelivery);

export type WebhookTables = InferKyselyDB<typeof WebhookSchema | typeof WebhookDeliverySchema>;
export const WEBHOOK_COLUMNS = columnNames<WebhookTables, 'webhook'>(WebhookSchema, 'webhook');
export const DELIVERY_COLUMNS = columnNames<WebhookTables, 'webhook_delivery'>(
  WebhookDeliverySchema,
  'webhook_delivery',
);
