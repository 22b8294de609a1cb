import type { EntityManager } from '@mikro-orm/postgresql';
import { sql } from 'kysely';
import type { OrganizationId } from '../../core/ids.ts';
import { lockName } from '../../core/postgres/advisory-lock.ts';
import type { Readable } from '../../core/postgres/reading/queries.ts';
import { fold } from '../../core/text/fold.ts';
import { cut, firstFree } from '../../core/text/numbered-names.ts';
import type { McpConnectionTables } from './entity.ts';

/** Handles of connections: the first part of `<handle>__<tool>`, by which the tools of several connections are told apart. */

export const HANDLE_MAX_LENGTH = 50;
const NUMBERING = { separator: '-', maxLength: HANDLE_MAX_LENGTH } as const;

/** Generates a handle: `Ünïcode & Tools` gives `unicode-tools`. */
export function handleFromName(name: string): string {
  const handle = fold(name)
    .replace(/[^a-z0-9]+/g, '-')
    .replace(/^-/, '');
  return cut(handle, NUMBERING.separator, HANDLE_MAX_LENGTH) || 'server';
}

/** Handles of an organization are given one at a time, so that a generated one is still free at the insert. */
export function lockHandles(em: EntityManager, organizationId: OrganizationId): Promise<void> {
  return lockName(em, `mcp-handles ${organizationId}`);
}

/** A handle from the name, with a number when it is taken. Call it with the handles locked. */
export async function freeHandle(em: EntityManager, organizationId: OrganizationId, name: string): Promise<string> {
  const base = handleFromName(name);
  const rows = await em
    .getKysely<Readable<McpConnectionTables>>()
    .selectFrom('mcp_connection')
    .select('handle')
    .where('organization_id', '=', organizationId)
    .where(sql<boolean>`starts_with(handle, ${base.slice(0, HANDLE_MAX_LENGTH - 8)})`)
    .execute();
  return firstFree(base, new Set(rows.map(({ handle }) => handle)), NUMBERING);
}
