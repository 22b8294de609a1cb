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
  route(listWebhooks, {
    method: 'GET',
    path: '/v1/webhooks',
    input: listWebhooksInput,
    output: listDocument(webhookDocument),
    run: (context, page) =>
      readList(page, (given) => listWebhooks(context, { filter: {}, order: OLDEST_FIRST, page: given }), toWebhook),
  }),
  route(createWebhook, {
    method: 'POST',
    path: '/v1/webhooks',
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
  route(readWebhook, {
    method: 'GET',
    path: '/v1/webhooks/:webhookId',
    output: webhookDocument,
    toDocument: toWebhook,
  }),
  route(updateWebhook, {
    method: 'PATCH',
    path: '/v1/webhooks/:webhookId',
    output: webhookDocument,
    examples: { input: { isEnabled: true } },
    toDocument: toWebhook,
  }),
  route(deleteWebhook, {
    method: 'DELETE',
    path: '/v1/webhooks/:webhookId',
  }),
  route(rotateWebhookSecret, {
    method: 'POST',
    path: '/v1/webhooks/:webhookId/rotate-secret',
    output: withSecretDocument,
    status: 200,
    examples: { output: { ...exampleOf(withSecretDocument), previousSecretExpiresAt: '2026-03-02T08:00:00.000Z' } },
    toDocument: toWebhookWithSecret,
  }),
  route(pingWebhook, {
    method: 'POST',
    path: '/v1/webhooks/:webhookId/ping',
    output: deliveryDocument,
    status: 202,
    examples: { output: { ...queued, kind: 'ping', type: 'webhook.ping', feedEntryId: null } },
    toDocument: toDelivery,
  }),
  route(replayWebhook, {
    method: 'POST',
    path: '/v1/webhooks/:webhookId/replay',
    output: webhookDocument,
    status: 202,
    examples: { input: { after: 1100 }, output: { ...exampleOf(webhookDocument), cursor: 1100 } },
    toDocument: toWebhook,
  }),
  route(tryWebhookNow, {
    method: 'POST',
    path: '/v1/webhooks/:webhookId/try',
    output: webhookDocument,
    status: 202,
    toDocument: toWebhook,
  }),
  route(listWebhookDeliveries, {
    method: 'GET',
    path: '/v1/webhooks/:webhookId/deliveries',
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
  route(redeliverWebhook, {
    method: 'POST',
    path: '/v1/webhooks/:webhookId/deliveries/:deliveryId/redeliver',
    output: deliveryDocument,
    status: 202,
    examples: { output: queued },
    toDocument: toDelivery,
  }),
];
