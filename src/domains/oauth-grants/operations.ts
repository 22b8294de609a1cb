import type { ApiKeyId } from '../../core/ids.ts';
import { requireOrganization } from '../../core/access.ts';
import { NotFoundError, notFound } from '../../core/errors.ts';
import { type OperationContext, defineOperation } from '../../core/operation.ts';
import type { Columns } from '../../core/postgres/reading/columns.ts';
import type { Asked } from '../../core/postgres/reading/lists.ts';
import { apiKeyTarget, apiKeyTopic } from '../api-keys/public.ts';
import { revokeGrant } from './grants.ts';
import { type ConnectedAppFilter, revokeConnectedAppInput } from './input.ts';
import { READ_CONNECTED_APPS, WRITE_CONNECTED_APPS } from './policy.ts';
import { CONNECTED_APPS, type ConnectedAppOrderField, type ConnectedAppRow } from './queries.ts';

export const listConnectedApps = defineOperation({
  name: 'listConnectedApps',
  description:
    "The clients to which the caller has given access to an address of this gateway, newest first by default, in the organization that the request acts in. Other people's are in no list.",
  access: READ_CONNECTED_APPS,
  run: (context, asked: Asked<ConnectedAppFilter, ConnectedAppOrderField>, selected?: Columns<ConnectedAppRow>) =>
    CONNECTED_APPS.read(context, asked, selected),
});

/** The connected apps with these ids that the caller can see. */
export const readConnectedApps = async (
  context: OperationContext,
  ids: readonly ApiKeyId[],
  selected?: Columns<ConnectedAppRow>,
): Promise<ConnectedAppRow[]> => CONNECTED_APPS.find(context, ids, selected);

export const revokeConnectedApp = defineOperation({
  name: 'revokeConnectedApp',
  description:
    'Ends the access of a connected app. Every request of it that begins after the answer is refused with 401, and its open streams end.',
  access: WRITE_CONNECTED_APPS,
  isOfViewers: true,
  input: revokeConnectedAppInput,
  errors: [NotFoundError],
  run: async ({ em, actor, now }, { connectedAppId }) => {
    const { userId } = actor;
    const { id: organizationId } = requireOrganization(actor);
    const grant = await revokeGrant(em, { id: connectedAppId, userId, organizationId }, now());
    if (!grant) throw notFound('connected app');
    return grant;
  },
  target: apiKeyTarget,
  endsRightsOf: ({ user }) => [user.id],
  afterCommit: async ({ notifier }, grant) => {
    notifier.publish(apiKeyTopic(grant.id));
    return grant;
  },
});
