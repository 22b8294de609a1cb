import { z } from 'zod';
import { documentOf } from '../../core/http/documents.ts';
import { route } from '../../core/http/route.ts';
import { BROADCAST_STATUSES } from './entity.ts';
import {
  type ListedBroadcast,
  cancelBroadcast,
  createBroadcast,
  listBroadcastChannels,
  listBroadcasts,
  readBroadcast,
} from './operations.ts';
import type { BroadcastChannelRow, BroadcastRow } from './queries.ts';

/**
 * The deprecated social publishing API (custom event definition API, section 9), REST only. The header `Deprecation`
 * (RFC 9745, section 2.1) gives the date of the version that deprecated it, 2026-03. There is no `Sunset` header,
 * because the API keeps working.
 */
const common = {
  tag: 'Social publishing (deprecated)',
  headers: {
    Deprecation: `@${Date.parse('2026-03-01T00:00:00Z') / 1000}`,
    Link: '</docs>; rel="deprecation"; type="text/html"',
  },
};

const CHANNEL_TEXTS = {
  channelGuid: 'Id of the channel.',
  channelKey: 'Key of the channel.',
  type: 'Type of the channel.',
  name: 'Name of the channel.',
  active: 'Whether the channel can be used.',
  createdAt: 'When the channel was created.',
  updatedAt: 'When the channel last changed.',
};

const channelDocument = documentOf(CHANNEL_TEXTS, {
  channelGuid: z.uuid(),
  channelKey: z.string(),
  type: z.string(),
  name: z.string(),
  active: z.boolean(),
  createdAt: z.iso.datetime(),
  updatedAt: z.iso.datetime(),
}).meta({ id: 'BroadcastChannel' });

const readOnly = { readOnly: true };

const BROADCAST_TEXTS = {
  broadcastGuid: 'Id of the broadcast.',
  channelGuid: 'Id of the channel.',
  content: 'What to publish. Other properties than `body` depend on the channel.',
  status: 'State of the broadcast.',
  triggerAt: 'When the broadcast is due.',
  createdAt: 'When the broadcast was created.',
  userUpdatedAt: 'When a person last changed it.',
  message: 'A remark about the broadcast. Null when there is none.',
  channel: 'The channel, in lists with `withChannels`.',
};

const broadcastDocument = documentOf(BROADCAST_TEXTS, {
  broadcastGuid: z.uuid().meta(readOnly),
  channelGuid: z.uuid(),
  content: z.looseObject({ body: z.string().describe('The text.') }),
  status: z.enum(BROADCAST_STATUSES),
  triggerAt: z.iso.datetime(),
  createdAt: z.iso.datetime().meta(readOnly),
  userUpdatedAt: z.iso.datetime().meta(readOnly),
  message: z.string().nullable().meta(readOnly),
  /** Present only in lists with `withChannels`. */
  channel: channelDocument.meta(readOnly).optional(),
}).meta({ id: 'Broadcast' });

function toChannelDocument(row: BroadcastChannelRow): z.input<typeof channelDocument> {
  const { id, channelKey, type, name, active, createdAt, updatedAt } = row;
  return { channelGuid: id, channelKey, type, name, active, createdAt, updatedAt };
}

function toBroadcastDocument(row: BroadcastRow & Partial<ListedBroadcast>): z.input<typeof broadcastDocument> {
  return {
    broadcastGuid: row.id,
    channelGuid: row.channelId,
    content: row.content,
    status: row.status,
    triggerAt: row.triggerAt,
    createdAt: row.createdAt,
    userUpdatedAt: row.userUpdatedAt,
    message: row.message,
    ...(row.channel && { channel: toChannelDocument(row.channel) }),
  };
}

const channelExample: z.input<typeof channelDocument> = {
  channelGuid: '6f1c1a0e-5f0b-4c58-9f0a-1d5f7c0f6a11',
  channelKey: 'blog:1',
  type: 'blog',
  name: 'Blog',
  active: true,
  createdAt: '2026-03-01T10:20:30.500Z',
  updatedAt: '2026-03-01T10:20:30.500Z',
};

const broadcastExample: z.input<typeof broadcastDocument> = {
  broadcastGuid: 'c56a4180-65aa-42ec-a945-5fd21dec0538',
  channelGuid: channelExample.channelGuid,
  content: { body: 'We are open again.' },
  status: 'waiting',
  triggerAt: '2026-04-01T08:00:00.000Z',
  createdAt: '2026-03-01T10:20:30.500Z',
  userUpdatedAt: '2026-03-01T10:20:30.500Z',
  message: null,
};

export const broadcastRoutes = [
  route(listBroadcastChannels, {
    ...common,
    method: 'GET',
    path: '/broadcast/v1/channels/setting/publish/current',
    output: z.array(channelDocument),
    status: 200,
    examples: { output: [channelExample] },
    toDocument: (channels) => channels.map(toChannelDocument),
  }),
  route(listBroadcasts, {
    ...common,
    method: 'GET',
    path: '/broadcast/v1/broadcasts',
    output: z.array(broadcastDocument),
    status: 200,
    examples: { output: [broadcastExample] },
    toDocument: (broadcasts) => broadcasts.map(toBroadcastDocument),
  }),
  route(createBroadcast, {
    ...common,
    method: 'POST',
    path: '/broadcast/v1/broadcasts',
    output: broadcastDocument,
    status: 201,
    examples: {
      input: { channelGuid: '6f1c1a0e-5f0b-4c58-9f0a-1d5f7c0f6a11', content: { body: 'We are open again.' } },
      output: broadcastExample,
    },
    toDocument: toBroadcastDocument,
  }),
  route(readBroadcast, {
    ...common,
    method: 'GET',
    path: '/broadcast/v1/broadcasts/:broadcast_guid',
    output: broadcastDocument,
    status: 200,
    examples: { output: broadcastExample },
    toDocument: toBroadcastDocument,
  }),
  route(cancelBroadcast, {
    ...common,
    method: 'DELETE',
    path: '/broadcast/v1/broadcasts/:broadcast_guid',
    status: 204,
  }),
];
