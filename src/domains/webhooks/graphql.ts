import { shown } from '../../core/graphql/derived-fields.ts';
import { OWN_STATEMENT, builder } from '../../core/graphql/builder.ts';
import { filterType, inputType } from '../../core/graphql/derived-inputs.ts';
import { enumOf } from '../../core/graphql/enums.ts';
import { type PayloadFields, deleted, mutation, one } from '../../core/graphql/mutations.ts';
import { entityType, nodeQuery, resolveNode } from '../../core/graphql/nodes.ts';
import { listBelow, listType } from '../../core/graphql/lists.ts';
import { referenceTo } from '../../core/graphql/references.ts';
import { needs } from '../../core/graphql/selection.ts';
import { FeedEntryType } from '../feed/graphql.ts';
import { organizationList } from '../organizations/graphql/organization-list.ts';
import '../sessions/graphql/enums.ts';
import { DELIVERY_KINDS, DELIVERY_STATES, DISABLED_REASONS } from './entity.ts';
import { conditionsInput, deliveryFilter, webhookFilter } from './input.ts';
import {
  type WebhookWithSecret,
  createWebhook,
  deleteWebhook,
  listWebhooks,
  pingWebhook,
  readWebhookDeliveries,
  readWebhooks,
  redeliverWebhook,
  replayWebhook,
  rotateWebhookSecret,
  tryWebhookNow,
  updateWebhook,
} from './operations.ts';
import { messageIdOf } from './message.ts';
import { MANAGE_WEBHOOKS } from './policy.ts';
import {
  SECRET_TEXT,
  conditionsDocument,
  conditionsOf,
  cursorOf,
  deliveryDocument,
  labelOf,
  nextAttemptOf,
  urlOf,
  webhookDocument,
} from './documents.ts';
import { DELIVERIES, type DeliveryRow, type WebhookRow } from './queries.ts';
import { DELIVERY_KIND_TEXTS, DELIVERY_STATE_TEXTS, DISABLED_REASON_TEXTS } from './texts.ts';

enumOf('WebhookDisabledReason', 'Why a webhook is disabled.', DISABLED_REASONS, DISABLED_REASON_TEXTS);
enumOf('WebhookDeliveryKind', 'Why a message is sent to a webhook.', DELIVERY_KINDS, DELIVERY_KIND_TEXTS);
enumOf('WebhookDeliveryState', 'Whether a message was delivered to a webhook.', DELIVERY_STATES, DELIVERY_STATE_TEXTS);

const DeliveryType = entityType<DeliveryRow>('WebhookDelivery', {
  stored: { table: 'webhook_delivery' },
  description:
    'A request to a webhook with its result, or a message that waits. Kept for 30 days. Only administrators of the organization can see it.',
  read: readWebhookDeliveries,
  fields: (t) => ({
    ...shown(t, deliveryDocument, [
      'kind',
      'state',
      'type',
      'feedEntryId',
      'attempt',
      'status',
      'error',
      'answer',
      'durationMs',
      'createdAt',
    ]),
    messageId: t.string({
      description: deliveryDocument.shape.messageId.description,
      extensions: needs<DeliveryRow>('id', 'organizationId', 'messageId', 'feedEntryId'),
      resolve: messageIdOf,
    }),
  }),
});

const DELIVERY_LIST = listType(DeliveryType, {
  of: 'deliveries',
  filter: filterType('WebhookDeliveryFilter', deliveryFilter),
  conditions: 'Conditions on the deliveries. When absent, all deliveries are listed.',
  fields: { CREATED_AT: 'When the message was sent, or since when it waits.' },
  otherwise: { field: 'CREATED_AT', direction: 'DESC' },
});

inputType('WebhookConditionsInput', conditionsInput);

const ConditionsType = builder.objectRef<NonNullable<ReturnType<typeof conditionsOf>>>('WebhookConditions').implement({
  description: 'Conditions on the entries that a webhook gets.',
  fields: (t) => shown(t, conditionsDocument, ['sessionStates']),
});

const { shape: texts } = webhookDocument;

const WebhookType = entityType<WebhookRow>('Webhook', {
  stored: { table: 'webhook' },
  description:
    'An address that gets the entries of the feed as they are added, in their order. Only administrators of the organization can see it.',
  read: readWebhooks,
  fields: (t) => ({
    url: t.field({
      type: 'URL',
      description: texts.url.description,
      extensions: needs<WebhookRow>('url'),
      resolve: urlOf,
    }),
    addressLabel: t.string({
      description: texts.addressLabel.description,
      extensions: needs<WebhookRow>('url'),
      resolve: labelOf,
    }),
    ...shown(t, webhookDocument, ['types', 'createdAt', 'updatedAt']),
    conditions: t.field({
      type: ConditionsType,
      nullable: true,
      description: texts.conditions.description,
      extensions: needs<WebhookRow>('sessionStates'),
      resolve: conditionsOf,
    }),
    isEnabled: t.boolean({
      description: texts.isEnabled.description,
      extensions: needs<WebhookRow>('disabledAt'),
      resolve: ({ disabledAt }) => disabledAt === null,
    }),
    ...shown(t, webhookDocument, [
      'disabledAt',
      'disabledReason',
      'attempts',
      'failingSince',
      'disableAfter',
      'lastDeliveredAt',
      'previousSecretExpiresAt',
    ]),
    nextAttemptAt: t.field({
      type: 'DateTime',
      nullable: true,
      description: texts.nextAttemptAt.description,
      extensions: needs<WebhookRow>('nextAttemptAt', 'isTryRequested'),
      resolve: nextAttemptOf,
    }),
    cursor: t.int({
      description: texts.cursor.description,
      extensions: needs<WebhookRow>('cursor', 'requestedCursor'),
      resolve: cursorOf,
    }),
    deliveries: listBelow(t, DELIVERY_LIST, {
      description: 'The log of 30 days: each request with its result, and the messages that wait.',
      rows: DELIVERIES,
    }),
  }),
});

builder.objectFields(DeliveryType, (t) => ({
  webhook: referenceTo(WebhookType, readWebhooks)(t, 'webhookId', 'The webhook. Null when it was deleted.'),
  feedEntry: t.field({
    type: FeedEntryType,
    nullable: true,
    description: 'The entry of the feed that is sent. Null for a ping, and when the entry is no longer kept.',
    extensions: { ...OWN_STATEMENT, ...needs<DeliveryRow>('organizationId', 'feedEntryId') },
    resolve: ({ organizationId, feedEntryId }, _, context, info) => {
      const key = feedEntryId === null ? null : `${organizationId}:${feedEntryId}`;
      // An object of this type, or null.
      return resolveNode({ context, info }, 'FeedEntry', key) as never;
    },
  }),
}));

const WEBHOOK_LIST = listType(WebhookType, {
  of: 'webhooks',
  filter: filterType('WebhookFilter', webhookFilter),
  conditions: 'Conditions on the webhooks. When absent, all webhooks are listed.',
  fields: { CREATED_AT: 'When the webhook was created.', UPDATED_AT: 'When somebody last changed it.' },
  otherwise: { field: 'CREATED_AT', direction: 'ASC' },
});
organizationList('webhooks', WEBHOOK_LIST, listWebhooks);

nodeQuery('webhook', WebhookType, {
  description: 'One webhook. Null when the caller can see no such webhook.',
  of: 'webhook',
  access: MANAGE_WEBHOOKS,
  read: readWebhooks,
});

const ids = { webhookId: 'Webhook' };

const withSecret = (description: string) => (t: PayloadFields<WebhookWithSecret>) => ({
  ...one('webhook', WebhookType, description, ({ webhook }: WebhookWithSecret) => webhook)(t),
  secret: t.exposeString('secret', { description: SECRET_TEXT }),
});

mutation(createWebhook, {
  payload: withSecret('The new webhook, without its secret.'),
});
mutation(updateWebhook, { ids, payload: one('webhook', WebhookType, 'The updated webhook.') });
mutation(rotateWebhookSecret, {
  ids,
  payload: withSecret('The webhook, without its secrets.'),
});
mutation(deleteWebhook, { ids, payload: deleted('Webhook', 'deleted webhook') });
mutation(replayWebhook, {
  ids,
  payload: one('webhook', WebhookType, 'The webhook, whose `cursor` is the given id.'),
});
mutation(tryWebhookNow, {
  ids,
  payload: one('webhook', WebhookType, 'The webhook, whose next try is due.'),
});
const queued = one('delivery', DeliveryType, 'The message, which waits. Its result is in the log.');
mutation(pingWebhook, { ids, payload: queued });
mutation(redeliverWebhook, { ids: { ...ids, deliveryId: 'WebhookDelivery' }, payload: queued });
