import { z } from 'zod';
import { SCOPES } from '../../core/access.ts';
import { documentOf } from '../../core/http/documents.ts';
import { route } from '../../core/http/route.ts';
import { listDocument, readList } from '../../core/input/lists.ts';
import { listConnectedAppsInput } from './input.ts';
import { listConnectedApps, revokeConnectedApp } from './operations.ts';
import { CONNECTED_APP_TEXTS } from './texts.ts';

const tag = 'Connected apps';

const connectedAppDocument = documentOf(CONNECTED_APP_TEXTS, {
  id: z.uuid(),
  clientName: z.string(),
  clientHost: z.string().nullable(),
  resource: z.string(),
  scopes: z.array(z.enum(SCOPES)),
  organizationId: z.uuid(),
  createdAt: z.iso.datetime(),
  lastUsedAt: z.iso.datetime().nullable(),
}).meta({ id: 'ConnectedApp' });

const example: z.input<typeof connectedAppDocument> = {
  id: '7d444840-9dc0-41d1-b245-5ffdce74fad2',
  clientName: 'Claude',
  clientHost: 'claude.ai',
  resource: 'https://gateway.example/v1/mcp',
  scopes: ['mcp_connections.use'],
  organizationId: '1f0e9d8c-7b6a-4f5e-8d3c-2b1a09f8e7d6',
  createdAt: '2026-03-01T08:00:00.000Z',
  lastUsedAt: '2026-03-01T10:20:00.000Z',
};

export const connectedAppRoutes = [
  route(listConnectedApps, {
    method: 'GET',
    path: '/v1/connected-apps',
    tag,
    input: listConnectedAppsInput,
    output: listDocument(connectedAppDocument),
    status: 200,
    examples: { output: { items: [example], nextCursor: null } },
    run: (context, page) =>
      readList(
        page,
        (given) => listConnectedApps(context, { filter: {}, page: given }),
        ({ scopes, ...app }) => ({
          ...app,
          scopes: [...scopes],
        }),
      ),
  }),
  route(revokeConnectedApp, { method: 'DELETE', path: '/v1/connected-apps/:connectedAppId', tag, status: 204 }),
];
