import { hash } from 'node:crypto';
import { type EntityManager, LockMode } from '@mikro-orm/postgresql';
import { sql } from 'kysely';
import { requireOrganization } from '../../core/access.ts';
import { ConflictError, limitReached } from '../../core/errors.ts';
import type { OrganizationId } from '../../core/ids.ts';
import { defineOperation } from '../../core/operation.ts';
import { listOf } from '../../core/postgres/reading/queries.ts';
import { DAY_MS } from '../../core/text/timestamps.ts';
import { WORK } from '../../core/work-budget.ts';
import { lockOrganization } from '../organizations/public.ts';
import { type ManifestTables, OperationManifest, PublishedDocument } from './entity.ts';
import { type NamedDocument, publishOperationManifestInput } from './input.ts';
import { PUBLISH_OPERATIONS } from './policy.ts';

/** How long a manifest is kept after its last use. */
export const KEPT_MS = 90 * DAY_MS;

export const publishOperationManifest = defineOperation({
  name: 'publishOperationManifest',
  description:
    'Publishes the documents of a version of a client, so that its requests can send their ids in place of the texts. They are known in all processes of the gateway at once, and for 90 days after their last use. A document never changes; a repeated publication adds others.',
  access: PUBLISH_OPERATIONS,
  input: publishOperationManifestInput,
  errors: [ConflictError],
  run: async ({ em, actor, now, newId }, { client, version, operations }): Promise<OperationManifest> => {
    const organization = requireOrganization(actor);
    await lockOrganization(em, organization.id);
    const at = now();
    const known = await em.findOne(
      OperationManifest,
      { organization: organization.id, client, version },
      { lockMode: LockMode.PESSIMISTIC_WRITE },
    );
    const added = known ? await newOf(em, known, operations) : operations;
    const bytes = added.reduce((sum, { document }) => sum + Buffer.byteLength(document), 0);
    await requireRoom(em, organization.id, { manifests: known ? 0 : 1, bytes });
    const created = { id: newId(), organization: organization.id, client, version, operationCount: 0, bytes: 0 };
    const manifest = known ?? em.create(OperationManifest, { ...created, publishedAt: at, lastUsedAt: at });
    manifest.operationCount += added.length;
    manifest.bytes += bytes;
    manifest.lastUsedAt = at;
    if (manifest.operationCount > WORK.manifestOperations)
      throw limitReached(WORK.manifestOperations, `a manifest has at most ${WORK.manifestOperations} operations`);
    await em.flush();
    await insertDocuments(em, organization.id, manifest, added);
    return manifest;
  },
  target: ({ id, client, version }) => ({ type: 'OperationManifest', id, label: `${client} ${version}` }),
});

/** The documents that the manifest does not have. @throws ConflictError for one with the id of another document. */
async function newOf(
  em: EntityManager,
  { id }: OperationManifest,
  operations: readonly NamedDocument[],
): Promise<NamedDocument[]> {
  const stored = await em.find(PublishedDocument, { manifest: id }, { fields: ['operationId', 'hash'] });
  const hashes = new Map(stored.map((one) => [one.operationId, one.hash]));
  return operations.filter((operation) => {
    const known = hashes.get(operation.id);
    if (known !== undefined && known !== hashOf(operation))
      throw new ConflictError(
        'NAME_TAKEN',
        'is published with another document for this client and version; publish another version',
        ['operations', operation.id],
      );
    return known === undefined;
  });
}

async function requireRoom(
  em: EntityManager,
  organizationId: OrganizationId,
  more: { readonly manifests: number; readonly bytes: number },
): Promise<void> {
  const { count, bytes } = await em
    .getKysely<ManifestTables>()
    .selectFrom('operation_manifest')
    .select([sql<number>`count(*)::float8`.as('count'), sql<number>`coalesce(sum(bytes), 0)::float8`.as('bytes')])
    .where('organization_id', '=', organizationId)
    .executeTakeFirstOrThrow();
  if (count + more.manifests > WORK.manifests || bytes + more.bytes > WORK.manifestBytes)
    throw limitReached(
      WORK.manifests,
      `an organization has at most ${WORK.manifests} manifests with ${WORK.manifestBytes} bytes; those that were not used for 90 days are deleted`,
    );
}

async function insertDocuments(
  em: EntityManager,
  organizationId: OrganizationId,
  { id }: OperationManifest,
  documents: readonly NamedDocument[],
): Promise<void> {
  if (documents.length === 0) return;
  const given = sql<{ operation_id: string; hash: string; document: string }>`unnest(
    ${listOf(
      'text',
      documents.map((each) => each.id),
    )}, ${listOf('text', documents.map(hashOf))},
    ${listOf(
      'text',
      documents.map(({ document }) => document),
    )})`;
  await em
    .getKysely<ManifestTables>()
    .insertInto('published_document')
    .columns(['manifest_id', 'organization_id', 'operation_id', 'hash', 'document'])
    .expression((eb) =>
      eb
        .selectFrom(given.as<'d'>(sql`d(operation_id, hash, document)`))
        .select([
          sql<string>`${id}::uuid`.as('manifest_id'),
          sql<string>`${organizationId}::uuid`.as('organization_id'),
          'd.operation_id',
          'd.hash',
          'd.document',
        ]),
    )
    .execute();
}

const hashOf = ({ document }: NamedDocument): string => hash('sha256', document);

/** Deletes manifests that were not used for 90 days, with their documents. */
export async function deleteUnusedManifests(em: EntityManager, at: Date): Promise<number> {
  const tables = em.getKysely<ManifestTables>();
  const unused = tables
    .selectFrom('operation_manifest')
    .select('id')
    .where('last_used_at', '<=', new Date(at.getTime() - KEPT_MS))
    .limit(MANIFESTS_AT_A_TIME);
  const deleted = await tables.deleteFrom('operation_manifest').where('id', 'in', unused).returning('id').execute();
  return deleted.length;
}

/** Each can have 2,000 documents. */
const MANIFESTS_AT_A_TIME = 5;
