import { createHmac, randomBytes } from 'node:crypto';
import type { OrganizationId } from '../../core/ids.ts';
import { type FeedEntryRow, toFeedEntry } from '../feed/public.ts';
import type { LeasedWebhook } from './delivery-queries.ts';
import { PING } from './entity.ts';
import type { DeliveryRow } from './queries.ts';

/** Messages and signatures of Standard Webhooks (https://github.com/standard-webhooks/standard-webhooks/blob/main/spec/standard-webhooks.md). */

const SECRET_PREFIX = 'whsec_';
const SECRET_BYTES = 32;

export const generateSecret = (): string => SECRET_PREFIX + randomBytes(SECRET_BYTES).toString('base64');

export interface WebhookMessage {
  /** The same for every try, so that a receiver can ignore a message that it has. */
  readonly id: string;
  readonly type: string;
  readonly body: string;
}

const idOf = (...parts: readonly (string | number)[]) => `msg_${parts.join('_').replaceAll('-', '')}`;

/** The id that 1.0 gives the message about an entry. A restored feed repeats it for another entry. */
const numberedIdOf = (organizationId: OrganizationId, feedEntryId: number) => idOf(organizationId, feedEntryId);

/** The id of the message of a delivery. */
export const messageIdOf = ({
  messageId,
  id,
  organizationId,
  feedEntryId,
}: Pick<DeliveryRow, 'messageId' | 'id' | 'organizationId' | 'feedEntryId'>): string =>
  messageId ?? (feedEntryId === null ? idOf(id) : numberedIdOf(organizationId, feedEntryId));

/** The random id of the message about an entry, if the webhook has tried none up to it with an id of 1.0; otherwise null. */
export const randomIdOf = (
  { numberedUntil }: Pick<LeasedWebhook, 'numberedUntil'>,
  { id, key }: FeedEntryRow,
): string | null => (numberedUntil === null || id <= numberedUntil ? null : idOf(key));

export function messageOf(entry: FeedEntryRow, messageId: string | null): WebhookMessage {
  const { type, createdAt: timestamp, organizationId, id } = entry;
  const body = JSON.stringify({ type, timestamp, data: toFeedEntry(entry) });
  return { id: messageId ?? numberedIdOf(organizationId, id), type, body };
}

export function pingOf(delivery: DeliveryRow): WebhookMessage {
  const { webhookId, createdAt: timestamp } = delivery;
  const body = JSON.stringify({ type: PING, timestamp, data: { webhookId } });
  return { id: messageIdOf(delivery), type: PING, body };
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
