import { LockMode } from '@mikro-orm/postgresql';
import { z } from 'zod';
import { ConflictError, NotFoundError, invalid, notFound } from '../../core/errors.ts';
import { requireOrganization } from '../../core/access.ts';
import type { BroadcastId } from '../../core/ids.ts';
import { type OperationContext, defineOperation, unchanged } from '../../core/operation.ts';
import { Broadcast, BroadcastChannel } from './entity.ts';
import { broadcastReference, createBroadcastInput, listBroadcastsInput } from './input.ts';
import { PUBLISH } from './policy.ts';
import {
  type BroadcastChannelRow,
  type BroadcastRow,
  addChannel,
  findBroadcast,
  findBroadcasts,
  findChannels,
} from './queries.ts';

const DEFAULT_CHANNEL = { channelKey: 'default', type: 'Default', name: 'Default channel', active: true } as const;

/** The gateway does not publish, so no API adds channels. */
export const listBroadcastChannels = defineOperation({
  name: 'listBroadcastChannels',
  description:
    'Lists the channels of the organization, oldest first. An organization has one channel, which is created at the first call.',
  access: PUBLISH,
  input: z.strictObject({}),
  run: async (context) => {
    const { id } = requireOrganization(context.actor);
    const channels = await findChannels(context.sql, id);
    if (channels.length > 0) return channels;
    await addBroadcastChannel(context, {});
    // Read from the primary, because a replica may not have the new channel yet.
    return findChannels(context.sql.primary, id);
  },
});

/** In neither API. */
const addBroadcastChannel = defineOperation({
  name: 'addBroadcastChannel',
  description: 'Adds the default channel of the organization.',
  access: PUBLISH,
  run: async ({ em, actor, now, newId }) => {
    const at = now();
    const organizationId = requireOrganization(actor).id;
    const channel = { ...DEFAULT_CHANNEL, organizationId, createdAt: at, updatedAt: at };
    // A concurrent request may have added it.
    return (await addChannel(em, { ...channel, id: newId() })) ?? unchanged(null);
  },
  target: (id) => ({ type: 'BroadcastChannel', id }),
});

export interface ListedBroadcast extends BroadcastRow {
  /** Undefined unless `withChannels` was given. */
  readonly channel: BroadcastChannelRow | undefined;
}

/** @throws ValidationError when `after` is not the id of a broadcast of the organization. */
export const listBroadcasts = defineOperation({
  name: 'listBroadcasts',
  description:
    'Lists broadcasts, newest first. A page with fewer broadcasts than `limit` is the last page. `since` lists broadcasts created at that time or later.',
  access: PUBLISH,
  input: listBroadcastsInput,
  run: async (context, { withChannels, ...input }): Promise<ListedBroadcast[]> => {
    const { id: organizationId } = requireOrganization(context.actor);
    if (input.after !== undefined && !(await findBroadcast(context.sql, organizationId, input.after))) {
      throw invalid('after', 'must be the broadcastGuid of a broadcast of the organization', 'NOT_FOUND');
    }
    const broadcasts = await findBroadcasts(context.sql, organizationId, input);
    const channels = withChannels ? await findChannels(context.sql, organizationId) : [];
    return broadcasts.map((row) => ({ ...row, channel: channels.find(({ id }) => id === row.channelId) }));
  },
});

export const readBroadcast = defineOperation({
  name: 'readBroadcast',
  description: 'Reads one broadcast. A canceled broadcast can still be read.',
  access: PUBLISH,
  input: broadcastReference,
  errors: [NotFoundError],
  run: (context, { broadcast_guid: id }) => requireBroadcast(context, { id }),
});

async function requireBroadcast(
  { sql, actor }: OperationContext,
  { id }: { readonly id: BroadcastId },
): Promise<BroadcastRow> {
  const row = await findBroadcast(sql, requireOrganization(actor).id, id);
  if (!row) throw notFound('broadcast');
  return row;
}

/** @throws ValidationError when `channelGuid` is not a channel of the organization. */
export const createBroadcast = defineOperation({
  name: 'createBroadcast',
  description:
    'Creates a broadcast on one of the channels. Without `triggerAt` the broadcast is due at once. The gateway only stores it and does not publish it.',
  access: PUBLISH,
  input: createBroadcastInput,
  run: async (context, input) => {
    const { id: organization } = requireOrganization(context.actor);
    const { em, now, newId } = context;
    const channel = await em.findOne(BroadcastChannel, { id: input.channelGuid, organization });
    if (!channel) throw invalid('channelGuid', 'must be the channelGuid of a channel of the organization', 'NOT_FOUND');
    const at = now();
    const { id } = em.create(Broadcast, {
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
    return { id };
  },
  target: ({ id }) => ({ type: 'Broadcast', id }),
  answer: requireBroadcast,
});

const DRAFT_MESSAGE = 'Created as a draft.';

export const cancelBroadcast = defineOperation({
  name: 'cancelBroadcast',
  description:
    'Cancels a broadcast that is waiting. The broadcast stays readable with the status `canceled`; canceling it again changes nothing. One that has succeeded or failed cannot be canceled.',
  access: PUBLISH,
  input: broadcastReference,
  errors: [NotFoundError, ConflictError],
  run: async (context, { broadcast_guid: id }) => {
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
  target: (_, { broadcast_guid: id }) => ({ type: 'Broadcast', id }),
});
