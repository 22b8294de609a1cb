import type { DeliveryKind, DeliveryState, DisabledReason } from './entity.ts';

/** What the fields mean, for both APIs. */
export const WEBHOOK_TEXTS = {
  id: 'Id of the webhook.',
  url: 'The address that gets the messages.',
  types: 'Types of the entries that are sent. Null for all types.',
  conditions: 'Conditions on the entries that are sent. Null for none.',
  isEnabled: 'Whether entries of the feed are sent.',
  disabledAt: 'When the webhook was disabled. Null while it is enabled.',
  disabledReason: 'Why the webhook was disabled. Null while it is enabled.',
  cursor: 'Id of the last entry of the feed that was delivered, given up, or is not for this webhook.',
  attempts: 'Number of failed tries of the entry that is sent next, without those that were asked for.',
  nextAttemptAt:
    'When the entry that failed is sent again. Null if no retry is due later, and after `tryWebhookNow` until that try.',
  failingSince: 'Time of the first failure since the last success. Null if the last delivery succeeded.',
  disableAfter:
    'A failure after this time disables the webhook. Null unless that was announced in the feed (`webhook.failing`).',
  lastDeliveredAt: 'When an entry was last delivered. Null if none was.',
  previousSecretExpiresAt: 'Until then messages are also signed with the previous secret. Null if there is none.',
  createdAt: 'When the webhook was created.',
  updatedAt: 'When somebody last changed the webhook.',
} as const;

export const CONDITION_TEXTS = {
  sessionStates: 'Of `session.state_changed`, only changes to these states are sent. Null for all states.',
} as const;

export const SECRET_TEXT = 'The secret of the signatures: `whsec_…`. It is shown only in this answer.';

export const DELIVERY_TEXTS = {
  id: 'Id of the delivery.',
  kind: 'Why the message was sent.',
  state: 'Whether the message was delivered.',
  type: 'Type of the message: that of the entry of the feed, or `webhook.ping`.',
  messageId: 'The header `webhook-id`, which is the same for every try.',
  feedEntryId: 'Id of the entry of the feed. Null for a ping.',
  attempt: 'Number of the try, from 1. A try that was asked for has that of the next try of the schedule.',
  status: 'HTTP status of the answer. Null if there was no answer.',
  error: 'Why there was no answer. Null if there was one.',
  answer: 'The first 1024 bytes of the answer as text. Null if there was no answer.',
  durationMs: 'Time from the request to the answer, in milliseconds. Null while the message waits.',
  createdAt: 'When the message was sent, or since when it waits.',
} as const;

export const DISABLED_REASON_TEXTS: Readonly<Record<DisabledReason, string>> = {
  requested: 'An administrator disabled it.',
  gone: 'It answered 410.',
  failing: 'All its deliveries of 5 days failed.',
};

export const DELIVERY_KIND_TEXTS: Readonly<Record<DeliveryKind, string>> = {
  entry: 'A new entry of the feed.',
  replay: 'An entry of the feed that was replayed.',
  redelivery: 'An administrator asked for this delivery again.',
  ping: 'An administrator sent a ping.',
};

export const DELIVERY_STATE_TEXTS: Readonly<Record<DeliveryState, string>> = {
  queued: 'It waits until the webhook has no other request.',
  succeeded: 'The status of the answer was 2xx.',
  failed: 'The status was another one, or there was no answer within 15 seconds.',
};
