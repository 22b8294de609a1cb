import { z } from 'zod';
import { documentOf } from '../../core/documents.ts';
import { routesOf } from '../../core/http/route.ts';
import { listDocument } from '../../core/input/lists.ts';
import {
  KEPT_MS,
  type ManifestRow,
  listOperationManifests,
  publishOperationManifest,
  retireOperationManifest,
} from './operations.ts';

const route = routesOf('Operation manifests');

const COMMON = {
  client: 'Name of the client.',
  version: 'Version of the client.',
  lastUsedAt: 'When a document of it was last published or requested, to the day.',
};
const common = { client: z.string(), version: z.string(), lastUsedAt: z.iso.datetime() };

const manifestDocument = documentOf(
  {
    id: 'Id of the manifest, as the audit log names it.',
    ...COMMON,
    operationCount: 'Number of its documents.',
    publishedAt: 'When it was first published.',
    expiresAt: 'When it is deleted unless it is used: 90 days after `lastUsedAt`.',
    warnings: 'Documents that cost too much with the usual page sizes. Their requests have to ask for smaller pages.',
  },
  {
    id: z.uuid(),
    ...common,
    operationCount: z.int(),
    publishedAt: z.iso.datetime(),
    expiresAt: z.iso.datetime(),
    warnings: z.array(z.string()),
  },
).meta({ id: 'OperationManifest' });

const listedDocument = documentOf(
  {
    ...COMMON,
    operations: 'Number of its documents.',
    createdAt: 'When it was first published.',
    deprecatedFields:
      'The deprecated fields, arguments and input fields that its documents name, such as `Session.outline`.',
  },
  { ...common, operations: z.int(), createdAt: z.iso.datetime(), deprecatedFields: z.array(z.string()) },
).meta({ id: 'ListedOperationManifest' });

const toDocument = ({ id, client, version, operationCount, publishedAt, lastUsedAt }: ManifestRow) => ({
  id,
  client,
  version,
  operationCount,
  publishedAt: publishedAt.toISOString(),
  lastUsedAt: lastUsedAt.toISOString(),
  expiresAt: new Date(lastUsedAt.getTime() + KEPT_MS).toISOString(),
});

/** Answers of dry runs, which have another status. */
const CHECKED = new WeakSet<object>();

export const operationManifestRoutes = [
  route('POST /v1/operation-manifests', publishOperationManifest, {
    output: manifestDocument,
    examples: {
      input: {
        client: 'web',
        version: '1.4.0',
        operations: { '2f2f9b0a': 'query SessionTitles { viewer { organization { sessions { nodes { title } } } } }' },
      },
      output: {
        id: '0b8f6a52-0d0f-4f0a-9c0e-5a8f9f6f2d11',
        client: 'web',
        version: '1.4.0',
        operationCount: 1,
        publishedAt: '2026-03-01T10:20:30.000Z',
        lastUsedAt: '2026-03-01T10:20:30.000Z',
        expiresAt: '2026-05-30T10:20:30.000Z',
        warnings: [],
      },
    },
    inQuery: ['dryRun'],
    isUnchanged: { description: 'The documents were only checked.', when: (document) => CHECKED.has(document) },
    toDocument: ({ manifest, warnings, isDryRun }) => {
      const document = { ...toDocument(manifest), warnings: [...warnings] };
      if (isDryRun) CHECKED.add(document);
      return document;
    },
  }),
  route('GET /v1/operation-manifests', listOperationManifests, {
    output: listDocument(listedDocument),
    examples: {
      output: {
        items: [
          {
            client: 'web',
            version: '1.4.0',
            operations: 1,
            createdAt: '2026-03-01T10:20:30.000Z',
            lastUsedAt: '2026-03-01T10:20:30.000Z',
            deprecatedFields: ['Session.outline'],
          },
        ],
        nextCursor: null,
      },
    },
    toDocument: ({ items, nextCursor }) => ({
      items: items.map(({ client, version, operationCount, publishedAt, lastUsedAt, deprecatedFields }) => ({
        client,
        version,
        operations: operationCount,
        createdAt: publishedAt,
        lastUsedAt,
        deprecatedFields: [...deprecatedFields],
      })),
      nextCursor,
    }),
  }),
  route('DELETE /v1/operation-manifests/:client/:version', retireOperationManifest),
];
