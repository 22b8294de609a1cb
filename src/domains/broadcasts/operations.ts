import { LockMode } from '@mikro-orm/postgresql';
import { ConflictError, invalid, notFound } from '../../core/errors.ts';
import { type OperationContext, requireOrganization, requireScope, write } from '../../core/operation.ts';
import type { Sql, Timestamp } from '../../core/sql.ts';
import { Broadcast, BroadcastChannel, type BroadcastContent, type BroadcastStatus } from './entity.ts';
import type { BroadcastReference, CreateBroadcastInput, ListBroadcastsInput } from './input.ts';

export interface BroadcastChannelRow extends Pick<BroadcastChannel, 'id' | 'channelKey' | 'type' | 'name' | 'active'> {
  readonly createdAt: Timestamp;
  readonly updatedAt: Timestamp;
}

export interface BroadcastRow {
  readonly id: string;
  readonly channelId: string;
  readonly content: BroadcastContent;
  readonly status: BroadcastStatus;
  readonly triggerAt: Timestamp;
  readonly createdAt: Timestamp;
  readonly userUpdatedAt: Timestamp;
  readonly message: string | null;
}

const DEFAULT_CHANNEL = { channelKey: 'default', type: 'Default', name: 'Default channel', active: true } as const;

/**
 * The channels that the organization can publish to, oldest first. Channels are set up nowhere, because publishing itself is not done here:
 * an organization has one, which is made when it first asks for its channels, and keeps its guid from then on.
 */
export async function listBroadcastChannels(context: OperationContext): Promise<BroadcastChannelRow[]> {
  const organizationId = reach(context);
  const channels = await findChannels(context.sql, organizationId);
  if (channels.length > 0) return channels;
  await addDefaultChannel(context, organizationId);
  // A replica may not have it yet.
  return findChannels(context.sql.primary, organizationId);
}

function reach({ actor }: OperationContext): string {
  requireScope(actor, 'social');
  return requireOrganization(actor).id;
}

async function findChannels(sql: Sql, organizationId: string): Promise<BroadcastChannelRow[]> {
  return sql.query<BroadcastChannelRow>(
    `select id, channel_key as "channelKey", type, name, active, created_at as "createdAt", updated_at as "updatedAt"
      from broadcast_channel where organization_id = $1 order by created_at, id`,
    [organizationId],
  );
}

/** Whoever comes second at once finds the first one's. */
const addDefaultChannel = write(
  async ({ em, now, newId }, organization: string): Promise<string | undefined> => {
    const { channelKey, type, name, active } = DEFAULT_CHANNEL;
    const at = now();
    const [added] = await em.execute<{ id: string }[]>(
      `insert into broadcast_channel (id, organization_id, channel_key, type, name, active, created_at, updated_at)
        values (?, ?, ?, ?, ?, ?, ?, ?) on conflict (organization_id, channel_key) do nothing returning id`,
      [newId(), organization, channelKey, type, name, active, at, at],
    );
    return added?.id;
  },
  {
    operation: 'addBroadcastChannel',
    target: (id) => (id === undefined ? undefined : { type: 'BroadcastChannel', id }),
  },
);

const COLUMNS = `b.id, b.channel_id as "channelId", b.content, b.status, b.trigger_at as "triggerAt", b.created_at as "createdAt",
  b.user_updated_at as "userUpdatedAt", b.message`;

/**
 * The broadcasts of the organization, newest first, cancelled ones included; behind the one whose guid is `after`.
 * @throws ValidationError when `after` is no broadcast of the organization.
 */
export async function listBroadcasts(context: OperationContext, input: ListBroadcastsInput): Promise<BroadcastRow[]> {
  const values: unknown[] = [reach(context)];
  const value = (given: unknown) => `$${values.push(given)}`;
  const conditions = ['b.organization_id = $1'];
  if (input.status !== undefined) conditions.push(`b.status = ${value(input.status)}`);
  if (input.after !== undefined) {
    if (!(await findBroadcast(context, input.after))) {
      throw invalid('after', 'must be the broadcastGuid of a broadcast', 'invalid_cursor');
    }
    conditions.push(
      `(b.created_at, b.id) < (select a.created_at, a.id from broadcast a where a.id = ${value(input.after)})`,
    );
  }
  return context.sql.query<BroadcastRow>(
    `select ${COLUMNS} from broadcast b where ${conditions.join(' and ')} order by b.created_at desc, b.id desc limit ${value(input.limit)}`,
    values,
  );
}

async function findBroadcast(context: OperationContext, id: string): Promise<BroadcastRow | undefined> {
  const [row] = await context.sql.query<BroadcastRow>(
    `select ${COLUMNS} from broadcast b where b.organization_id = $1 and b.id = $2`,
    [reach(context), id],
  );
  return row;
}

/** @throws NotFoundError for a missing and a foreign broadcast alike. */
export async function readBroadcast(context: OperationContext, input: BroadcastReference): Promise<BroadcastRow> {
  const row = await findBroadcast(context, input.broadcast_guid);
  if (!row) throw notFound('broadcast');
  return row;
}

/**
 * Stores a broadcast, waiting for its time.
 * @throws ValidationError when it names no channel of the organization.
 */
export const createBroadcast = write(
  async (context, input: CreateBroadcastInput): Promise<BroadcastRow> => {
    const organization = reach(context);
    const { em, now, newId } = context;
    const channel = await em.findOne(BroadcastChannel, { id: input.channelGuid, organization });
    if (!channel) throw invalid('channelGuid', 'must be the channelGuid of one of the organization’s channels');
    const at = now();
    const fields = {
      id: newId(),
      content: input.content,
      status: 'waiting' as const,
      triggerAt: input.triggerAt ?? at,
      createdAt: at,
      userUpdatedAt: at,
      message: null,
    };
    em.persist(em.create(Broadcast, { ...fields, organization, channel }));
    return { ...fields, channelId: channel.id };
  },
  { operation: 'createBroadcast', target: ({ id }) => ({ type: 'Broadcast', id }) },
);

/**
 * Cancels a broadcast: it stays, with the status `canceled`, and is not published. Cancelling twice is the same as once.
 * @throws NotFoundError for a missing and a foreign one alike; ConflictError when it has been published, or that has failed.
 */
export const cancelBroadcast = write(
  async (context, { broadcast_guid: id }: BroadcastReference): Promise<void> => {
    const organization = reach(context);
    const broadcast = await context.em.findOne(
      Broadcast,
      { id, organization },
      { lockMode: LockMode.PESSIMISTIC_WRITE },
    );
    if (!broadcast) throw notFound('broadcast');
    if (broadcast.status === 'canceled') return;
    if (broadcast.status !== 'waiting') {
      throw new ConflictError(`a broadcast that has ${broadcast.status} can no longer be canceled`);
    }
    broadcast.cancel(context.now());
  },
  { operation: 'cancelBroadcast', target: (_, { broadcast_guid: id }) => ({ type: 'Broadcast', id }) },
);
