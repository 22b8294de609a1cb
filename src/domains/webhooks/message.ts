import { createHmac, randomBytes } from 'node:crypto';
import type { OrganizationId, WebhookDeliveryId } from '../../core/ids.ts';
import { type FeedEntryRow, feedEntryOf } from '../feed/public.ts';
import { PING } from './entity.ts';

/** Messages and signatures of Standard Webhooks (https://github.com/standard-webhooks/standard-webhooks/blob/main/spec/standard-webhooks.md). */

const SECRET_PREFIX = 'whsec_';
const SECRET_BYTES = 32;

export function generateSecret(): string {
  return SECRET_PREFIX + randomBytes(SECRET_BYTES).toString('base64');
}

export interface WebhookMessage {
  /** The same for every try, so that a receiver can ignore a message that it has. */
  readonly id: string;
  readonly type: string;
  readonly body: string;
}

/** The id of the message about an entry of the feed. */
export function messageIdOf(organizationId: OrganizationId, feedEntryId: number): string {
  return `msg_${organizationId.replaceAll('-', '')}_${feedEntryId}`;
}

export function pingIdOf(deliveryId: WebhookDeliveryId): string {
  return `msg_${deliveryId.replaceAll('-', '')}`;
}

export function messageOf(entry: FeedEntryRow): WebhookMessage {
  const { type, createdAt: timestamp, organizationId, id } = entry;
  const body = JSON.stringify({ type, timestamp, data: feedEntryOf(entry) });
  return { id: messageIdOf(organizationId, id), type, body };
}

export function pingOf(delivery: {
  readonly id: WebhookDeliveryId;
  readonly webhookId: string;
  readonly createdAt: string;
}): WebhookMessage {
  const { id, webhookId, createdAt: timestamp } = delivery;
  return { id: pingIdOf(id), type: PING, body: JSON.stringify({ type: PING, timestamp, data: { webhookId } }) };
}

/** The headers of a request with this message. Each of the secrets signs. */
export function headersOf({ id, body }: WebhookMessage, secrets: readonly string[], at: Date): Record<string, string> {
  const timestamp = String(Math.floor(at.getTime() / 1000));
  return {
    'content-type': 'application/json',
    'webhook-id': id,
    'webhook-timestamp': timestamp,
    'webhook-signature': secrets.map((secret) => `v1,${signatureOf(secret, `${id}.${timestamp}.${body}`)}`).join(' '),
  };
}

function signatureOf(secret: string, content: string): string {
  const key = Buffer.from(secret.slice(SECRET_PREFIX.length), 'base64');
  return createHmac('sha256', key).update(content).digest('base64');
}
