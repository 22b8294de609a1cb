// What other nouns, the gateway and the operator use of webhooks.

export { type LoopContext, deliverDue } from './delivery-loop.ts';
export { countWebhookStates } from './delivery-queries.ts';
export { Webhook, WebhookDelivery } from './entity.ts';
export { createWebhook } from './operations.ts';
