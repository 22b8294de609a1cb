import { hash } from 'node:crypto';
import { type EntityManager, LockMode } from '@mikro-orm/postgresql';
import { sql } from 'kysely';
import { requireOrganization } from '../../core/access.ts';
import { LRUCache } from 'lru-cache';
import type { AuditTarget } from '../../core/audit.ts';
import { ConflictError, type InputFault, NotFoundError, ValidationError, limitReached } from '../../core/errors.ts';
import type { OrganizationId } from '../../core/ids.ts';
import { readList } from '../../core/input/lists.ts';
import { type OperationContext, defineOperation, unchanged } from '../../core/operation.ts';
import type { PageArguments } from '../../core/postgres/reading/keyset.ts';
import { defineList, inActingOrganization } from '../../core/postgres/reading/lists.ts';
import { type Readable, type RowOf, anyOf, listOf, queriesOn } from '../../core/postgres/reading/queries.ts';
import { DAY_MS } from '../../core/text/timestamps.ts';
import { WORK, WorkSlices } from '../../core/work-budget.ts';
import { lockOrganization } from '../organizations/public.ts';
import { type ManifestTables, OperationManifest, PublishedDocument } from './entity.ts';
import { checkDocument } from './document-check.ts';
import {
  type NamedDocument,
  listOperationManifestsInput,
  publishOperationManifestInput,
  retireOperationManifestInput,
} from './input.ts';
import { PUBLISH_OPERATIONS } from './policy.ts';
import { newCache } from './published-documents.ts';

const db = queriesOn<ManifestTables>();

/** How long a manifest is kept after its last use. */
export const KEPT_MS = 90 * DAY_MS;

export type ManifestRow = Pick<
  OperationManifest,
  'id' | 'client' | 'version' | 'operationCount' | 'publishedAt' | 'lastUsedAt'
>;

/** What a publication answers. */
export interface Published {
  readonly manifest: ManifestRow;
  readonly warnings: readonly string[];
  readonly isDryRun: boolean;
}

export const publishOperationManifest = defineOperation({
  name: 'publishOperationManifest',
  description:
    'Publishes the documents of a version of a client, so that its requests can send their ids in place of the texts. They are known in all processes of the gateway at once, and for 90 days after their last use. A document never changes; a repeated publication adds others. Each is checked against the schema and the limits first, and nothing is published if one cannot be executed.',
  access: PUBLISH_OPERATIONS,
  input: publishOperationManifestInput,
  errors: [ConflictError],
  prepare: async (_, { operations }) => checkDocuments(operations),
  run: async ({ em, actor, now, newId }, { client, version, operations, dryRun }, warnings) => {
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
    const operationCount = (known?.operationCount ?? 0) + added.length;
    if (operationCount > WORK.manifestOperations)
      throw limitReached(WORK.manifestOperations, `a manifest has at most ${WORK.manifestOperations} operations`);
    const changed = { operationCount, bytes: (known?.bytes ?? 0) + bytes, lastUsedAt: at };
    const { id = newId(), publishedAt = at } = known ?? {};
    const created = { id, client, version, publishedAt };
    if (dryRun) return unchanged({ manifest: { ...created, ...changed }, warnings, isDryRun: true });
    const manifest = known ?? em.create(OperationManifest, { ...created, ...changed, organization: organization.id });
    Object.assign(manifest, changed);
    await em.flush();
    await insertDocuments(em, organization.id, manifest, added);
    return { manifest, warnings, isDryRun: false };
  },
  target: ({ manifest }: Published) => targetOf(manifest),
});

const targetOf = ({ id, client, version }: ManifestRow): AuditTarget => ({
  type: 'OperationManifest',
  id,
  label: `${client} ${version}`,
});

/** @returns what is named only. @throws ValidationError (400) that names each document that cannot be executed. */
async function checkDocuments(operations: readonly NamedDocument[]): Promise<string[]> {
  const faults: InputFault[] = [];
  const warnings: string[] = [];
  const slices = new WorkSlices();
  for (const { id, document } of operations) {
    const checked = checkDocument(document);
    for (const warning of checked.warnings) warnings.push(`${id}: ${warning}`);
    if (checked.faults.length > 0)
      faults.push({ path: ['operations', id], code: 'NOT_ALLOWED', message: checked.faults.join(' ') });
    if (slices.isOver()) await slices.pause();
  }
  if (faults.length > 0) throw new ValidationError(faults);
  return warnings;
}

export const retireOperationManifest = defineOperation({
  name: 'retireOperationManifest',
  description:
    'Retires the documents of a version of a client. Requests with their ids are answered with `PERSISTED_DOCUMENT_NOT_FOUND`, in other processes of the gateway at most a minute later.',
  access: PUBLISH_OPERATIONS,
  input: retireOperationManifestInput,
  errors: [NotFoundError],
  run: async ({ em, actor }, { client, version }) => {
    const manifest = await em.findOne(OperationManifest, {
      organization: requireOrganization(actor).id,
      client,
      version,
    });
    if (!manifest) throw new NotFoundError('operation manifest not found');
    em.remove(manifest);
    return manifest;
  },
  target: targetOf,
  afterCommit: async ({ caches }) => {
    caches.of(newCache).clear();
  },
});

const MANIFESTS = defineList<ListedRow, object, 'CREATED_AT'>()(db.selectFrom('operation_manifest as m'), {
  name: 'OPERATION_MANIFEST',
  alias: 'm',
  columns: ['id', 'client', 'version', 'operationCount', 'publishedAt', 'lastUsedAt'],
  reach: inActingOrganization,
  filter: () => ({}),
  orders: { CREATED_AT: { publishedAt: 'timestamptz' } },
  otherwise: { field: 'CREATED_AT', direction: 'DESC' },
});

type ListedRow = RowOf<Readable<ManifestTables>['operation_manifest']>;
export type ListedManifest = ListedRow & { readonly deprecatedFields: readonly string[] };

export const listOperationManifests = defineOperation({
  name: 'listOperationManifests',
  description:
    'Lists the published versions of clients, latest first, with the deprecated fields, arguments and input fields that their documents name, so that you know whom a removal affects.',
  access: PUBLISH_OPERATIONS,
  input: listOperationManifestsInput,
  run: async (context, { limit, cursor }): Promise<{ items: ListedManifest[]; nextCursor: string | null }> => {
    const list = (page: PageArguments) => MANIFESTS.read(context, { filter: {}, page });
    const { items, nextCursor } = await readList({ limit, cursor }, list, (row) => row);
    const fields = await deprecatedFieldsOf(context, items);
    return { items: items.map((row) => ({ ...row, deprecatedFields: fields.get(row.id) ?? [] })), nextCursor };
  },
});

/** By the hash of the document. */
const newChecks = () => new LRUCache<string, readonly string[]>({ max: 10_000 });
const DOCUMENTS_AT_A_TIME = 100;

/** What the documents of each manifest name, each of which is checked once in a process. */
async function deprecatedFieldsOf(
  { sql: reader, actor, caches }: OperationContext,
  manifests: readonly ListedRow[],
): Promise<ReadonlyMap<string, readonly string[]>> {
  const known = caches.of(newChecks);
  const organizationId = requireOrganization(actor).id;
  const documents = db.selectFrom('published_document as d').where('d.organization_id', '=', organizationId);
  const ids = manifests.map(({ id }) => id);
  const published = await reader.all(
    documents.select(['d.manifest_id as manifestId', 'd.hash']).where('d.manifest_id', '=', anyOf('uuid', ids)),
  );
  const unknown = [...new Set(published.map(({ hash: each }) => each))].filter((each) => !known.has(each));
  const slices = new WorkSlices();
  for (let start = 0; start < unknown.length; start += DOCUMENTS_AT_A_TIME) {
    const some = unknown.slice(start, start + DOCUMENTS_AT_A_TIME);
    const { rows } = await reader.page(
      documents.select(['d.hash', 'd.document']).distinctOn('d.hash').where('d.hash', '=', anyOf('text', some)),
      { isAnswered: false, maxBytes: Infinity },
    );
    for (const { hash: each, document } of rows) {
      known.set(each, checkDocument(document).deprecatedFields);
      if (slices.isOver()) await slices.pause();
    }
  }
  const fields = new Map<string, Set<string>>(ids.map((id) => [id, new Set()]));
  for (const { manifestId, hash: each } of published)
    for (const field of known.get(each) ?? []) fields.get(manifestId)?.add(field);
  return new Map([...fields].map(([id, found]) => [id, [...found].toSorted()]));
}

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
