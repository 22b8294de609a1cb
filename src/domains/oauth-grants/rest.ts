import { routesOf } from '../../core/http/route.ts';
import { listDocument, readList } from '../../core/input/lists.ts';
import { connectedAppDocument, toConnectedApp } from './documents.ts';
import { listConnectedAppsInput } from './input.ts';
import { listConnectedApps, revokeConnectedApp } from './operations.ts';

const route = routesOf('Connected apps');

export const connectedAppRoutes = [
  route('GET /v1/connected-apps', listConnectedApps, {
    input: listConnectedAppsInput,
    output: listDocument(connectedAppDocument),
    run: (context, page) =>
      readList(page, (given) => listConnectedApps(context, { filter: {}, page: given }), toConnectedApp),
  }),
  route('DELETE /v1/connected-apps/:connectedAppId', revokeConnectedApp),
];
