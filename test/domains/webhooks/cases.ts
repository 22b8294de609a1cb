import { randomUUID } from 'node:crypto';
import type { Cases } from '../../support/operations/cases.ts';
import type { References } from '../../support/operations/references.ts';

const url = () => ({ url: `https://example.com/${randomUUID()}` });
const webhook = ({ webhookId }: References) => ({ webhookId });

export const webhooks: Cases = {
  createWebhook: { input: url, body: url, creates: 'Webhook' },
  updateWebhook: {
    input: (to) => ({ ...webhook(to), ...url() }),
    body: url,
    target: 'Webhook',
  },
  rotateWebhookSecret: { input: webhook, target: 'Webhook' },
  replayWebhook: {
    input: (to) => ({ ...webhook(to), after: 0 }),
    body: () => ({ after: 0 }),
    target: 'Webhook',
  },
  tryWebhookNow: { input: webhook, target: 'Webhook' },
  pingWebhook: { input: webhook, target: 'Webhook' },
  redeliverWebhook: {
    input: (to) => ({ ...webhook(to), deliveryId: to.webhookDeliveryId }),
    target: 'Webhook',
  },
  deleteWebhook: { input: webhook, target: 'Webhook' },
};
