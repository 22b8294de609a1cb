import { hasAccess } from '../../core/access.ts';
import { DELETION_BATCH, type Module, OPEN_TO_ROLE, deletionStep } from '../../core/module.ts';
import { addressJob } from './secrets.ts';
import { Webhook, WebhookDelivery } from './entity.ts';
import {
  WEBHOOKS,
  deleteDeliveriesOf,
  deleteOldDeliveries,
  deleteWebhooksOf,
  type WebhookRow,
  withAddresses,
} from './queries.ts';
import { webhookRoutes } from './rest.ts';
import { toWebhook } from './documents.ts';
import { MANAGE_WEBHOOKS } from './policy.ts';

export const webhooks = {
  entities: [Webhook, WebhookDelivery],
  graphql: () => import('./graphql.ts'),
  routes: webhookRoutes,
  pages: [],
  jobs: () => [addressJob],
  cleanups: { 'webhook deliveries': deleteOldDeliveries },
  topics: [],
  deletionSteps: {
    ofUser: [],
    ofOrganization: [
      deletionStep('webhooks', ({ em }, { id }) => deleteWebhooksOf(em, id)),
      deletionStep('webhook deliveries', ({ em }, { id }) => deleteDeliveriesOf(em, id, DELETION_BATCH)),
    ],
  },
  exports: [
    {
      kind: 'webhook',
      page: async (context, page) => {
        const order = { field: 'CREATED_AT', direction: 'ASC' } as const;
        const found = await WEBHOOKS.page(context, { filter: {}, order, page });
        return { ...found, rows: await withAddresses(context, found.rows) };
      },
      // Whole only to whoever may change it.
      lineOf: (row: WebhookRow, _, actor) =>
        hasAccess(actor, MANAGE_WEBHOOKS) ? toWebhook(row) : { ...toWebhook(row), url: null },
    },
  ],
  replays: { Webhook: OPEN_TO_ROLE },
} as const satisfies Module;
