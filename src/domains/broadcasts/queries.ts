import type { EntityManager } from '@mikro-orm/postgresql';
import type { BroadcastChannelId, BroadcastId, OrganizationId } from '../../core/ids.ts';
import { type Readable, type RowOf, columns, queriesOn } from '../../core/postgres/reading/queries.ts';
import { defineList, inActingOrganization } from '../../core/postgres/reading/lists.ts';
import type { Sql } from '../../core/postgres/reading/sql.ts';
import { BROADCAST_COLUMNS, type BroadcastTables, CHANNEL_COLUMNS } from './entity.ts';
import type { ListBroadcastsInput } from './input.ts';

type Tables = Readable<BroadcastTables>;
const db = queriesOn<BroadcastTables>();

export type BroadcastChannelRow = RowOf<Tables['broadcast_channel']>;
export type BroadcastRow = RowOf<Tables['broadcast']>;

/** The channels of an organization, oldest first. */
export const findChannels = (reader: Sql, organizationId: OrganizationId): Promise<BroadcastChannelRow[]> =>
  reader.all(
    db
      .selectFrom('broadcast_channel as c')
      .select(columns('c', CHANNEL_COLUMNS))
      .where('c.organization_id', '=', organizationId)
      .orderBy('c.created_at')
      .orderBy('c.id'),
  );

/** Adds a channel. @returns its id, or undefined when the organization has a channel with the same key. */
export async function addChannel(
  em: EntityManager,
  { organizationId, channelKey, createdAt, updatedAt, ...channel }: NewChannel,
): Promise<BroadcastChannelId | undefined> {
  const added = await em
    .getKysely<Tables>()
    .insertInto('broadcast_channel')
    .values({
      ...channel,
      organization_id: organizationId,
      channel_key: channelKey,
      created_at: createdAt,
      updated_at: updatedAt,
    })
    .onConflict((conflict) => conflict.columns(['organization_id', 'channel_key']).doNothing())
    .returning('id')
    .executeTakeFirst();
  return added?.id;
}

type NewChannel = Omit<BroadcastChannelRow, 'createdAt' | 'updatedAt'> & {
  readonly createdAt: Date;
  readonly updatedAt: Date;
};

const broadcastsOf = (organizationId: OrganizationId) =>
  db
    .selectFrom('broadcast as b')
    .select(columns('b', BROADCAST_COLUMNS))
    .where('b.organization_id', '=', organizationId);

/** The broadcasts of an organization, newest first; with `after`, those that follow the broadcast with that id. */
export function findBroadcasts(
  reader: Sql,
  organizationId: OrganizationId,
  { status, since, after, limit }: Omit<ListBroadcastsInput, 'withChannels'>,
): Promise<BroadcastRow[]> {
  let broadcasts = broadcastsOf(organizationId);
  if (status !== undefined) broadcasts = broadcasts.where('b.status', '=', status);
  if (since !== undefined) broadcasts = broadcasts.where('b.created_at', '>=', since);
  if (after !== undefined) {
    const last = db
      .selectFrom('broadcast as l')
      .select(['l.created_at', 'l.id'])
      .where('l.id', '=', after)
      .where('l.organization_id', '=', organizationId);
    broadcasts = broadcasts.where((eb) =>
      eb(eb.refTuple('b.created_at', 'b.id'), '<', last.$asTuple('created_at', 'id')),
    );
  }
  return reader.all(broadcasts.orderBy('b.created_at', 'desc').orderBy('b.id', 'desc').limit(limit));
}

/** The broadcasts of the acting organization, for its export. */
export const BROADCASTS = defineList<BroadcastRow, object, 'CREATED_AT'>()(db.selectFrom('broadcast as b'), {
  name: 'BROADCAST',
  alias: 'b',
  columns: BROADCAST_COLUMNS,
  reach: inActingOrganization,
  filter: () => ({}),
  orders: { CREATED_AT: { createdAt: 'timestamptz' } },
});

export const findBroadcast = (
  reader: Sql,
  organizationId: OrganizationId,
  id: BroadcastId,
): Promise<BroadcastRow | undefined> => reader.first(broadcastsOf(organizationId).where('b.id', '=', id));

/** Deletes a batch of the broadcasts of an organization, in the caller's transaction. @returns their ids. */
export async function deleteBroadcastsOf(
  em: EntityManager,
  organizationId: OrganizationId,
  batch: number,
): Promise<BroadcastId[]> {
  const tables = em.getKysely<Tables>();
  const some = tables.selectFrom('broadcast').select('id').where('organization_id', '=', organizationId).limit(batch);
  const deleted = await tables
    .deleteFrom('broadcast')
    .where('organization_id', '=', organizationId)
    .where('id', 'in', some)
    .returning('id')
    .execute();
  return deleted.map(({ id }) => id);
}
