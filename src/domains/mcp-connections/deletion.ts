import type { EntityManager } from '@mikro-orm/postgresql';
import type { McpAuthorizationId, McpConnectionId, OrganizationId, UserId } from '../../core/ids.ts';
import { type Readable, anyOf } from '../../core/postgres/reading/queries.ts';
import { deleteSecretsOf } from '../../core/secrets/secret-store.ts';
import { AUTHORIZATION_TABLE, CONNECTION_TABLE } from './credentials.ts';
import type { McpConnectionTables } from './entity.ts';
import { type RevocationContext, queueRevocations } from './authorization/token-revocation.ts';

/** Deletes connections and authorizations with their secrets. Every function runs in the caller's transaction. */

const tablesOf = (em: EntityManager) => em.getKysely<Readable<McpConnectionTables>>();

/** Selects connections: of an organization, the personal ones of an owner, or the personal ones of an owner in an organization. */
export interface WhoseConnections {
  readonly organizationId?: OrganizationId;
  readonly personalOf?: UserId;
}

/**
 * Deletes a batch of connections and queues the revocation of their tokens. The rows are locked before the secrets are deleted, so that a
 * concurrent token refresh either commits before or finds no connection.
 * @returns the ids of the deleted connections.
 */
export async function deleteConnections(
  context: RevocationContext,
  { organizationId, personalOf }: WhoseConnections,
  batch: number,
): Promise<McpConnectionId[]> {
  const { em } = context;
  let some = tablesOf(em).selectFrom('mcp_connection').select('id').orderBy('id').limit(batch).forUpdate();
  if (organizationId !== undefined) some = some.where('organization_id', '=', organizationId);
  if (personalOf !== undefined) some = some.where('owner_id', '=', personalOf).where('visibility', '=', 'personal');
  const ids = (await some.execute()).map(({ id }) => id);
  if (ids.length === 0) return [];
  await queueRevocations(context, ids);
  await deleteConnectionRows(em, ids);
  return ids;
}

/** Deletes locked connections with their pending authorizations and all secrets. */
export async function deleteConnectionRows(em: EntityManager, ids: readonly McpConnectionId[]): Promise<void> {
  const given = anyOf('uuid', ids);
  const waiting = await tablesOf(em)
    .deleteFrom('mcp_authorization')
    .where('connection_id', '=', given)
    .returning('id')
    .execute();
  await deleteSecretsOf(
    em,
    AUTHORIZATION_TABLE,
    waiting.map(({ id }) => id),
  );
  await deleteSecretsOf(em, CONNECTION_TABLE, ids);
  await tablesOf(em).deleteFrom('mcp_connection').where('id', '=', given).execute();
}

/** Deletes a batch of the pending authorizations of a user. @returns their ids. */
export async function deleteAuthorizationsOf(
  em: EntityManager,
  userId: UserId,
  batch: number,
): Promise<McpAuthorizationId[]> {
  const tables = tablesOf(em);
  const some = tables.selectFrom('mcp_authorization').select('id').where('user_id', '=', userId).limit(batch);
  const deleted = await tables.deleteFrom('mcp_authorization').where('id', 'in', some).returning('id').execute();
  const ids = deleted.map(({ id }) => id);
  await deleteSecretsOf(em, AUTHORIZATION_TABLE, ids);
  return ids;
}

/** Removes the owner from a batch of the shared connections that a user created. @returns their ids. */
export async function forgetConnectionOwner(
  em: EntityManager,
  userId: UserId,
  batch: number,
): Promise<McpConnectionId[]> {
  const tables = tablesOf(em);
  const some = tables
    .selectFrom('mcp_connection')
    .select('id')
    .where('owner_id', '=', userId)
    .where('visibility', '=', 'shared')
    .limit(batch);
  const forgotten = await tables
    .updateTable('mcp_connection')
    .set({ owner_id: null })
    .where('id', 'in', some)
    .where('owner_id', '=', userId)
    .where('visibility', '=', 'shared')
    .returning('id')
    .execute();
  return forgotten.map(({ id }) => id);
}

/** Deletes a batch of expired pending authorizations. @returns how many were deleted. */
export const deleteExpiredAuthorizations = (em: EntityManager, at: Date, batch: number): Promise<number> =>
  em.transactional(async (transaction) => {
    const tables = tablesOf(transaction);
    const expired = tables
      .selectFrom('mcp_authorization')
      .select('id')
      .where('expires_at', '<=', at.toISOString())
      .limit(batch)
      .forUpdate()
      .skipLocked();
    const deleted = await tables.deleteFrom('mcp_authorization').where('id', 'in', expired).returning('id').execute();
    await deleteSecretsOf(
      transaction,
      AUTHORIZATION_TABLE,
      deleted.map(({ id }) => id),
    );
    return deleted.length;
  });
