import { type InferKyselyDB, defineEntity, p } from '@mikro-orm/postgresql';
import type { BroadcastChannelId, BroadcastId } from '../../core/ids.ts';
import { columnNames } from '../../core/postgres/reading/queries.ts';
import { Organization } from '../organizations/public.ts';

export const BROADCAST_STATUSES = ['waiting', 'canceled', 'succeeded', 'failed'] as const;
export type BroadcastStatus = (typeof BROADCAST_STATUSES)[number];

/** The text of a broadcast, and other fields that the type of the channel defines. */
export type BroadcastContent = Readonly<Record<string, unknown>> & { readonly body: string };

const BroadcastChannelSchema = defineEntity({
  name: 'BroadcastChannel',
  tableName: 'broadcast_channel',
  properties: {
    id: p.uuid().$type<BroadcastChannelId>().primary(),
    organization: () => p.manyToOne(Organization).deleteRule('cascade'),
    channelKey: p.text(),
    type: p.text(),
    name: p.text(),
    active: p.boolean(),
    createdAt: p.datetime(),
    updatedAt: p.datetime(),
  },
  uniques: [{ name: 'broadcast_channel_key_unique', properties: ['organization', 'channelKey'] }],
});

/** A destination that broadcasts are published to. */
export class BroadcastChannel extends BroadcastChannelSchema.class {}
BroadcastChannelSchema.setClass(BroadcastChannel);

const BroadcastSchema = defineEntity({
  name: 'Broadcast',
  tableName: 'broadcast',
  properties: {
    id: p.uuid().$type<BroadcastId>().primary(),
    organization: () => p.manyToOne(Organization).deleteRule('cascade'),
    channel: () => p.manyToOne(BroadcastChannel).deleteRule('cascade'),
    /** The column type is `json`, because `jsonb` refuses an escaped NUL character. */
    content: p.json<BroadcastContent>().columnType('json'),
    status: p.enum(BROADCAST_STATUSES),
    triggerAt: p.datetime(),
    createdAt: p.datetime(),
    userUpdatedAt: p.datetime(),
    message: p.text().nullable(),
  },
  indexes: [{ name: 'broadcast_created_index', properties: ['organization', 'createdAt', 'id'] }],
});

/** A message that is scheduled for publishing at a certain time. */
export class Broadcast extends BroadcastSchema.class {
  cancel(at: Date): void {
    this.status = 'canceled';
    this.userUpdatedAt = at;
  }
}
BroadcastSchema.setClass(Broadcast);

export type BroadcastTables = InferKyselyDB<typeof BroadcastChannelSchema | typeof BroadcastSchema>;
export const CHANNEL_COLUMNS = columnNames<BroadcastTables, 'broadcast_channel'>(
  BroadcastChannelSchema,
  'broadcast_channel',
);
export const BROADCAST_COLUMNS = columnNames<BroadcastTables, 'broadcast'>(BroadcastSchema, 'broadcast');
