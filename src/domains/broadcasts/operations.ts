import { LockMode } from '@mikro-orm/postgresql';
import { ConflictError, invalid, notFound } from '../../core/errors.ts';
import type { OrganizationId } from '../../core/ids.ts';
import { requireOrganization } from '../../core/access.ts';
import { type OperationContext, guarded, unchanged, write } from '../../core/operation.ts';
import { Broadcast, BroadcastChannel } from './entity.ts';
import type { BroadcastReference, CreateBroadcastInput, ListBroadcastsInput } from './input.ts';
import { PUBLISH } from './policy.ts';
import {
  type BroadcastChannelRow,
  type BroadcastRow,
  addChannel,
  broadcastRow,
  findBroadcast,
  findBroadcasts,
  findChannels,
} from './queries.ts';

const DEFAULT_CHANNEL = { channelKey: 'default', type: 'Default', name: 'Default channel', active: true } as const;

/**
 * The channels of the organization, oldest first. The gateway does not publish, so there is no operation that adds
 * channels: each organization has one default channel, which is created when its channels are first listed.
 */
export const listBroadcastChannels = guarded(
  PUBLISH,
  async (context: OperationContext): Promise<BroadcastChannelRow[]> => {
    const { id } = requireOrganization(context.actor);
    const channels = await findChannels(context.sql, id);
    if (channels.length > 0) return channels;
    await addDefaultChannel(context, id);
    // Read from the primary, because a replica may not have the new channel yet.
    return findChannels(context.sql.primary, id);
  },
);

const addDefaultChannel = write(
  async ({ em, now, newId }, organization: OrganizationId) => {
    const at = now();
    const channel = { ...DEFAULT_CHANNEL, organizationId: organization, createdAt: at, updatedAt: at };
    // A concurrent request may have added it.
    return (await addChannel(em, { ...channel, id: newId() })) ?? unchanged(null);
  },
  {
    access: PUBLISH,
    operation: 'addBroadcastChannel',
    target: (id) => ({ type: 'BroadcastChannel', id }),
  },
);

export interface ListedBroadcast extends BroadcastRow {
  /** Undefined unless `withChannels` was given. */
  readonly channel: BroadcastChannelRow | undefined;
}

/**
 * The broadcasts of the organization, newest first, canceled ones included.
 * @throws ValidationError when `after` is not the id of a broadcast of the organization.
 */
export const listBroadcasts = guarded(
  PUBLISH,
  async (context: OperationContext, { withChannels, ...input }: ListBroadcastsInput): Promise<ListedBroadcast[]> => {
    const { id: organizationId } = requireOrganization(context.actor);
    if (input.after !== undefined && !(await findBroadcast(context.sql, organizationId, input.after))) {
      throw invalid('after', 'must be the broadcastGuid of a broadcast of the organization', 'NOT_FOUND');
    }
    const broadcasts = await findBroadcasts(context.sql, organizationId, input);
    const channels = withChannels ? await findChannels(context.sql, organizationId) : [];
    return broadcasts.map((row) => ({ ...row, channel: channels.find(({ id }) => id === row.channelId) }));
  },
);

/** Reads one broadcast. @throws NotFoundError for a missing broadcast and for one of another organization. */
export const readBroadcast = guarded(
  PUBLISH,
  async (context: OperationContext, input: BroadcastReference): Promise<BroadcastRow> => {
    const row = await findBroadcast(context.sql, requireOrganization(context.actor).id, input.broadcast_guid);
    if (!row) throw notFound('broadcast');
    return row;
  },
);

/**
 * Stores a broadcast with the status `waiting`. Without `triggerAt` it is due at once.
 * @throws ValidationError when `channelGuid` is not a channel of the organization.
 */
export const createBroadcast = write(
  async (context, input: CreateBroadcastInput): Promise<BroadcastRow> => {
    const { id: organization } = requireOrganization(context.actor);
    const { em, now, newId } = context;
    const channel = await em.findOne(BroadcastChannel, { id: input.channelGuid, organization });
    if (!channel) throw invalid('channelGuid', 'must be the channelGuid of a channel of the organization', 'NOT_FOUND');
    const at = now();
    const broadcast = em.create(Broadcast, {
      id: newId(),
      organization,
      channel,
      content: input.content,
      status: 'waiting',
      triggerAt: input.triggerAt === undefined ? at : new Date(input.triggerAt),
      createdAt: at,
      userUpdatedAt: at,
      message: input.isDraft ? DRAFT_MESSAGE : null,
    });
    em.persist(broadcast);
    return broadcastRow(broadcast);
  },
  { access: PUBLISH, operation: 'createBroadcast', target: ({ id }) => ({ type: 'Broadcast', id }) },
);

const DRAFT_MESSAGE = 'Created as a draft.';

/**
 * Cancels a broadcast. It stays stored with the status `canceled`. Canceling it again changes nothing.
 * @throws NotFoundError for a missing broadcast and for one of another organization; ConflictError when it has succeeded or failed.
 */
export const cancelBroadcast = write(
  async (context, { broadcast_guid: id }: BroadcastReference) => {
    const { id: organization } = requireOrganization(context.actor);
    const broadcast = await context.em.findOne(
      Broadcast,
      { id, organization },
      { lockMode: LockMode.PESSIMISTIC_WRITE },
    );
    if (!broadcast) throw notFound('broadcast');
    if (broadcast.status === 'canceled') return unchanged(undefined);
    if (broadcast.status !== 'waiting') {
      throw new ConflictError('WRONG_STATE', `the broadcast has ${broadcast.status} and can no longer be canceled`);
    }
    broadcast.cancel(context.now());
    return undefined;
  },
  { access: PUBLISH, operation: 'cancelBroadcast', target: (_, { broadcast_guid: id }) => ({ type: 'Broadcast', id }) },
);
