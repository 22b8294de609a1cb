import { z } from 'zod';
import { answering, readOnly } from '../../core/documents.ts';
import { BROADCAST_STATUSES } from './entity.ts';
import type { ListedBroadcast } from './operations.ts';
import type { BroadcastChannelRow, BroadcastRow } from './queries.ts';

const created = () => z.iso.datetime().meta({ example: '2026-03-01T10:20:30.500Z' });
const channelGuid = () =>
  z.uuid().describe('Id of the channel.').meta({ example: '6f1c1a0e-5f0b-4c58-9f0a-1d5f7c0f6a11' });

export const channelDocument = z
  .strictObject({
    channelGuid: channelGuid(),
    channelKey: z.string().describe('Key of the channel.').meta({ example: 'blog:1' }),
    type: z.string().describe('Type of the channel.').meta({ example: 'blog' }),
    name: z.string().describe('Name of the channel.').meta({ example: 'Blog' }),
    active: z.boolean().describe('Whether the channel can be used.').meta({ example: true }),
    createdAt: created().describe('When the channel was created.'),
    updatedAt: created().describe('When the channel last changed.'),
  })
  .meta({ id: 'BroadcastChannel' });
export const toChannel = answering<BroadcastChannelRow, typeof channelDocument>(channelDocument, ({ id }) => ({
  channelGuid: id,
}));

export const broadcastDocument = z
  .strictObject({
    broadcastGuid: readOnly(z.uuid())
      .describe('Id of the broadcast.')
      .meta({ example: 'c56a4180-65aa-42ec-a945-5fd21dec0538' }),
    channelGuid: channelGuid(),
    content: z
      .looseObject({ body: z.string().describe('The text.') })
      .describe('What to publish. Other properties than `body` depend on the channel.')
      .meta({ example: { body: 'We are open again.' } }),
    status: z.enum(BROADCAST_STATUSES).describe('State of the broadcast.').meta({ example: 'waiting' }),
    triggerAt: z.iso.datetime().describe('When the broadcast is due.').meta({ example: '2026-04-01T08:00:00.000Z' }),
    createdAt: readOnly(created()).describe('When the broadcast was created.'),
    userUpdatedAt: readOnly(created()).describe('When a person last changed it.'),
    message: readOnly(z.string().nullable()).describe('A remark about the broadcast. Null when there is none.'),
    channel: readOnly(channelDocument).optional().describe('The channel, in lists with `withChannels`.'),
  })
  .meta({ id: 'Broadcast' });

export function toBroadcast({
  channel,
  ...row
}: BroadcastRow & Partial<ListedBroadcast>): z.input<typeof broadcastDocument> {
  const { id, channelId, content, status, triggerAt, createdAt, userUpdatedAt, message } = row;
  const broadcast = { content, status, triggerAt, createdAt, userUpdatedAt, message };
  return { broadcastGuid: id, channelGuid: channelId, ...broadcast, ...(channel && { channel: toChannel(channel) }) };
}
