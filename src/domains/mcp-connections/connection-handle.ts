import { createHash } from 'node:crypto';
import type { EntityManager } from '@mikro-orm/postgresql';
import { sql } from 'kysely';
import { type ConflictError, ForbiddenError, nameTaken, nameUsedBefore } from '../../core/errors.ts';
import type { McpConnectionId, OrganizationId } from '../../core/ids.ts';
import { lockName } from '../../core/postgres/advisory-lock.ts';
import type { Readable } from '../../core/postgres/reading/queries.ts';
import { type Actor, requireOrganization } from '../../core/access.ts';
import { cut, firstFree, fold } from '../../core/text/derived-names.ts';
import { DAY_MS } from '../../core/text/timestamps.ts';
import type { McpConnection, McpConnectionTables } from './entity.ts';

/**
 * Handles of connections: the first part of `<handle>__<tool>`, by which the tools of several connections are told apart. Their case does not
 * count. A handle stays reserved after its connection: an agent that still calls its tools must not call another server.
 */

export const HANDLE_MAX_LENGTH = 50;
const NUMBERING = { separator: '-', maxLength: HANDLE_MAX_LENGTH } as const;
export const RESERVED_DAYS = 30;
const RESERVED_MS = RESERVED_DAYS * DAY_MS;

/** Generates a handle: `Ünïcode & Tools` gives `unicode-tools`. */
export function handleFromName(name: string): string {
  const handle = fold(name)
    .replace(/[^a-z0-9]+/g, '-')
    .replace(/^-/, '');
  return cut(handle, NUMBERING.separator, HANDLE_MAX_LENGTH) || 'server';
}

/** Handles of an organization are given one at a time, so that one that was found free is still free at the insert. */
export const lockHandles = (em: EntityManager, organizationId: OrganizationId): Promise<void> =>
  lockName(em, `mcp-handles ${organizationId}`);

const tablesOf = (em: EntityManager) => em.getKysely<Readable<McpConnectionTables>>();

/** The server that a handle is for. */
interface Place {
  readonly organizationId: OrganizationId;
  /** Null for stdio. */
  readonly serverUrl: string | null;
  readonly now: Date;
}

/** Reserved handles that begin so, but those of connections to the same server. */
const reservedFor = (em: EntityManager, { organizationId, serverUrl, now }: Place, beginning: string) =>
  tablesOf(em)
    .selectFrom('mcp_used_handle')
    .select('handle')
    .where('organization_id', '=', organizationId)
    .where(sql<boolean>`starts_with(handle, ${beginning})`)
    .where('released_at', '>', new Date(now.getTime() - RESERVED_MS).toISOString())
    .where(sql<boolean>`(server_hash is null or server_hash is distinct from ${hashOf(serverUrl)}::bytea)`);

const hashOf = (serverUrl: string | null): Buffer | null =>
  serverUrl === null ? null : createHash('sha256').update(serverUrl).digest();

/** A handle from the name, with a number when it is taken or reserved. Call it with the handles locked. */
export async function freeHandle(em: EntityManager, place: Place, name: string): Promise<string> {
  const base = handleFromName(name);
  const beginning = base.slice(0, HANDLE_MAX_LENGTH - 8);
  const taken = await tablesOf(em)
    .selectFrom('mcp_connection')
    .select(sql<string>`lower(handle)`.as('handle'))
    .where('organization_id', '=', place.organizationId)
    .where(sql<boolean>`starts_with(lower(handle), ${beginning})`)
    .unionAll(reservedFor(em, place, beginning))
    .execute();
  return firstFree(base, new Set(taken.map(({ handle }) => handle)), NUMBERING);
}

interface Wanted extends Place {
  readonly handle: string;
  readonly path: readonly string[];
  /** An administrator takes it although it is reserved. */
  readonly isReused: boolean;
  /** The connection that gets it, if it is not new. */
  readonly connectionId?: McpConnectionId | undefined;
}

/** @throws ConflictError for a handle that another connection has, or has had in the last 30 days. */
export async function requireFreeHandle(em: EntityManager, wanted: Wanted): Promise<void> {
  const { handle, path, isReused, organizationId, connectionId } = wanted;
  const lower = handle.toLowerCase();
  const holders = await tablesOf(em)
    .selectFrom('mcp_connection')
    .select('id')
    .where('organization_id', '=', organizationId)
    .where(sql<boolean>`lower(handle) = ${lower}`)
    .execute();
  if (holders.some(({ id }) => id !== connectionId)) throw handleTaken(handle, path);
  // A connection may change the case of its own handle.
  if (isReused || holders.length > 0) return;
  const reserved = await reservedFor(em, wanted, lower).where('handle', '=', lower).execute();
  if (reserved.length > 0)
    throw nameUsedBefore(
      `${handle} was the handle of another MCP connection in the last ${RESERVED_DAYS} days, and agents may still call its tools; choose another handle, or let an administrator set reuseHandle`,
      path,
    );
}

export const handleTaken = (handle: string, path: readonly string[] = ['handle']): ConflictError =>
  nameTaken(handle, 'another MCP connection', 'handle', [...path]);

/** @throws ForbiddenError unless the caller may take a reserved handle. */
export function requireReuser(actor: Actor, reuseHandle: boolean | undefined): void {
  if (reuseHandle === true && requireOrganization(actor).role !== 'admin')
    throw new ForbiddenError('only an administrator of the organization can use a handle again', { role: 'admin' });
}

/** Reserves the handle of a connection that is deleted or gets another one. */
export async function reserveHandle(
  em: EntityManager,
  { handle, serverUrl, visibility, owner, organization }: McpConnection,
  { id, now }: { readonly id: string; readonly now: Date },
): Promise<void> {
  const values = {
    owner_id: visibility === 'personal' ? (owner?.id ?? null) : null,
    server_hash: hashOf(serverUrl ?? null),
    released_at: now.toISOString(),
  };
  await tablesOf(em)
    .insertInto('mcp_used_handle')
    .values({ id, organization_id: organization.id, handle: handle.toLowerCase(), ...values })
    .onConflict((conflict) => conflict.columns(['organization_id', 'handle']).doUpdateSet(values))
    .execute();
}

/** Deletes a batch of handles that are no longer reserved. @returns how many were deleted. */
export async function deleteOldHandles(em: EntityManager, at: Date, batch: number): Promise<number> {
  const tables = tablesOf(em);
  const old = tables
    .selectFrom('mcp_used_handle')
    .select('id')
    .where('released_at', '<=', new Date(at.getTime() - RESERVED_MS).toISOString())
    .limit(batch);
  const deleted = await tables.deleteFrom('mcp_used_handle').where('id', 'in', old).returning('id').execute();
  return deleted.length;
}
