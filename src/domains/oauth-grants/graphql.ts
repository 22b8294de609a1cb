import { OWN_STATEMENT } from '../../core/graphql/builder.ts';
import { shown } from '../../core/graphql/derived-fields.ts';
import { filterType } from '../../core/graphql/derived-inputs.ts';
import { toGlobalId, uuidsOf } from '../../core/graphql/global-ids.ts';
import { listType } from '../../core/graphql/lists.ts';
import { mutation } from '../../core/graphql/mutations.ts';
import { nodeType } from '../../core/graphql/nodes.ts';
import { resolveReference } from '../../core/graphql/references.ts';
import { needs } from '../../core/graphql/selection.ts';
import { requireAccess } from '../../core/access.ts';
import '../api-keys/graphql.ts';
import { OrganizationType } from '../organizations/graphql/types.ts';
import { readOrganizations } from '../organizations/public.ts';
import { connectedAppDocument } from './documents.ts';
import { connectedAppFilter } from './input.ts';
import { readConnectedApps, revokeConnectedApp } from './operations.ts';
import { READ_CONNECTED_APPS } from './policy.ts';
import type { ConnectedAppRow } from './queries.ts';

const ConnectedAppType = nodeType<ConnectedAppRow>('ConnectedApp', {
  description:
    'A client, such as Claude or ChatGPT, that a person has given access to one address of the gateway. Only that person can see it.',
  keyOf: ({ id }) => id,
  stored: { table: 'oauth_grant', id: 'key_id', organization: null },
  load: (context, keys, selected) => {
    requireAccess(context.actor, READ_CONNECTED_APPS);
    return readConnectedApps(context, uuidsOf(keys), selected);
  },
  fields: (t) => ({
    databaseId: t.expose('id', { type: 'DatabaseId', description: 'The id that REST uses.' }),
    ...shown(t, connectedAppDocument, ['clientName', 'clientHost', 'resource', 'scopes', 'createdAt', 'lastUsedAt']),
    organization: t.field({
      type: OrganizationType,
      nullable: true,
      description: 'The organization in which the client acts. Null when the request acts in another one.',
      extensions: { ...OWN_STATEMENT, ...needs<ConnectedAppRow>('organizationId') },
      resolve: ({ organizationId }, _, context, info) =>
        resolveReference({ context, info }, 'Organization', organizationId, readOrganizations),
    }),
  }),
});

export const CONNECTED_APP_LIST = listType(ConnectedAppType, {
  of: 'connected apps',
  filter: filterType('ConnectedAppFilter', connectedAppFilter),
  conditions: 'Conditions on the connected apps. When absent, all are listed.',
  fields: { CREATED_AT: 'Time of the consent.', NAME: 'Name of the client.' },
  otherwise: { field: 'CREATED_AT', direction: 'DESC' },
});

mutation(revokeConnectedApp, {
  ids: { connectedAppId: 'ConnectedApp' },
  payload: (t) => ({
    deletedConnectedAppId: t.id({
      description: 'Global id of the app whose access has ended.',
      resolve: ({ id }) => toGlobalId('ConnectedApp', id),
    }),
  }),
});
