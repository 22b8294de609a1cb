import type { EntityManager } from '@mikro-orm/postgresql';
import { z } from 'zod';
import type { McpConnectionId } from '../../../core/ids.ts';
import { enqueueJob, jobHandler } from '../../../core/jobs.ts';
import type { WorkContext } from '../../../core/operation.ts';
import { deleteSecrets, readSecrets, storeSecret } from '../../../core/secrets/secret-store.ts';
import { SecretError } from '../../../core/secrets/secrets.ts';
import { readCredentials } from '../credentials.ts';
import { McpConnection, McpTokenRevocation } from '../entity.ts';
import { revoke } from './authorization-flow.ts';
import type { OAuthClient } from './authorization-server.ts';
import { clientOf } from './client.ts';

/**
 * A job that revokes the tokens of connections that were deleted together with a user or an organization (RFC 7009),
 * because a transaction must not wait for another server. Until then the tokens are stored encrypted, like every
 * secret.
 */

const QUEUE = 'mcp-token-revocation';
const TABLE = 'mcp_token_revocation';
const GRANT = 'grant';
/** All attempts together take about three hours. At a server that is unreachable for longer, the tokens stay valid until they expire. */
const ATTEMPTS = 11;
const FIRST_PAUSE_SECONDS = 5;

interface Grant {
  readonly client: OAuthClient;
  readonly token: string;
}

export type RevocationContext = Pick<WorkContext, 'em' | 'secrets' | 'now' | 'newId'>;

/** Copies the tokens of connections that will be deleted and queues their revocation, in the caller's transaction. */
export async function queueRevocations(
  { em, secrets, now, newId }: RevocationContext,
  connectionIds: readonly McpConnectionId[],
): Promise<void> {
  const connections = await em.find(
    McpConnection,
    { id: { $in: [...connectionIds] }, authType: { $in: ['oauth', 'client_credentials'] } },
    { disableIdentityMap: true },
  );
  for (const connection of connections) {
    const grant = await grantOf(em, secrets, connection);
    if (!grant || !connection.authorizationServer) continue;
    const id = newId();
    const { authorizationServer } = connection;
    const organizationId = connection.organization.id;
    await em.insert(McpTokenRevocation, { id, organizationId, authorizationServer, attempts: 0, createdAt: now() });
    await storeSecret(em, secrets, { table: TABLE, id, organizationId }, GRANT, JSON.stringify(grant));
    await enqueueJob(em, QUEUE, { id, data: { revocationId: id }, delaySeconds: 0 });
  }
}

async function grantOf(
  em: EntityManager,
  secrets: WorkContext['secrets'],
  connection: McpConnection,
): Promise<Grant | undefined> {
  try {
    const { tokens, registration, clientSecret } = await readCredentials(em, secrets, connection.id);
    const client = clientOf(connection, connection.authorizationServer, registration, clientSecret);
    return tokens && client && { client, token: tokens.refreshToken ?? tokens.accessToken };
  } catch (error) {
    // Tokens that cannot be decrypted cannot be revoked. The connection is deleted anyway.
    if (error instanceof SecretError) return undefined;
    throw error;
  }
}

/** Revokes the tokens of one connection. The job is retried when the server does not answer. */
export const mcpTokenRevocationJob = jobHandler({
  queue: QUEUE,
  data: z.strictObject({ revocationId: z.uuid() }),
  run: async ({ em, secrets, outbound, newId }, { revocationId: id }) => {
    const revocation = await em.fork().findOne(McpTokenRevocation, { id });
    if (!revocation) return;
    const stored = (await readSecrets(em.fork(), secrets, { table: TABLE, id })).get(GRANT);
    const grant = stored === undefined ? undefined : (JSON.parse(stored) as Grant);
    const isSettled =
      !grant || (await revoke(outbound.begin(), revocation.authorizationServer, grant.client, grant.token));
    await em.fork().transactional(async (transaction) => {
      if (isSettled || revocation.attempts + 1 >= ATTEMPTS) {
        await deleteSecrets(transaction, { table: TABLE, id });
        await transaction.nativeDelete(McpTokenRevocation, { id });
        return;
      }
      await transaction.nativeUpdate(McpTokenRevocation, { id }, { attempts: revocation.attempts + 1 });
      const delaySeconds = FIRST_PAUSE_SECONDS * 2 ** revocation.attempts;
      await enqueueJob(transaction, QUEUE, { id: newId(), data: { revocationId: id }, delaySeconds });
    });
  },
});
