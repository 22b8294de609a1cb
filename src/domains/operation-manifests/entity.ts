import { type InferKyselyDB, defineEntity, p } from '@mikro-orm/postgresql';
import type { OperationManifestId } from '../../core/ids.ts';
import { Organization } from '../organizations/public.ts';

const OperationManifestSchema = defineEntity({
  name: 'OperationManifest',
  tableName: 'operation_manifest',
  properties: {
    id: p.uuid().$type<OperationManifestId>().primary(),
    organization: () => p.manyToOne(Organization).deleteRule('cascade'),
    client: p.text(),
    version: p.text(),
    operationCount: p.integer(),
    /** Of all its documents, in UTF-8. */
    bytes: p.integer(),
    publishedAt: p.datetime(),
    /** When a document was last published or requested, to the day. */
    lastUsedAt: p.datetime(),
  },
  uniques: [{ name: 'operation_manifest_version_unique', properties: ['organization', 'client', 'version'] }],
  indexes: [{ name: 'operation_manifest_use_index', properties: ['lastUsedAt'] }],
});

/** The documents that one version of a client sends. A document never changes; others can be added. */
export class OperationManifest extends OperationManifestSchema.class {}
OperationManifestSchema.setClass(OperationManifest);

const PublishedDocumentSchema = defineEntity({
  name: 'PublishedDocument',
  tableName: 'published_document',
  properties: {
    manifest: () => p.manyToOne(OperationManifest).deleteRule('cascade').primary(),
    operationId: p.text().primary(),
    organization: () => p.manyToOne(Organization).deleteRule('cascade'),
    /** SHA-256 of the document in hexadecimal, which is an id, too. */
    hash: p.text(),
    document: p.text(),
  },
  indexes: [
    { name: 'published_document_operation_index', properties: ['organization', 'operationId'] },
    { name: 'published_document_hash_index', properties: ['organization', 'hash'] },
  ],
});

export class PublishedDocument extends PublishedDocumentSchema.class {}
PublishedDocumentSchema.setClass(PublishedDocument);

export type ManifestTables = InferKyselyDB<typeof OperationManifestSchema | typeof PublishedDocumentSchema>;
