import { LRUCache } from 'lru-cache';
import type { OperationManifestId, OrganizationId } from '../../core/ids.ts';
import type { OperationContext } from '../../core/operation.ts';
import { queriesOn } from '../../core/postgres/reading/queries.ts';
import { DAY_MS } from '../../core/text/timestamps.ts';
import type { ManifestTables } from './entity.ts';

/** Finds published documents, for each request that names one. */

/** How a client names itself. What it leaves out is not compared. */
export interface NamedClient {
  readonly client: string | null;
  readonly version: string | null;
}

interface Found {
  readonly document: string;
  /** The client of the manifest. */
  readonly client: string;
  readonly manifestId: OperationManifestId;
  /** When it was read. */
  readonly readAt: number;
}

const db = queriesOn<ManifestTables>();

/**
 * The documents of a version of a client never change, so what was found is right until its manifest is retired. What was not found is read again, and so is what a
 * request without a client or a version gets: another version can be published in another process.
 */
export const newCache = () =>
  new LRUCache<string, Found>({
    maxSize: 16 * 1024 * 1024,
    sizeCalculation: ({ document }) => 2 * document.length + 500,
  });

/** How exactly the last use is recorded, so that not every request writes. */
const PRECISION_MS = DAY_MS;
/** So long after a manifest was retired its documents are found in other processes. */
const CACHED_MS = 60_000;

type Reader = Pick<OperationContext, 'sql' | 'caches' | 'now'>;

/** The document of an organization with this id or SHA-256, and records its use. The newest, if several clients that are not named have it. */
export async function findPublishedDocument(
  { sql, caches, now }: Reader,
  organizationId: OrganizationId,
  id: string,
  named: NamedClient,
): Promise<Pick<Found, 'document' | 'client'> | undefined> {
  const cache = caches.of(newCache);
  const isExact = named.client !== null && named.version !== null;
  const key = JSON.stringify([organizationId, id, named.client, named.version]);
  const at = now();
  const known = isExact ? cache.get(key) : undefined;
  if (known && at.getTime() - known.readAt < CACHED_MS) return known;
  const [found] = await sql.all(documentsThat(organizationId, id, named));
  if (!found) return undefined;
  const since = new Date(at.getTime() - PRECISION_MS);
  if (new Date(found.lastUsedAt) <= since)
    await sql.all(
      db
        .updateTable('operation_manifest')
        .set({ last_used_at: at })
        .where('id', '=', found.manifestId)
        .where('organization_id', '=', organizationId)
        .where('last_used_at', '<=', since.toISOString()),
    );
  if (isExact) cache.set(key, { ...found, readAt: at.getTime() });
  return found;
}

function documentsThat(organizationId: OrganizationId, id: string, { client, version }: NamedClient) {
  let found = db
    .selectFrom('published_document as d')
    .innerJoin('operation_manifest as m', (join) =>
      join.onRef('m.id', '=', 'd.manifest_id').onRef('m.organization_id', '=', 'd.organization_id'),
    )
    .select(['d.document', 'm.client', 'd.manifest_id as manifestId', 'm.last_used_at as lastUsedAt'])
    .where('d.organization_id', '=', organizationId)
    .where((eb) => eb.or([eb('d.operation_id', '=', id), eb('d.hash', '=', id)]))
    .orderBy('m.published_at', 'desc')
    .orderBy('m.id')
    .limit(1);
  if (client !== null) found = found.where('m.client', '=', client);
  if (version !== null) found = found.where('m.version', '=', version);
  return found;
}
