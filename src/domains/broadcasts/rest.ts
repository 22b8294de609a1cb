import { z } from 'zod';
import { routesOf } from '../../core/http/route.ts';
import { broadcastDocument, channelDocument, toBroadcast, toChannel } from './documents.ts';
import {
  cancelBroadcast,
  createBroadcast,
  listBroadcastChannels,
  listBroadcasts,
  readBroadcast,
} from './operations.ts';

const route = routesOf('Social publishing (deprecated)');

/**
 * The deprecated social publishing API (custom event definition API, section 9), REST only. The header `Deprecation`
 * (RFC 9745, section 2.1) gives the date of the version that deprecated it, 2026-03. There is no `Sunset` header,
 * because the API keeps working.
 */
const common = {
  headers: {
    Deprecation: `@${Date.parse('2026-03-01T00:00:00Z') / 1000}`,
    Link: '</docs>; rel="deprecation"; type="text/html"',
  },
};

export const broadcastRoutes = [
  route('GET /broadcast/v1/channels/setting/publish/current', listBroadcastChannels, {
    ...common,
    output: z.array(channelDocument),
    toDocument: (channels) => channels.map(toChannel),
  }),
  route('GET /broadcast/v1/broadcasts', listBroadcasts, {
    ...common,
    output: z.array(broadcastDocument),
    toDocument: (broadcasts) => broadcasts.map(toBroadcast),
  }),
  route('POST /broadcast/v1/broadcasts', createBroadcast, {
    ...common,
    output: broadcastDocument,
    examples: {
      input: { channelGuid: '6f1c1a0e-5f0b-4c58-9f0a-1d5f7c0f6a11', content: { body: 'We are open again.' } },
    },
    toDocument: toBroadcast,
  }),
  route('GET /broadcast/v1/broadcasts/:broadcast_guid', readBroadcast, {
    ...common,
    output: broadcastDocument,
    toDocument: toBroadcast,
  }),
  route('DELETE /broadcast/v1/broadcasts/:broadcast_guid', cancelBroadcast, { ...common }),
];
