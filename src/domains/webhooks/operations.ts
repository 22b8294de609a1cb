import { LockMode } from '@mikro-orm/postgresql';
import { requireOrganization } from '../../core/access.ts';
import { type AuditTarget, newValues } from '../../core/audit.ts';
import { ConflictError, NotFoundError, invalid, notFound, limitReached } from '../../core/errors.ts';
import { publishToFeed } from '../../core/feed.ts';
import type { WebhookDeliveryId, WebhookId } from '../../core/ids.ts';
import { isEmptyUpdate, requireUnchanged } from '../../core/input/expected-version.ts';
import { givenNames } from '../../core/keys-of.ts';
import { type OperationContext, defineOperation, guarded, unchanged } from '../../core/operation.ts';
import { OutboundError } from '../../core/outbound/outbound.ts';
import type { Columns } from '../../core/postgres/reading/columns.ts';
import type { Asked } from '../../core/postgres/reading/lists.ts';
import type { CountedPage } from '../../core/postgres/reading/keyset.ts';
import { DAY_MS } from '../../core/text/timestamps.ts';
import { readFeedHead, readNumberedFeedHead } from '../feed/public.ts';
import { lockOrganization } from '../organizations/public.ts';
import { KNOWS_SECRET_ADDRESSES, PING, Webhook } from './entity.ts';
import {
  type DeliveryFilter,
  createWebhookInput,
  redeliverWebhookInput,
  replayWebhookInput,
  updateWebhookInput,
  webhookReference,
} from './input.ts';
import { generateSecret } from './message.ts';
import { MANAGE_WEBHOOKS } from './policy.ts';
import {
  DELIVERIES,
  type DeliveryOrderField,
  type DeliveryRow,
  WEBHOOKS,
  type WebhookRow,
  countQueued,
  insertDelivery,
  withAddresses,
} from './queries.ts';
import {
  deleteWebhookSecrets,
  readAddress,
  replaceWebhookSecret,
  storeAddress,
  storeWebhookSecret,
} from './secrets.ts';

/** Maximum number of webhooks of an organization, and of messages of one that somebody asked for and that wait. */
export const MAX_WEBHOOKS = 20;
export const MAX_QUEUED = 20;
const PREVIOUS_SECRET_MS = DAY_MS;

/** A webhook with a new secret, which is not stored as text. */
export type WebhookWithSecret = Awaited<ReturnType<typeof withSecret>>;

async function changed(context: OperationContext, { id }: Pick<Webhook, 'id'>): Promise<WebhookRow> {
  const row = await WEBHOOKS.one(context, id, 'webhook');
  const [webhook = row] = await withAddresses(context, [row]);
  return webhook;
}
const withSecret = async (context: OperationContext, { webhook, secret }: Written) => ({
  webhook: await changed(context, webhook),
  secret,
});
interface Written {
  readonly webhook: Webhook;
  readonly secret: string;
}

export const createWebhook = defineOperation({
  name: 'createWebhook',
  description:
    'Creates a webhook: an address that gets the entries of the feed that are added from now on, one request at a time and in their order, as signed messages (Standard Webhooks). It gets everything that administrators of the organization can see. An organization has at most 20 webhooks.',
  access: MANAGE_WEBHOOKS,
  input: createWebhookInput,
  errors: [ConflictError],
  prepare: async (context, { url }) => {
    requireAllowed(context, url);
    return { head: await readNumberedFeedHead(context), isPlain: await isPlain(context) };
  },
  run: async (context, { url, types = null, conditions }, { head, ...how }) => {
    const { em, secrets, actor, now, newId } = context;
    const organization = requireOrganization(actor);
    await lockOrganization(em, organization.id);
    if ((await em.count(Webhook, { organization: organization.id })) >= MAX_WEBHOOKS)
      throw limitReached(MAX_WEBHOOKS, `an organization has at most ${MAX_WEBHOOKS} webhooks; delete one first`);
    const at = now();
    const webhook = em.create(Webhook, {
      id: newId(),
      organization: organization.id,
      types,
      sessionStates: conditions?.sessionStates ?? null,
      cursor: head,
      attempts: 0,
      createdAt: at,
      updatedAt: at,
    });
    await storeAddress(em, secrets, webhook, { ...how, url });
    await em.flush();
    const secret = generateSecret();
    await storeWebhookSecret(em, secrets, webhook, secret);
    return { webhook, secret };
  },
  target: ({ webhook }, { url }) => ({ ...targetOf(webhook), detail: new URL(url).host }),
  answer: withSecret,
});

/** Whether an address must be stored as it is, because an earlier version can need it. */
const isPlain = ({ hasOlderProcess }: OperationContext) => hasOlderProcess(KNOWS_SECRET_ADDRESSES);

/** @throws ValidationError for an address to which no request is ever sent. */
function requireAllowed({ outbound }: OperationContext, url: string): void {
  if (!outbound.allowsPrivateNetwork && new URL(url).protocol !== 'https:')
    throw invalid('url', 'must be an https URL; http is allowed only with ALLOW_PRIVATE_NETWORK=true', 'BAD_FORMAT');
  try {
    outbound.checkUrl(url);
  } catch (error) {
    if (error instanceof OutboundError) throw invalid('url', error.message);
    throw error;
  }
}

const targetOf = ({ id }: Pick<Webhook, 'id'>): AuditTarget => ({ type: 'Webhook', id });

async function loadWebhook({ em, actor }: OperationContext, id: WebhookId): Promise<Webhook> {
  const organization = requireOrganization(actor).id;
  const webhook = await em.findOne(Webhook, { id, organization }, { lockMode: LockMode.PESSIMISTIC_WRITE });
  if (!webhook) throw notFound('webhook');
  return webhook;
}

export const updateWebhook = defineOperation({
  name: 'updateWebhook',
  description:
    'Updates a webhook, enables or disables it. An absent field does not change. With another address, other types or conditions, and when it is enabled, it begins without failures, and the next entry is sent at once. A webhook that is enabled again gets the entries that were added meanwhile, as far as they are kept; `replay` skips some of them.',
  access: MANAGE_WEBHOOKS,
  input: updateWebhookInput,
  errors: [NotFoundError, ConflictError],
  prepare: async (context, { url }) => ({ isPlain: url !== undefined && (await isPlain(context)) }),
  run: async (context, { webhookId, expectedUpdatedAt, ...changes }, how) => {
    const { url, types, conditions, isEnabled } = changes;
    const { em, now, secrets } = context;
    const webhook = await loadWebhook(context, webhookId);
    requireUnchanged(webhook, { expectedUpdatedAt }, { type: 'Webhook', key: webhook.id });
    if (isEmptyUpdate(changes)) return unchanged(webhook);
    const at = now();
    const before = sentBy(webhook);
    const isElsewhere = url !== undefined && url !== (await readAddress(em, secrets, webhook));
    if (isElsewhere) {
      requireAllowed(context, url);
      await storeAddress(em, secrets, webhook, { ...how, url });
    }
    if (types !== undefined) webhook.types = types;
    if (conditions !== undefined) webhook.sessionStates = conditions?.sessionStates ?? null;
    if (isElsewhere || sentBy(webhook) !== before) webhook.startAgain();
    if (isEnabled === true && webhook.disabledAt != null) webhook.enable();
    if (isEnabled === false && webhook.disabledAt == null) {
      webhook.disable('requested', at);
      publishToFeed(em, {
        organizationId: webhook.organization.id,
        type: 'webhook.disabled',
        subjectType: 'Webhook',
        subjectId: webhook.id,
        data: { reason: 'requested' },
      });
    }
    webhook.updatedAt = at;
    return webhook;
  },
  // The host alone, because the rest of an address can be a secret.
  target: (webhook, { webhookId: _id, expectedUpdatedAt: _expected, ...changes }) => ({
    ...targetOf(webhook),
    changedFields: givenNames(changes),
    detail: newValues({ ...changes, url: changes.url && new URL(changes.url).host }, ['url', 'isEnabled']),
  }),
  answer: changed,
});

const sentBy = ({ types, sessionStates }: Webhook): string =>
  JSON.stringify([types?.toSorted(), sessionStates?.toSorted()]);

export const rotateWebhookSecret = defineOperation({
  name: 'rotateWebhookSecret',
  description:
    'Gives a webhook a new secret. The previous one signs too for 24 hours, so that receivers can be changed meanwhile; an even older one no longer does.',
  access: MANAGE_WEBHOOKS,
  input: webhookReference,
  errors: [NotFoundError],
  run: async (context, { webhookId }) => {
    const { em, secrets, now } = context;
    const webhook = await loadWebhook(context, webhookId);
    const secret = generateSecret();
    await replaceWebhookSecret(em, secrets, webhook, secret);
    webhook.previousSecretExpiresAt = new Date(now().getTime() + PREVIOUS_SECRET_MS);
    webhook.updatedAt = now();
    return { webhook, secret };
  },
  target: ({ webhook }) => targetOf(webhook),
  answer: withSecret,
});

export const deleteWebhook = defineOperation({
  name: 'deleteWebhook',
  description: 'Deletes a webhook with its secrets and its log. Nothing is sent to it any more, retries included.',
  access: MANAGE_WEBHOOKS,
  input: webhookReference,
  errors: [NotFoundError],
  run: async (context, { webhookId }) => {
    const webhook = await loadWebhook(context, webhookId);
    await deleteWebhookSecrets(context.em, [webhookId]);
    context.em.remove(webhook);
    return { id: webhookId };
  },
  target: targetOf,
});

export const replayWebhook = defineOperation({
  name: 'replayWebhook',
  description:
    'Sends the entries of the feed after an id again, and then goes on. With a later id than that of the last delivered entry, the entries up to it are skipped. With `onlyFailed`, only entries that were tried and never delivered are sent, and none is skipped. A replayed entry that fails ends the replay; it is not sent again and does not count as a failure of the webhook.',
  access: MANAGE_WEBHOOKS,
  input: replayWebhookInput,
  errors: [NotFoundError],
  run: async (context, { webhookId, after, onlyFailed }) => {
    const webhook = await loadWebhook(context, webhookId);
    const head = await readFeedHead(context);
    if (after > head) throw invalid('after', `must be at most ${head}, the last id of the feed`, 'TOO_LARGE', head);
    // Nothing after the cursor was given up.
    if (onlyFailed && after >= (webhook.requestedCursor ?? webhook.cursor)) return unchanged(webhook);
    webhook.requestedCursor = after;
    webhook.replaysOnlyFailed = onlyFailed;
    return webhook;
  },
  target: targetOf,
  answer: changed,
});

export const tryWebhookNow = defineOperation({
  name: 'tryWebhookNow',
  description:
    'Makes a try of a failing webhook due at once. It is no step of the schedule: if it fails, the next try is when it would have been. A successful ping and a successful redelivery do the same.',
  access: MANAGE_WEBHOOKS,
  input: webhookReference,
  errors: [NotFoundError, ConflictError],
  run: async (context, { webhookId }) => {
    const webhook = await loadWebhook(context, webhookId);
    if (webhook.disabledAt != null) throw new ConflictError('WRONG_STATE', 'the webhook is disabled; enable it');
    webhook.tryNow();
    return webhook;
  },
  target: targetOf,
  answer: changed,
});

export const pingWebhook = defineOperation({
  name: 'pingWebhook',
  description:
    'Sends a message of the type `webhook.ping` to a webhook, also to a disabled one. It is sent once, does not count as health, and its result is in the log. When it succeeds, the next try of a failing webhook is due at once.',
  access: MANAGE_WEBHOOKS,
  input: webhookReference,
  errors: [NotFoundError, ConflictError],
  run: async (context, { webhookId }) => {
    const webhook = await loadWebhook(context, webhookId);
    return queueDelivery(context, webhook, { kind: 'ping', type: PING, messageId: null, feedEntryId: null });
  },
  target: ({ webhookId }) => targetOf({ id: webhookId }),
});

export const redeliverWebhook = defineOperation({
  name: 'redeliverWebhook',
  description:
    'Sends the message of a delivery again, also to a disabled webhook. It is sent once, does not count as health, and its result is in the log. When it succeeds, the next try of a failing webhook is due at once. An entry that is no longer in the feed, or that administrators can no longer see, is not sent.',
  access: MANAGE_WEBHOOKS,
  input: redeliverWebhookInput,
  errors: [NotFoundError, ConflictError],
  run: async (context, { webhookId, deliveryId }) => {
    const webhook = await loadWebhook(context, webhookId);
    const [delivery] = await DELIVERIES.find(context, [deliveryId], undefined, { isOfWebhook: true });
    if (delivery?.webhookId !== webhookId) throw notFound('delivery');
    const { type, messageId, feedEntryId } = delivery;
    return queueDelivery(context, webhook, {
      kind: feedEntryId === null ? 'ping' : 'redelivery',
      type,
      messageId,
      feedEntryId,
    });
  },
  target: ({ webhookId }) => targetOf({ id: webhookId }),
});

async function queueDelivery(
  { em, now, newId }: OperationContext,
  { id: webhookId, organization }: Webhook,
  message: Pick<DeliveryRow, 'kind' | 'type' | 'messageId' | 'feedEntryId'>,
): Promise<DeliveryRow> {
  // The locked row of the webhook makes concurrent requests wait.
  if ((await countQueued(em, organization.id, webhookId)) >= MAX_QUEUED)
    throw limitReached(MAX_QUEUED, `at most ${MAX_QUEUED} messages to a webhook wait; try again later`);
  const row: DeliveryRow = {
    ...message,
    id: newId(),
    organizationId: organization.id,
    webhookId,
    state: 'queued',
    attempt: 1,
    status: null,
    error: null,
    answer: null,
    durationMs: null,
    createdAt: now().toISOString(),
  };
  await insertDelivery(em, row);
  return row;
}

export const readWebhook = defineOperation({
  name: 'readWebhook',
  description: 'Reads a webhook. The answer contains no secret.',
  access: MANAGE_WEBHOOKS,
  input: webhookReference,
  errors: [NotFoundError],
  run: (context, { webhookId }) => changed(context, { id: webhookId }),
});

/** The webhooks with these ids in the acting organization. */
export const readWebhooks = guarded(
  MANAGE_WEBHOOKS,
  async (context: OperationContext, ids: readonly WebhookId[], selected?: Columns<WebhookRow>) =>
    withAddresses(context, await WEBHOOKS.find(context, ids, selected)),
);

export const listWebhooks = defineOperation({
  name: 'listWebhooks',
  description: 'Lists the webhooks of the organization, oldest first by default. An organization has at most 20.',
  access: MANAGE_WEBHOOKS,
  run: async (context, asked: AskedWebhooks, selected?: Columns<WebhookRow>) => {
    const { page, total } = await WEBHOOKS.read(context, asked, selected);
    return { page: { ...page, rows: await withAddresses(context, page.rows) }, total };
  },
});

export const listWebhookDeliveries = defineOperation({
  name: 'listWebhookDeliveries',
  description:
    'Lists the deliveries of a webhook, newest first by default: each request with its result, and the messages that wait. Deliveries are kept for 30 days.',
  access: MANAGE_WEBHOOKS,
  errors: [NotFoundError],
  run: async (context, { webhookId, filter, ...asked }: AskedDeliveries): Promise<CountedPage<DeliveryRow>> => {
    const [webhook] = await WEBHOOKS.find(context, [webhookId], ['id']);
    if (!webhook) throw notFound('webhook');
    return DELIVERIES.read(context, { ...asked, filter: { ...filter, webhookId } });
  },
});

type AskedWebhooks = Parameters<typeof WEBHOOKS.read>[1];

interface AskedDeliveries extends Asked<DeliveryFilter, DeliveryOrderField> {
  readonly webhookId: WebhookId;
}

/** The deliveries with these ids in the acting organization. */
export const readWebhookDeliveries = guarded(
  MANAGE_WEBHOOKS,
  (context: OperationContext, ids: readonly WebhookDeliveryId[], selected?: Columns<DeliveryRow>) =>
    DELIVERIES.find(context, ids, selected, { isOfWebhook: true }),
);
