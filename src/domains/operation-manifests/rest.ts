import { z } from 'zod';
import { documentOf } from '../../core/documents.ts';
import { routesOf } from '../../core/http/route.ts';
import { KEPT_MS, publishOperationManifest } from './operations.ts';

const route = routesOf('Operation manifests');

const MANIFEST_TEXTS = {
  id: 'Id of the manifest, as the audit log names it.',
  client: 'Name of the client.',
  version: 'Version of the client.',
  operationCount: 'Number of its documents.',
  publishedAt: 'When it was first published.',
  lastUsedAt: 'When a document of it was last published or requested, to the day.',
  expiresAt: 'When it is deleted unless it is used: 90 days after `lastUsedAt`.',
};

const manifestDocument = documentOf(MANIFEST_TEXTS, {
  id: z.uuid(),
  client: z.string(),
  version: z.string(),
  operationCount: z.int(),
  publishedAt: z.iso.datetime(),
  lastUsedAt: z.iso.datetime(),
  expiresAt: z.iso.datetime(),
}).meta({ id: 'OperationManifest' });

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
      },
    },
    toDocument: ({ id, client, version, operationCount, publishedAt, lastUsedAt }) => ({
      id,
      client,
      version,
      operationCount,
      publishedAt: publishedAt.toISOString(),
      lastUsedAt: lastUsedAt.toISOString(),
      expiresAt: new Date(lastUsedAt.getTime() + KEPT_MS).toISOString(),
    }),
  }),
];
