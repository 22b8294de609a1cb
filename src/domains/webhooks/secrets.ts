import { type EntityManager, LockMode } from '@mikro-orm/postgresql';
import { z } from 'zod';
import type { OrganizationId, WebhookId } from '../../core/ids.ts';
import type { Sql } from '../../core/postgres/reading/sql.ts';
import { deleteSecretsOf, readSecretOfEach, readSecrets, storeSecret } from '../../core/secrets/secret-store.ts';
import type { SecretBox } from '../../core/secrets/secrets.ts';
import { KNOWS_SECRET_ADDRESSES, Webhook } from './entity.ts';
import { type JobContext, jobHandler } from '../../core/jobs.ts';

/** The secrets and addresses of webhooks, encrypted like all other secrets. */

const TABLE = 'webhook';
const CURRENT = 'secret';
const PREVIOUS = 'previousSecret';
const ADDRESS = 'address';

export const storeWebhookSecret = (
  em: EntityManager,
  box: SecretBox,
  { id, organization }: Webhook,
  secret: string,
): Promise<void> => storeSecret(em, box, { table: TABLE, id, organizationId: organization.id }, CURRENT, secret);

/** Stores a new secret and keeps the current one as the previous one. */
export async function replaceWebhookSecret(
  em: EntityManager,
  box: SecretBox,
  webhook: Webhook,
  secret: string,
): Promise<void> {
  const { id, organization } = webhook;
  const current = (await readSecrets(em, box, { table: TABLE, id })).get(CURRENT);
  if (current !== undefined)
    await storeSecret(em, box, { table: TABLE, id, organizationId: organization.id }, PREVIOUS, current);
  await storeWebhookSecret(em, box, webhook, secret);
}

/** What requests to a webhook need: the address, and the secrets that sign, the current one first. */
export interface SendingSecrets {
  readonly url: string;
  readonly signing: readonly string[];
}

export async function sendingSecrets(
  em: EntityManager,
  box: SecretBox,
  webhook: Pick<Webhook, 'id' | 'url'> & { readonly previousSecretExpiresAt: string | null },
  at: Date,
): Promise<SendingSecrets> {
  const { id, url, previousSecretExpiresAt } = webhook;
  const stored = await readSecrets(em, box, { table: TABLE, id });
  const isPreviousValid = previousSecretExpiresAt !== null && Date.parse(previousSecretExpiresAt) > at.getTime();
  const signing = [CURRENT, ...(isPreviousValid ? [PREVIOUS] : [])].flatMap((field) => stored.get(field) ?? []);
  return { url: url ?? stored.get(ADDRESS) ?? '', signing };
}

/** Stores the address: as a secret, unless an earlier version needs it. */
export async function storeAddress(
  em: EntityManager,
  box: SecretBox,
  webhook: Webhook,
  { url, isPlain }: { readonly url: string; readonly isPlain: boolean },
): Promise<void> {
  const { id, organization } = webhook;
  webhook.url = isPlain ? url : null;
  if (!isPlain) await storeSecret(em, box, { table: TABLE, id, organizationId: organization.id }, ADDRESS, url);
}

export const readAddress = async (em: EntityManager, box: SecretBox, { id, url }: Webhook): Promise<string> =>
  url ?? (await readSecrets(em, box, { table: TABLE, id })).get(ADDRESS) ?? '';

/** The addresses that are stored as secrets, by webhook. */
export const readAddresses = (
  reader: Sql,
  box: SecretBox,
  organizationId: OrganizationId,
  ids: readonly WebhookId[],
): Promise<Map<string, string>> => readSecretOfEach(reader, box, { table: TABLE, organizationId, field: ADDRESS }, ids);

const SHOWN_CHARACTERS = 4;

/** What is shown of an address: its host, and its last characters, which tell two addresses of a host apart. */
export function addressLabelOf(url: string): string {
  const { host, origin } = new URL(url);
  const rest = url.slice(origin.length);
  return rest.length <= 1 ? host : `${host}/…${rest.slice(-SHOWN_CHARACTERS)}`;
}

/** Deletes the secrets of webhooks, in the transaction of the caller. */
export const deleteWebhookSecrets = (em: EntityManager, ids: readonly WebhookId[]): Promise<void> =>
  deleteSecretsOf(em, TABLE, ids);

const BATCH = 100;

/** Encrypts the addresses that earlier versions have stored, once no process of them is left. */
export const addressJob = jobHandler({
  queue: 'webhook-addresses',
  data: z.unknown(),
  schedule: '37 * * * *',
  run: encryptAddresses,
});

export async function encryptAddresses({
  em,
  secrets,
  signal,
  hasOlderProcess,
}: Pick<JobContext, 'em' | 'secrets' | 'signal' | 'hasOlderProcess'>): Promise<void> {
  for (let count = BATCH; count === BATCH;) {
    signal.throwIfAborted();
    if (await hasOlderProcess(KNOWS_SECRET_ADDRESSES)) return;
    count = await em.fork().transactional(async (transaction) => {
      const webhooks = await transaction.find(
        Webhook,
        { url: { $ne: null } },
        { orderBy: { id: 'asc' }, limit: BATCH, lockMode: LockMode.PESSIMISTIC_WRITE },
      );
      for (const webhook of webhooks)
        if (webhook.url != null)
          await storeAddress(transaction, secrets, webhook, { url: webhook.url, isPlain: false });
      return webhooks.length;
    });
  }
}
