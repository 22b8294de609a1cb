import { z } from 'zod';
import { FEED_TYPES } from '../../core/feed.ts';
import { documentOf, readOnly } from '../../core/http/documents.ts';
import { route } from '../../core/http/route.ts';
import { listDocument, readList } from '../../core/input/lists.ts';
import { SESSION_STATES } from '../sessions/public.ts';
import { DELIVERY_KINDS, DELIVERY_STATES, DISABLED_REASONS } from './entity.ts';
import { listWebhookDeliveriesInput, listWebhooksInput } from './input.ts';
import { messageIdOf, pingIdOf } from './message.ts';
import {
  type WebhookWithSecret,
  createWebhook,
  deleteWebhook,
  listWebhookDeliveries,
  listWebhooks,
  pingWebhook,
  readWebhook,
  redeliverWebhook,
  replayWebhook,
  rotateWebhookSecret,
  tryWebhookNow,
  updateWebhook,
} from './operations.ts';
import { type DeliveryRow, webhookAnswer, webhookRow } from './queries.ts';
import { CONDITION_TEXTS, DELIVERY_TEXTS, SECRET_TEXT, WEBHOOK_TEXTS } from './texts.ts';

const tag = 'Webhooks';

const moment = () => readOnly(z.iso.datetime().nullable());
const webhook = {
  id: readOnly(z.uuid()),
  url: z.url(),
  types: z.array(z.enum(FEED_TYPES)).nullable(),
  conditions: documentOf(CONDITION_TEXTS, { sessionStates: z.array(z.enum(SESSION_STATES)).nullable() }).nullable(),
  isEnabled: z.boolean(),
  disabledAt: moment(),
  disabledReason: readOnly(z.enum(DISABLED_REASONS).nullable()),
  cursor: readOnly(z.int()),
  attempts: readOnly(z.int()),
  nextAttemptAt: moment(),
  failingSince: moment(),
  disableAfter: moment(),
  lastDeliveredAt: moment(),
  previousSecretExpiresAt: moment(),
  createdAt: readOnly(z.iso.datetime()),
  updatedAt: readOnly(z.iso.datetime()),
};
const webhookDocument = documentOf(WEBHOOK_TEXTS, webhook).meta({ id: 'Webhook' });
const withSecretDocument = documentOf(
  { ...WEBHOOK_TEXTS, secret: SECRET_TEXT },
  { ...webhook, secret: readOnly(z.string()) },
).meta({ id: 'WebhookWithSecret' });

const deliveryDocument = documentOf(DELIVERY_TEXTS, {
  id: z.uuid(),
  kind: z.enum(DELIVERY_KINDS),
  state: z.enum(DELIVERY_STATES),
  type: z.string(),
  messageId: z.string(),
  feedEntryId: z.int().nullable(),
  attempt: z.int(),
  status: z.int().nullable(),
  error: z.string().nullable(),
  answer: z.string().nullable(),
  durationMs: z.int().nullable(),
  createdAt: z.iso.datetime(),
}).meta({ id: 'WebhookDelivery' });

const webhookExample: z.input<typeof webhookDocument> = {
  id: '3f0c1c1e-8f6b-4c57-9d1c-6b0a8f5b2f11',
  url: 'https://example.com/hooks/workspace',
  types: ['session.state_changed', 'mcp_connection.status_changed'],
  conditions: { sessionStates: ['completed', 'failed'] },
  isEnabled: true,
  disabledAt: null,
  disabledReason: null,
  cursor: 1207,
  attempts: 0,
  nextAttemptAt: null,
  failingSince: null,
  disableAfter: null,
  lastDeliveredAt: '2026-03-01T10:20:31.000Z',
  previousSecretExpiresAt: null,
  createdAt: '2026-02-01T08:00:00.000Z',
  updatedAt: '2026-02-01T08:00:00.000Z',
};
const withSecretExample = { ...webhookExample, secret: 'whsec_Zm9yIGV4YW1wbGUgb25seSwgbm90IGEgcmVhbCBzZWNyZXQ=' };

const deliveryExample: z.input<typeof deliveryDocument> = {
  id: '5d1e0c7a-2b1f-4e0c-8a57-0f6f2f1f9b10',
  kind: 'entry',
  state: 'succeeded',
  type: 'session.state_changed',
  messageId: 'msg_1f0e9d8c7b6a4f5e8d3c2b1a09f8e7d6_1207',
  feedEntryId: 1207,
  attempt: 1,
  status: 204,
  error: null,
  answer: '',
  durationMs: 43,
  createdAt: '2026-03-01T10:20:31.200Z',
};
const queuedExample: z.input<typeof deliveryDocument> = {
  ...deliveryExample,
  kind: 'redelivery',
  state: 'queued',
  status: null,
  answer: null,
  durationMs: null,
};

const withSecret = ({ webhook: created, secret }: WebhookWithSecret) => ({
  ...webhookAnswer(webhookRow(created)),
  secret,
});

function toDeliveryDocument(row: DeliveryRow): z.input<typeof deliveryDocument> {
  return {
    id: row.id,
    kind: row.kind,
    state: row.state,
    type: row.type,
    messageId: row.feedEntryId === null ? pingIdOf(row.id) : messageIdOf(row.organizationId, row.feedEntryId),
    feedEntryId: row.feedEntryId,
    attempt: row.attempt,
    status: row.status,
    error: row.error,
    answer: row.answer,
    durationMs: row.durationMs,
    createdAt: row.createdAt,
  };
}

const OLDEST_FIRST = { field: 'CREATED_AT', direction: 'ASC' } as const;
const NEWEST_FIRST = { field: 'CREATED_AT', direction: 'DESC' } as const;

export const webhookRoutes = [
  route(listWebhooks, {
    method: 'GET',
    path: '/v1/webhooks',
    tag,
    input: listWebhooksInput,
    output: listDocument(webhookDocument),
    status: 200,
    examples: { output: { items: [webhookExample], nextCursor: null } },
    run: (context, page) =>
      readList(page, (given) => listWebhooks(context, { filter: {}, order: OLDEST_FIRST, page: given }), webhookAnswer),
  }),
  route(createWebhook, {
    method: 'POST',
    path: '/v1/webhooks',
    tag,
    output: withSecretDocument,
    status: 201,
    location: ({ id }) => id,
    examples: {
      input: {
        url: webhookExample.url,
        types: ['session.state_changed', 'mcp_connection.status_changed'],
        conditions: { sessionStates: ['completed', 'failed'] },
      },
      output: { ...withSecretExample, lastDeliveredAt: null },
    },
    toDocument: withSecret,
  }),
  route(readWebhook, {
    method: 'GET',
    path: '/v1/webhooks/:webhookId',
    tag,
    output: webhookDocument,
    status: 200,
    examples: { output: webhookExample },
    toDocument: webhookAnswer,
  }),
  route(updateWebhook, {
    method: 'PATCH',
    path: '/v1/webhooks/:webhookId',
    tag,
    optionalBody: true,
    output: webhookDocument,
    status: 200,
    examples: { input: { isEnabled: true }, output: webhookExample },
    toDocument: (changed) => webhookAnswer(webhookRow(changed)),
  }),
  route(deleteWebhook, {
    method: 'DELETE',
    path: '/v1/webhooks/:webhookId',
    tag,
    status: 204,
  }),
  route(rotateWebhookSecret, {
    method: 'POST',
    path: '/v1/webhooks/:webhookId/rotate-secret',
    tag,
    optionalBody: true,
    output: withSecretDocument,
    status: 200,
    examples: { output: { ...withSecretExample, previousSecretExpiresAt: '2026-03-02T08:00:00.000Z' } },
    toDocument: withSecret,
  }),
  route(pingWebhook, {
    method: 'POST',
    path: '/v1/webhooks/:webhookId/ping',
    tag,
    optionalBody: true,
    output: deliveryDocument,
    status: 202,
    examples: { output: { ...queuedExample, kind: 'ping', type: 'webhook.ping', feedEntryId: null } },
    toDocument: toDeliveryDocument,
  }),
  route(replayWebhook, {
    method: 'POST',
    path: '/v1/webhooks/:webhookId/replay',
    tag,
    output: webhookDocument,
    status: 202,
    examples: { input: { after: 1100 }, output: { ...webhookExample, cursor: 1100 } },
    toDocument: (replayed) => webhookAnswer(webhookRow(replayed)),
  }),
  route(tryWebhookNow, {
    method: 'POST',
    path: '/v1/webhooks/:webhookId/try',
    tag,
    optionalBody: true,
    output: webhookDocument,
    status: 202,
    examples: { output: webhookExample },
    toDocument: (tried) => webhookAnswer(webhookRow(tried)),
  }),
  route(listWebhookDeliveries, {
    method: 'GET',
    path: '/v1/webhooks/:webhookId/deliveries',
    tag,
    input: listWebhookDeliveriesInput,
    output: listDocument(deliveryDocument),
    status: 200,
    examples: { output: { items: [deliveryExample], nextCursor: null } },
    run: (context, { webhookId, state, ...page }) =>
      readList(
        page,
        (given) =>
          listWebhookDeliveries(context, {
            webhookId,
            filter: { states: state && [state] },
            order: NEWEST_FIRST,
            page: given,
          }),
        toDeliveryDocument,
      ),
  }),
  route(redeliverWebhook, {
    method: 'POST',
    path: '/v1/webhooks/:webhookId/deliveries/:deliveryId/redeliver',
    tag,
    optionalBody: true,
    output: deliveryDocument,
    status: 202,
    examples: { output: queuedExample },
    toDocument: toDeliveryDocument,
  }),
];
