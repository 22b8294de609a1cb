import type { DeliveryKind, DeliveryState, DisabledReason } from './entity.ts';

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
