import { DELETION_BATCH, type Module, OPEN_TO_ROLE, deletionStep } from '../../core/module.ts';
import { Webhook, WebhookDelivery } from './entity.ts';
import { deleteDeliveriesOf, deleteOldDeliveries, deleteWebhooksOf } from './queries.ts';
import { webhookRoutes } from './rest.ts';

export const webhooks = {
  entities: [Webhook, WebhookDelivery],
  graphql: () => import('./graphql.ts'),
  routes: webhookRoutes,
  pages: [],
  jobs: () => [],
  cleanups: { 'webhook deliveries': deleteOldDeliveries },
  topics: [],
  deletionSteps: {
    ofUser: [],
    ofOrganization: [
      deletionStep('webhooks', ({ em }, { id }) => deleteWebhooksOf(em, id)),
      {
        name: 'webhook deliveries',
        run: async ({ em }, { id }) => ({ found: await deleteDeliveriesOf(em, id, DELETION_BATCH) }),
      },
    ],
  },
  replays: { Webhook: OPEN_TO_ROLE },
} as const satisfies Module;
