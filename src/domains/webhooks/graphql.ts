import { exposedWith, nullable } from '../../core/graphql/fields.ts';
import { builder } from '../../core/graphql/builder.ts';
import { filterType, inputType } from '../../core/graphql/derived-inputs.ts';
import { enumOf } from '../../core/graphql/enums.ts';
import { toGlobalId, uuidsOf } from '../../core/graphql/global-ids.ts';
import { mutation } from '../../core/graphql/mutations.ts';
import { type FieldsOf, nodeQuery, nodeType } from '../../core/graphql/nodes.ts';
import { listBelow, listType } from '../../core/graphql/lists.ts';
import { needs } from '../../core/graphql/selection.ts';
import { FeedEntryTypeEnum } from '../feed/graphql.ts';
import { organizationList } from '../organizations/graphql/organization-list.ts';
import { SessionStateEnum } from '../sessions/graphql/enums.ts';
import { DELIVERY_KINDS, DELIVERY_STATES, DISABLED_REASONS } from './entity.ts';
import { conditionsInput, deliveryFilter, webhookFilter } from './input.ts';
import { messageIdOf, pingIdOf } from './message.ts';
import {
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
import { MANAGE_WEBHOOKS } from './policy.ts';
import { DELIVERIES, type DeliveryRow, type WebhookRow, conditionsOf, nextAttemptOf, webhookRow } from './queries.ts';
import {
  CONDITION_TEXTS,
  DELIVERY_KIND_TEXTS,
  DELIVERY_STATE_TEXTS,
  DELIVERY_TEXTS,
  DISABLED_REASON_TEXTS,
  SECRET_TEXT,
  WEBHOOK_TEXTS,
} from './texts.ts';

const DisabledReasonEnum = enumOf(
  'WebhookDisabledReason',
  'Why a webhook is disabled.',
  DISABLED_REASONS,
  DISABLED_REASON_TEXTS,
);
const KindEnum = enumOf(
  'WebhookDeliveryKind',
  'Why a message is sent to a webhook.',
  DELIVERY_KINDS,
  DELIVERY_KIND_TEXTS,
);
const StateEnum = enumOf(
  'WebhookDeliveryState',
  'Whether a message was delivered to a webhook.',
  DELIVERY_STATES,
  DELIVERY_STATE_TEXTS,
);

const DeliveryType = nodeType<DeliveryRow>('WebhookDelivery', {
  description:
    'A request to a webhook with its result, or a message that waits. Kept for 30 days. Only administrators of the organization can see it.',
  keyOf: ({ id }) => id,
  load: (context, keys, selected) => readWebhookDeliveries(context, uuidsOf(keys), selected),
  fields: (t) => ({
    databaseId: t.expose('id', { type: 'DatabaseId', description: 'The id that REST uses.' }),
    ...exposedWith(t, DELIVERY_TEXTS, {
      kind: KindEnum,
      state: StateEnum,
      type: 'String',
      feedEntryId: nullable('Int'),
      attempt: 'Int',
      status: nullable('Int'),
      error: nullable('String'),
      answer: nullable('String'),
      durationMs: nullable('Int'),
      createdAt: 'DateTime',
    }),
    messageId: t.string({
      description: DELIVERY_TEXTS.messageId,
      extensions: needs<DeliveryRow>('id', 'organizationId', 'feedEntryId'),
      resolve: ({ id, organizationId, feedEntryId }) =>
        feedEntryId === null ? pingIdOf(id) : messageIdOf(organizationId, feedEntryId),
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
  fields: (t) => ({
    sessionStates: t.expose('sessionStates', {
      type: [SessionStateEnum],
      nullable: true,
      description: CONDITION_TEXTS.sessionStates,
    }),
  }),
});

/** How the deliveries of a webhook go. */
function stateFields(t: FieldsOf<WebhookRow>) {
  return {
    isEnabled: t.boolean({
      description: WEBHOOK_TEXTS.isEnabled,
      extensions: needs<WebhookRow>('disabledAt'),
      resolve: ({ disabledAt }) => disabledAt === null,
    }),
    ...exposedWith(t, WEBHOOK_TEXTS, {
      disabledAt: nullable('DateTime'),
      disabledReason: nullable(DisabledReasonEnum),
      attempts: 'Int',
      failingSince: nullable('DateTime'),
      disableAfter: nullable('DateTime'),
      lastDeliveredAt: nullable('DateTime'),
      previousSecretExpiresAt: nullable('DateTime'),
    }),
    nextAttemptAt: t.field({
      type: 'DateTime',
      nullable: true,
      description: WEBHOOK_TEXTS.nextAttemptAt,
      extensions: needs<WebhookRow>('nextAttemptAt', 'isTryRequested'),
      resolve: nextAttemptOf,
    }),
    cursor: t.int({
      description: WEBHOOK_TEXTS.cursor,
      extensions: needs<WebhookRow>('cursor', 'requestedCursor'),
      resolve: ({ cursor, requestedCursor }) => requestedCursor ?? cursor,
    }),
  };
}

const WebhookType = nodeType<WebhookRow>('Webhook', {
  description:
    'An address that gets the entries of the feed as they are added, in their order. Only administrators of the organization can see it.',
  keyOf: ({ id }) => id,
  load: (context, keys, selected) => readWebhooks(context, uuidsOf(keys), selected),
  fields: (t) => ({
    databaseId: t.expose('id', { type: 'DatabaseId', description: 'The id that REST uses.' }),
    ...exposedWith(t, WEBHOOK_TEXTS, {
      url: 'URL',
      types: nullable([FeedEntryTypeEnum]),
      createdAt: 'DateTime',
      updatedAt: 'DateTime',
    }),
    conditions: t.field({
      type: ConditionsType,
      nullable: true,
      description: WEBHOOK_TEXTS.conditions,
      extensions: needs<WebhookRow>('sessionStates'),
      resolve: conditionsOf,
    }),
    ...stateFields(t),
    deliveries: listBelow(t, DELIVERY_LIST, {
      description: 'The log of 30 days: each request with its result, and the messages that wait.',
      rows: DELIVERIES,
    }),
  }),
});

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

mutation(createWebhook, {
  payload: (t) => ({
    webhook: t.field({
      type: WebhookType,
      description: 'The new webhook, without its secret.',
      resolve: ({ webhook }) => webhookRow(webhook),
    }),
    secret: t.exposeString('secret', { description: SECRET_TEXT }),
  }),
});

mutation(updateWebhook, {
  ids,
  payload: (t) => ({
    webhook: t.field({
      type: WebhookType,
      description: 'The updated webhook.',
      resolve: (webhook) => webhookRow(webhook),
    }),
  }),
});

mutation(rotateWebhookSecret, {
  ids,
  payload: (t) => ({
    webhook: t.field({
      type: WebhookType,
      description: 'The webhook, without its secrets.',
      resolve: ({ webhook }) => webhookRow(webhook),
    }),
    secret: t.exposeString('secret', { description: SECRET_TEXT }),
  }),
});

mutation(deleteWebhook, {
  ids,
  payload: (t) => ({
    deletedId: t.id({
      description: 'Global id of the deleted webhook.',
      resolve: ({ id }) => toGlobalId('Webhook', id),
    }),
  }),
});

mutation(replayWebhook, {
  ids,
  payload: (t) => ({
    webhook: t.field({
      type: WebhookType,
      description: 'The webhook, whose `cursor` is the given id.',
      resolve: (webhook) => webhookRow(webhook),
    }),
  }),
});

mutation(tryWebhookNow, {
  ids,
  payload: (t) => ({
    webhook: t.field({
      type: WebhookType,
      description: 'The webhook, whose next try is due.',
      resolve: (webhook) => webhookRow(webhook),
    }),
  }),
});

mutation(pingWebhook, {
  ids,
  payload: (t) => ({
    delivery: t.field({
      type: DeliveryType,
      description: 'The message, which waits. Its result is in the log.',
      resolve: (delivery) => delivery,
    }),
  }),
});

mutation(redeliverWebhook, {
  ids: { ...ids, deliveryId: 'WebhookDelivery' },
  payload: (t) => ({
    delivery: t.field({
      type: DeliveryType,
      description: 'The message, which waits. Its result is in the log.',
      resolve: (delivery) => delivery,
    }),
  }),
});
