import { z } from 'zod';
import { FEED_TYPES } from '../../core/feed.ts';
import { answering, readOnly } from '../../core/documents.ts';
import { SESSION_STATES } from '../sessions/public.ts';
import { DELIVERY_KINDS, DELIVERY_STATES, DISABLED_REASONS } from './entity.ts';
import { messageIdOf } from './message.ts';
import type { WebhookWithSecret } from './operations.ts';
import type { DeliveryRow, WebhookRow } from './queries.ts';
import { addressLabelOf } from './secrets.ts';

/** What both APIs answer. */

const moment = () => readOnly(z.iso.datetime().nullable());
const count = () => readOnly(z.int());

export const conditionsDocument = z.strictObject({
  sessionStates: z
    .array(z.enum(SESSION_STATES))
    .nullable()
    .describe('Of `session.state_changed`, only changes to these states are sent. Null for all states.'),
});

export const webhookDocument = z
  .strictObject({
    id: readOnly(z.uuid()).describe('Id of the webhook.').meta({ example: '3f0c1c1e-8f6b-4c57-9d1c-6b0a8f5b2f11' }),
    url: z
      .url()
      .describe('The address that gets the messages.')
      .meta({ example: 'https://example.com/hooks/workspace' }),
    addressLabel: readOnly(z.string())
      .describe(
        'The host of the address and its last four characters, to show where the whole address may be a secret.',
      )
      .meta({ example: 'example.com/…pace' }),
    types: z
      .array(z.enum(FEED_TYPES))
      .nullable()
      .describe('Types of the entries that are sent. Null for all types.')
      .meta({ example: ['session.state_changed', 'mcp_connection.status_changed'] }),
    conditions: conditionsDocument
      .nullable()
      .describe('Conditions on the entries that are sent. Null for none.')
      .meta({ example: { sessionStates: ['completed', 'failed'] } }),
    isEnabled: z.boolean().describe('Whether entries of the feed are sent.').meta({ example: true }),
    disabledAt: moment().describe('When the webhook was disabled. Null while it is enabled.'),
    disabledReason: readOnly(z.enum(DISABLED_REASONS).nullable()).describe(
      'Why the webhook was disabled. Null while it is enabled.',
    ),
    cursor: count()
      .describe('Id of the last entry of the feed that was delivered, given up, or is not for this webhook.')
      .meta({ example: 1207 }),
    attempts: count()
      .describe('Number of failed tries of the entry that is sent next, without those that were asked for.')
      .meta({ example: 0 }),
    nextAttemptAt: moment().describe(
      'When the entry that failed is sent again. Null if no retry is due later, and after `tryWebhookNow` until that try.',
    ),
    failingSince: moment().describe(
      'Time of the first failure since the last success. Null if the last delivery succeeded.',
    ),
    disableAfter: moment().describe(
      'A failure after this time disables the webhook. Null unless that was announced in the feed (`webhook.failing`).',
    ),
    lastDeliveredAt: moment()
      .describe('When an entry was last delivered. Null if none was.')
      .meta({ example: '2026-03-01T10:20:31.000Z' }),
    previousSecretExpiresAt: moment().describe(
      'Until then messages are also signed with the previous secret. Null if there is none.',
    ),
    createdAt: readOnly(z.iso.datetime())
      .describe('When the webhook was created.')
      .meta({ example: '2026-02-01T08:00:00.000Z' }),
    updatedAt: readOnly(z.iso.datetime())
      .describe('When somebody last changed the webhook.')
      .meta({ example: '2026-02-01T08:00:00.000Z' }),
  })
  .meta({ id: 'Webhook' });

export const SECRET_TEXT = 'The secret of the signatures: `whsec_…`. It is shown only in this answer.';
export const withSecretDocument = z
  .strictObject({
    ...webhookDocument.shape,
    secret: readOnly(z.string())
      .describe(SECRET_TEXT)
      .meta({ example: 'whsec_Zm9yIGV4YW1wbGUgb25seSwgbm90IGEgcmVhbCBzZWNyZXQ=' }),
  })
  .meta({ id: 'WebhookWithSecret' });

export const deliveryDocument = z
  .strictObject({
    id: z.uuid().describe('Id of the delivery.').meta({ example: '5d1e0c7a-2b1f-4e0c-8a57-0f6f2f1f9b10' }),
    kind: z.enum(DELIVERY_KINDS).describe('Why the message was sent.').meta({ example: 'entry' }),
    state: z.enum(DELIVERY_STATES).describe('Whether the message was delivered.').meta({ example: 'succeeded' }),
    type: z
      .string()
      .describe('Type of the message: that of the entry of the feed, or `webhook.ping`.')
      .meta({ example: 'session.state_changed' }),
    messageId: z
      .string()
      .describe('The header `webhook-id`, which is the same for every try.')
      .meta({ example: 'msg_1f0e9d8c7b6a4f5e8d3c2b1a09f8e7d6' }),
    feedEntryId: z.int().nullable().describe('Id of the entry of the feed. Null for a ping.').meta({ example: 1207 }),
    attempt: z
      .int()
      .describe('Number of the try, from 1. A try that was asked for has that of the next try of the schedule.')
      .meta({ example: 1 }),
    status: z
      .int()
      .nullable()
      .describe('HTTP status of the answer. Null if there was no answer.')
      .meta({ example: 204 }),
    error: z.string().nullable().describe('Why there was no answer. Null if there was one.'),
    answer: z
      .string()
      .nullable()
      .describe('The first 1024 bytes of the answer as text. Null if there was no answer.')
      .meta({ example: '' }),
    durationMs: z
      .int()
      .nullable()
      .describe('Time from the request to the answer, in milliseconds. Null while the message waits.')
      .meta({ example: 43 }),
    createdAt: z.iso
      .datetime()
      .describe('When the message was sent, or since when it waits.')
      .meta({ example: '2026-03-01T10:20:31.200Z' }),
  })
  .meta({ id: 'WebhookDelivery' });

/** Null only if the webhook was deleted meanwhile. */
export const urlOf = ({ url }: WebhookRow) => url ?? '';
export const labelOf = ({ url }: WebhookRow) => (url === null ? '' : addressLabelOf(url));
export const conditionsOf = ({ sessionStates }: WebhookRow) => sessionStates && { sessionStates };
/** Null if a try was asked for. */
export const nextAttemptOf = ({ isTryRequested, nextAttemptAt }: WebhookRow) => (isTryRequested ? null : nextAttemptAt);
export const cursorOf = ({ requestedCursor, cursor }: WebhookRow) => requestedCursor ?? cursor;

export const toWebhook = answering<WebhookRow, typeof webhookDocument>(webhookDocument, (row) => ({
  url: urlOf(row),
  addressLabel: labelOf(row),
  conditions: conditionsOf(row),
  isEnabled: row.disabledAt === null,
  cursor: cursorOf(row),
  nextAttemptAt: nextAttemptOf(row),
}));
export const toDelivery = answering<DeliveryRow, typeof deliveryDocument>(deliveryDocument, (row) => ({
  messageId: messageIdOf(row),
}));
export const toWebhookWithSecret = ({ webhook, secret }: WebhookWithSecret) => ({ ...toWebhook(webhook), secret });
