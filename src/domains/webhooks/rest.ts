import { exampleOf } from '../../core/documents.ts';
import { routesOf } from '../../core/http/route.ts';
import { listDocument, readList } from '../../core/input/lists.ts';
import {
  deliveryDocument,
  toDelivery,
  toWebhook,
  toWebhookWithSecret,
  webhookDocument,
  withSecretDocument,
} from './documents.ts';
import { listWebhookDeliveriesInput, listWebhooksInput } from './input.ts';
import {
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

const route = routesOf('Webhooks');

const queued = {
  ...exampleOf(deliveryDocument),
  kind: 'redelivery',
  state: 'queued',
  status: null,
  answer: null,
  durationMs: null,
} as const;

const OLDEST_FIRST = { field: 'CREATED_AT', direction: 'ASC' } as const;
const NEWEST_FIRST = { field: 'CREATED_AT', direction: 'DESC' } as const;

export const webhookRoutes = [
  route('GET /v1/webhooks', listWebhooks, {
    input: listWebhooksInput,
    output: listDocument(webhookDocument),
    run: (context, page) =>
      readList(page, (given) => listWebhooks(context, { filter: {}, order: OLDEST_FIRST, page: given }), toWebhook),
  }),
  route('POST /v1/webhooks', createWebhook, {
    output: withSecretDocument,
    location: ({ id }) => id,
    examples: {
      input: {
        url: exampleOf(webhookDocument).url,
        types: ['session.state_changed', 'mcp_connection.status_changed'],
        conditions: { sessionStates: ['completed', 'failed'] },
      },
      output: { ...exampleOf(withSecretDocument), lastDeliveredAt: null },
    },
    toDocument: toWebhookWithSecret,
  }),
  route('GET /v1/webhooks/:webhookId', readWebhook, { output: webhookDocument, toDocument: toWebhook }),
  route('PATCH /v1/webhooks/:webhookId', updateWebhook, {
    output: webhookDocument,
    examples: { input: { isEnabled: true } },
    toDocument: toWebhook,
  }),
  route('DELETE /v1/webhooks/:webhookId', deleteWebhook),
  route('POST /v1/webhooks/:webhookId/rotate-secret', rotateWebhookSecret, {
    output: withSecretDocument,
    status: 200,
    examples: { output: { ...exampleOf(withSecretDocument), previousSecretExpiresAt: '2026-03-02T08:00:00.000Z' } },
    toDocument: toWebhookWithSecret,
  }),
  route('POST /v1/webhooks/:webhookId/ping', pingWebhook, {
    output: deliveryDocument,
    status: 202,
    examples: { output: { ...queued, kind: 'ping', type: 'webhook.ping', feedEntryId: null } },
    toDocument: toDelivery,
  }),
  route('POST /v1/webhooks/:webhookId/replay', replayWebhook, {
    output: webhookDocument,
    status: 202,
    examples: { input: { after: 1100 }, output: { ...exampleOf(webhookDocument), cursor: 1100 } },
    toDocument: toWebhook,
  }),
  route('POST /v1/webhooks/:webhookId/try', tryWebhookNow, {
    output: webhookDocument,
    status: 202,
    toDocument: toWebhook,
  }),
  route('GET /v1/webhooks/:webhookId/deliveries', listWebhookDeliveries, {
    input: listWebhookDeliveriesInput,
    output: listDocument(deliveryDocument),
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
        toDelivery,
      ),
  }),
  route('POST /v1/webhooks/:webhookId/deliveries/:deliveryId/redeliver', redeliverWebhook, {
    output: deliveryDocument,
    status: 202,
    examples: { output: queued },
    toDocument: toDelivery,
  }),
];
