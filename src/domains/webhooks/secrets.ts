import type { EntityManager } from '@mikro-orm/postgresql';
import type { WebhookId } from '../../core/ids.ts';
import { deleteSecretsOf, readSecrets, storeSecret } from '../../core/secrets/secret-store.ts';
import type { SecretBox } from '../../core/secrets/secrets.ts';
import type { Webhook } from './entity.ts';

/** The secrets of webhooks, encrypted like all others. */

const TABLE = 'webhook';
const CURRENT = 'secret';
const PREVIOUS = 'previousSecret';

export function storeWebhookSecret(
  em: EntityManager,
  box: SecretBox,
  { id, organization }: Webhook,
  secret: string,
): Promise<void> {
  return storeSecret(em, box, { table: TABLE, id, organizationId: organization.id }, CURRENT, secret);
}

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

/** The secrets that sign, the current one first. */
export async function signingSecrets(
  em: EntityManager,
  box: SecretBox,
  { id, previousSecretExpiresAt }: { readonly id: WebhookId; readonly previousSecretExpiresAt: string | null },
  at: Date,
): Promise<string[]> {
  const stored = await readSecrets(em, box, { table: TABLE, id });
  const isPreviousValid = previousSecretExpiresAt !== null && Date.parse(previousSecretExpiresAt) > at.getTime();
  return [CURRENT, ...(isPreviousValid ? [PREVIOUS] : [])].flatMap((field) => stored.get(field) ?? []);
}

/** Deletes the secrets of webhooks, in the transaction of the caller. */
export function deleteWebhookSecrets(em: EntityManager, ids: readonly WebhookId[]): Promise<void> {
  return deleteSecretsOf(em, TABLE, ids);
}
