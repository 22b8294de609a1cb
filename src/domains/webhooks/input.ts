import { z } from 'zod';
import { FEED_TYPES } from '../../core/feed.ts';
import type { WebhookDeliveryId, WebhookId } from '../../core/ids.ts';
import { expectedUpdatedAtInput } from '../../core/input/expected-version.ts';
import { listInput } from '../../core/input/lists.ts';
import { createdBetween } from '../../core/input/moments.ts';
import { httpUri, idSchema, optional, rule, withDefault } from '../../core/input/validation.ts';
import { SESSION_STATES } from '../sessions/public.ts';
import { DELIVERY_KINDS, DELIVERY_STATES } from './entity.ts';

const url = httpUri({ max: 2048 }).refine(
  (value) => !value.includes('#'),
  rule('BAD_FORMAT', 'must not have a fragment'),
);
const types = z
  .array(z.enum(FEED_TYPES))
  .min(1)
  .max(FEED_TYPES.length)
  .transform((given) => [...new Set(given)]);

const sessionStates = z
  .array(z.enum(SESSION_STATES))
  .min(1)
  .max(SESSION_STATES.length)
  .transform((given) => [...new Set(given)]);

export const conditionsInput = z
  .strictObject({
    sessionStates: sessionStates
      .nullish()
      .describe('Of `session.state_changed`, only changes to these states are sent. Null for all states.'),
  })
  .describe('Conditions on the entries that a webhook gets. Types that they do not name are sent without a condition.');

const ADDRESS = 'The address that gets the messages: an https URL of a public host.';
const TYPES = 'Types of the entries that are sent.';
const CONDITIONS = 'Conditions on the entries that are sent.';

export const createWebhookInput = z.strictObject({
  url: url.describe(ADDRESS),
  types: optional(types).describe(`${TYPES} When absent, all types, also those of later versions.`),
  conditions: optional(conditionsInput).describe(CONDITIONS),
});

const webhookId = idSchema<WebhookId>().describe('Id of the webhook.');

export const updateWebhookInput = z.strictObject({
  webhookId,
  url: url.optional().describe(ADDRESS),
  types: types.nullable().optional().describe(`${TYPES} Null for all types.`),
  conditions: conditionsInput.nullable().optional().describe(`${CONDITIONS} Null for none.`),
  isEnabled: z
    .boolean()
    .optional()
    .describe(
      'Whether entries of the feed are sent. When a webhook is enabled again, it gets what was added meanwhile.',
    ),
  expectedUpdatedAt: expectedUpdatedAtInput,
});

export const webhookReference = z.strictObject({ webhookId });

/** The largest id that both APIs can show. */
const MAX_ID = 2 ** 31 - 1;

export const replayWebhookInput = z.strictObject({
  webhookId,
  after: z
    .int()
    .min(0)
    .max(MAX_ID)
    .describe('Id of an entry of the feed. The entries after it are sent; with 0, all that are kept.'),
  onlyFailed: withDefault(z.boolean(), false).describe(
    'Whether only entries are sent that were tried and never delivered.',
  ),
});

export const redeliverWebhookInput = z.strictObject({
  webhookId,
  deliveryId: idSchema<WebhookDeliveryId>().describe('Id of the delivery.'),
});

/** Conditions on a list of webhooks. All that are given must be met; null is the same as absent. */
export const webhookFilter = z
  .strictObject({
    isEnabled: z.boolean().nullish().describe('Only enabled webhooks, or only disabled ones.'),
    ...createdBetween,
  })
  .describe('Conditions on webhooks. A webhook is listed when it meets all of them.');
export type WebhookFilter = z.output<typeof webhookFilter>;

/** Conditions on a list of deliveries. */
export const deliveryFilter = z
  .strictObject({
    states: z.array(z.enum(DELIVERY_STATES)).max(10).nullish().describe('Deliveries with any of these states.'),
    kinds: z.array(z.enum(DELIVERY_KINDS)).max(10).nullish().describe('Deliveries of any of these kinds.'),
    ...createdBetween,
  })
  .describe(
    'Conditions on deliveries. A delivery is listed when it meets all of them. A condition with an empty list matches nothing.',
  );
export type DeliveryFilter = z.output<typeof deliveryFilter>;

export const listWebhooksInput = z.strictObject(listInput);

export const listWebhookDeliveriesInput = z.strictObject({
  webhookId,
  ...listInput,
  state: z.enum(DELIVERY_STATES).optional().describe('Lists only deliveries with this state.'),
});
